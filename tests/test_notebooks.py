"""Every notebook runs afresh, in its own process, and prints what it holds; and the comparison notices when it doesn't."""
import contextlib
import os
import re
import sys

import copied_workers
import nbformat
import notebooks
from every_case import every_case
import pytest
from nbclient.exceptions import CellExecutionError
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output


def _id(path):
    return str(path.relative_to(notebooks.ROOT))


def _refuse(faults, said):
    if faults: pytest.fail(f"{said}:\n" + "\n".join(faults[:40]), pytrace=False)


@pytest.fixture(scope="session")
def prepared(request):
    "A process that has imported what notebooks import, where many of them are run."
    if copied_workers.PREPARED in request.config.stash:
        yield request.config.stash[copied_workers.PREPARED]
        return
    many = sum(item.name.startswith("test_notebook[") for item in request.session.items) > 3
    with notebooks.prepared_kernels() if many else contextlib.nullcontext() as address: yield address


@pytest.mark.parametrize("path", notebooks.every_notebook(), ids=_id)
def test_notebook(path, prepared):
    stored = notebooks.read(path)
    allowed = notebooks.tolerance(stored)
    _refuse(notebooks.blemishes(stored), "stored outputs hold what they must not")
    if allowed is None and notebooks.holds_numbers(stored): pytest.fail('the prose must say how far the stored numbers hold: "relative tolerance of 1e-6"', pytrace=False)
    try: fresh = notebooks.run(path, prepared=prepared)
    except CellExecutionError as error:
        if error.ename == "DatasetUnavailable" and "UQCAL_DATA_DIR" not in os.environ: pytest.skip(error.evalue)
        pytest.fail(re.sub(r"\x1b\[[0-9;]*m", "", str(error)), pytrace=False)
    _refuse(notebooks.blemishes(fresh), "fresh outputs hold what they must not")
    _refuse(notebooks.differences(stored, fresh, allowed or notebooks.Tolerance(0.0)), "fresh outputs differ; if they are meant, run the notebook and store it")


def _printed(text, kind="stdout"):
    return new_notebook(cells=[new_markdown_cell("Prose."), new_code_cell("print()", outputs=[new_output("stream", name=kind, text=text)])])


def _shown(**data):
    data = {kind.replace("_", "/"): value for kind, value in data.items()}
    return new_notebook(cells=[new_code_cell("show()", outputs=[new_output("display_data", data=data)])])


SIX_DIGITS = notebooks.Tolerance(1e-6)


@every_case("stored, fresh", [
    ("ZMS = 0.9600940", "ZMS = 0.9601940"),  # a digit
    ("ZMS = 0.9600940", "CC = 0.9600940"),  # a word
    ("2,040 points", "2,041 points"),  # a whole number, exactly
    ("t6 distribution", "t7 distribution"),
    ("[0.1 0.2]", "[0.1 0.2 0.3]"),  # one number more
    ("0.25", "-0.25"),  # a sign
    ("0.25", "−0.25"),
    ("1e-3", "1e-4"),
    ("nan", "0.5"),
    ("valid", "invalid"),
    ("", "0.5"),
])
def test_comparison_notices(stored, fresh):
    assert notebooks.differences(_printed(stored), _printed(fresh), SIX_DIGITS)


@every_case("stored, fresh", [
    ("ZMS = 0.9600940", "ZMS = 0.9600941"),  # within 1e-6
    ("a  0.5\nb  0.7", "a 0.5\n b 0.7"),  # white space
    ("1.2e-17", "-3.4e-17"),  # rounding noise around zero
    ("1.0", "0.99999999"),
    ("12,345.678", "12345.678001"),
    ("p = nan", "p = nan"),
])
def test_comparison_forgives(stored, fresh):
    assert not notebooks.differences(_printed(stored), _printed(fresh), SIX_DIGITS)


def test_comparison_keeps_to_the_stated_tolerances():
    pair = _printed("0.5000"), _printed("0.5004")
    assert notebooks.differences(*pair, notebooks.Tolerance(1e-4))
    assert not notebooks.differences(*pair, notebooks.Tolerance(1e-3))
    tails = _printed("p = 1.0e-30"), _printed("p = 2.0e-30")
    assert notebooks.differences(*tails, notebooks.Tolerance(1e-6, 1e-300))


def test_comparison_reads_html_without_its_tags():
    stored = _shown(text_html="<style>.a {width: 3px}</style><table><tr><td class='x1'>0.5</td><td>&lt;b&gt;</td></tr></table>")
    assert not notebooks.differences(stored, _shown(text_html="<table><td id='7'>0.5</td><td>&lt;b&gt;</td></table>"), SIX_DIGITS)
    assert notebooks.differences(stored, _shown(text_html="<table><td>0.6</td><td>&lt;b&gt;</td></table>"), SIX_DIGITS)
    assert notebooks.differences(stored, _shown(text_html="<table><td>0.5</td><td>&lt;i&gt;</td></table>"), SIX_DIGITS)


def test_comparison_counts_outputs_and_kinds():
    figure = _shown(image_png="aGk=", text_plain="<Figure size 640x480 with 1 Axes>")
    assert notebooks.differences(figure, _shown(text_plain="<Figure size 640x480 with 1 Axes>"), SIX_DIGITS)
    assert not notebooks.differences(figure, _shown(image_png="eW8=", text_plain="<Figure size 800x480 with 1 Axes>"), SIX_DIGITS)
    assert not notebooks.holds_numbers(figure)
    assert notebooks.differences(_printed("x"), _printed("x", kind="stderr"), SIX_DIGITS)


def test_pieces_of_one_stream_count_as_one():
    split = _printed("1.5 and ")
    split.cells[1].outputs.append(new_output("stream", name="stdout", text="2.5"))
    assert not notebooks.differences(_printed("1.5 and 2.5"), split, SIX_DIGITS)


@every_case("notebook", [
    _printed("Warning: ...", kind="stderr"),
    _printed("wrote /home/ada/report.html"),
    _printed("wrote /tmp/x"),
    _printed("<object at 0x7f3a5c>"),
    _shown(text_html="<a>/root/x</a>"),
    new_notebook(cells=[new_code_cell("1/0", outputs=[new_output("error", ename="ZeroDivisionError", evalue="division by zero", traceback=[])])]),
])
def test_blemishes_are_found(notebook):
    assert notebooks.blemishes(notebook)


def test_tolerance_is_read_from_the_prose():
    def stated(prose): return notebooks.tolerance(new_notebook(cells=[new_markdown_cell(prose)]))
    assert stated("Numbers are reproduced to a relative tolerance of 1e-6.") == notebooks.Tolerance(1e-6)
    assert stated("a relative\ntolerance of 0.001 and an absolute tolerance of 1e-300.") == notebooks.Tolerance(1e-3, 1e-300)
    assert stated("no such sentence") is None


def test_a_notebook_runs_in_its_own_process_and_folder_with_its_own_imports(tmp_path, prepared):
    path = tmp_path / "where.ipynb"
    cells = [new_code_cell("import os, sys\nprint(os.getpid(), os.getcwd(), sys.executable, sep='|')"),
             new_code_cell("print([name for name in ('np', 'pd', 'plt', 're', 'uqcal') if name in globals()])")]
    nbformat.write(new_notebook(cells=cells), path)
    with contextlib.nullcontext(prepared) if prepared else notebooks.prepared_kernels() as address:
        found = [notebooks.run(path, prepared=one) for one in (None, address, address)]
        nbformat.write(new_notebook(cells=[new_code_cell("np.zeros(3)")]), path)
        with pytest.raises(CellExecutionError, match="name 'np' is not defined"): notebooks.run(path, prepared=address)
    where = [one.cells[0].outputs[0].text.strip().split("|") for one in found]
    assert len({str(os.getpid()), *(pid for pid, _, _ in where)}) == 4
    assert all(os.path.samefile(folder, tmp_path) and interpreter == sys.executable for _, folder, interpreter in where)
    assert all(one.cells[1].outputs[0].text.split() == ["[]"] for one in found)
