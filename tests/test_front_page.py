"""The front page is short and says what is so: its calls are public, its cells name what there is, the table of peers is that of the check."""
import re
import sys

import notebooks
import pytest

sys.path.insert(0, str(notebooks.ROOT / "benchmarks"))
import peers

import uqcal

def prose(page):
    "What a page says, without its code."
    return "\n".join(cell.source for cell in notebooks.read(notebooks.ROOT / "nbs" / page).cells if cell.cell_type == "markdown")


PROSE, PEERS = prose("index.ipynb"), prose("guide/other_packages.ipynb")


def test_the_front_page_is_read_in_five_minutes():
    "At most 900 words, code and screens aside; addresses of links count for none."
    text = re.sub(r"(?s)```.*?```|<!--.*?-->", "", PROSE)
    said = [word for word in re.sub(r"\]\([^)]*\)", "]", text).split() if re.search(r"\w", word)]
    assert len(said) <= 900


def test_an_answer_comes_first():
    "The first code of the front page prints a report, and the next draws it."
    first, second, *_ = (cell for cell in notebooks.read(notebooks.ROOT / "nbs" / "index.ipynb").cells if cell.cell_type == "code")
    assert "VERDICT" in first.outputs[0].text and "image/png" in second.outputs[0].data


def test_the_version_to_cite_is_this_one():
    cited = (notebooks.ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version = {{{uqcal.__version__}}}" in PROSE
    year = re.search(r"year    = .(\d+)", PROSE)[1]
    assert f"date-released: {year}-" in cited


def test_the_table_of_peers_is_that_of_the_check():
    assert peers.table() in PEERS, "put what `python benchmarks/peers.py --table` prints into nbs/guide/other_packages.ipynb"
    assert peers.DATE in PEERS


def test_uqcal_has_what_the_table_says_and_lacks_what_it_says():
    assert not list(peers.faults(notebooks.ROOT / "uqcal", 0))


def test_a_claim_that_is_not_so_is_found(tmp_path):
    (tmp_path / "one.py").write_text("def validate(): pass\ndef risk_control(): pass\n")
    found = "\n".join(peers.faults(tmp_path, 0))
    assert "validate a standard uncertainty" not in found and "no conformalize" in found
    assert "a dash, though there is risk_control" in found


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow) for name in peers.PEERS])
def test_a_peer_has_what_the_table_says_and_lacks_what_it_says(name):
    folder = peers.sources(name)
    if isinstance(folder, str): pytest.skip(folder)
    assert not list(peers.faults(folder, list(peers.PEERS).index(name) + 1))


def test_calls_of_the_front_page_are_public_and_of_the_right_form():
    rows = re.findall(r"(?m)^\|[^|]*\|[^|]*\| `([^|]+)` \| \[", PROSE)
    assert len(rows) > 12
    for call in rows:
        name = re.match(r"\w+", call)[0]
        if name == "uqcal": continue
        assert name in uqcal.__all__, call
        if method := re.search(r"\)\.(\w+)\(", call): assert hasattr(getattr(uqcal, name), method[1]), call


def test_commands_of_the_front_page_exist():
    import typer
    from uqcal._command.cli import app
    known = set(typer.main.get_command(app).commands)
    said = {word for row in re.findall(r"(?m)^\| a file, and no Python.*$", PROSE) for word in re.findall(r"`(?:uqcal )?([\w-]+)`", row)}
    assert said and said <= known
