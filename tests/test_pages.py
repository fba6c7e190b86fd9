"""What a page may rely on: its introduction is shown, its words are explained, its notebook runs where it is taken to."""
import notebooks
import pytest

PAGES = sorted(notebooks.every_notebook())


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_the_first_cell_holds_a_title_and_a_claim_only(path):
    "nbdev makes the head of a page from it and drops whatever else it holds."
    first = notebooks.read(path).cells[0].source.splitlines()
    assert first[0].startswith("# ") and any(line.startswith("> ") for line in first)
    assert not [line for line in first[1:] if line and not line.startswith("> ")]
