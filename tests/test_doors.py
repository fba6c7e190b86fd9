"""A refusal is two lines in a notebook, whole in Python, and caught as before."""
import copy
import pickle
import traceback

import numpy as np
import pytest
import uqcal
from uqcal._base.doors import door


def refusal():
    with pytest.raises(ValueError, match="std must be positive") as caught: uqcal.MeanStd([0.0], [0.0])
    return caught.value


def test_a_refusal_is_a_value_error_with_the_same_message():
    error = refusal()
    assert isinstance(error, ValueError) and type(error).__name__ == "ValueError" and error.__suppress_context__
    assert str(pickle.loads(pickle.dumps(error))) == str(copy.copy(error)) == str(error)


def test_python_shows_the_whole_traceback():
    shown = traceback.format_exception(refusal())
    assert len(shown) > 4 and "in refuse\n" in "".join(shown) and shown[-1].startswith("ValueError: std must be positive")


def test_a_notebook_shows_the_line_and_the_message():
    line, message = refusal()._render_traceback_()
    assert "uqcal.MeanStd([0.0], [0.0])" in line and message.startswith("ValueError: std must be positive")


def test_an_error_that_uqcal_did_not_raise_keeps_its_traceback():
    for fails in (lambda: int("x"), lambda: np.zeros(2) + np.zeros(3), lambda: uqcal.statements.np.ones(2) @ np.ones(3)):
        with pytest.raises(ValueError) as caught: door(fails)()
        assert type(caught.value) is ValueError


def test_a_real_notebook_shows_two_lines():
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    cells = [nbformat.v4.new_code_cell("import uqcal\nuqcal.validate([1.0, 2.0], uqcal.MeanStd([0.0, 0.0], [1.0, -1.0]))"),
             nbformat.v4.new_code_cell("uqcal.validate([1, 2], [3, 4])")]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, allow_errors=True, timeout=300).execute()
    first, second = (cell.outputs[-1] for cell in notebook.cells)
    assert first.ename == "ValueError" and second.ename == "TypeError"
    assert len(first.traceback) == len(second.traceback) == 2 and first.traceback[1].startswith("ValueError: std must be positive")
