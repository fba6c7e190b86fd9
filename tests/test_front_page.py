"""The front page says what is so: its table of peers is that of the check, its calls are public, its cells name what there is."""
import re
import sys

import notebooks
import pytest

sys.path.insert(0, str(notebooks.ROOT / "benchmarks"))
import peers

import uqcal

PROSE = "\n".join(cell.source for cell in notebooks.read(notebooks.ROOT / "nbs" / "index.ipynb").cells if cell.cell_type == "markdown")


def test_the_table_of_peers_is_that_of_the_check():
    assert peers.table() in PROSE, "put what `python benchmarks/peers.py --table` prints into nbs/index.ipynb"
    assert peers.DATE in PROSE


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
