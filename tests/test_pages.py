"""What a page may rely on: its introduction is shown, its words are explained, its notebook runs where it is taken to."""
import re

import notebooks
import pytest

PAGES = sorted(notebooks.every_notebook())


def words(path):
    "The prose of a page."
    return "\n".join(cell.source for cell in notebooks.read(path).cells if cell.cell_type == "markdown")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_the_first_cell_holds_a_title_and_a_claim_only(path):
    "nbdev makes the head of a page from it and drops whatever else it holds."
    first = notebooks.read(path).cells[0].source.splitlines()
    assert first[0].startswith("# ") and any(line.startswith("> ") for line in first)
    assert not [line for line in first[1:] if line and not line.startswith("> ")]


GLOSSARY = notebooks.ROOT / "nbs" / "glossary.ipynb"
TERMS = re.findall(r"(?m)^- \*\*([^*]+)\*\*: (.+?) \[[^\]]+\]\(([^)#]+)\)$", words(GLOSSARY))


def test_each_line_of_the_glossary_is_a_term_a_sentence_and_a_page():
    lines = [line for line in words(GLOSSARY).splitlines() if line.startswith("- ")]
    assert len(TERMS) == len(lines) > 50
    assert len({term for term, _, _ in TERMS}) == len(TERMS)
    for term, said, _ in TERMS: assert said.endswith(".") and len(said.split()) < 45, term


@pytest.mark.parametrize("term, page", [(term, page) for term, _, page in TERMS], ids=[term for term, _, _ in TERMS])
def test_a_term_of_the_glossary_is_used_on_its_page(term, page):
    assert re.search(rf"(?i)\b{re.escape(term)}", words(GLOSSARY.parent / page)), f"{page} doesn't use the word {term!r}"
