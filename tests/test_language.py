"""What is printed is plain English of the field: none of the words that mislead, no sentence that must be read twice."""
import ast
import re
from pathlib import Path

import notebooks
import pytest

NEVER = r"""mend|mended|mends|a mend|as stated|stated uncertaint\w+|could be there|might settle|would settle|belongs? together|at like scores|too timid|too extreme|errs|by lot|whoever|somebody|
nobody|of their own points|on points of their own|on errors of their own|where right ones show|undecided|not decided|event ratio|is told by|are told apart|taught by|learnt from|alike""".replace("\n", "")
FORBIDDEN = re.compile(rf"\b(?:{NEVER})\b", re.IGNORECASE)
ROOMS = sorted((notebooks.ROOT / "uqcal" / "_words").glob("[a-z]*.py")) + [notebooks.ROOT / "uqcal" / "reports.py"]


def literals(path):
    "Each text of a module that can be printed, with its line; names of columns and functions in it are values and not text."
    tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    documents = {id(node.body[0].value) for node in ast.walk(tree) if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef))
                 and node.body and isinstance(node.body[0], ast.Expr)}
    for node in ast.walk(tree):
        if id(node) in documents: continue
        if isinstance(node, ast.JoinedStr):
            yield node.lineno, "".join(part.value if isinstance(part, ast.Constant) else "1" for part in node.values if not isinstance(part, ast.Constant) or isinstance(part.value, str))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside: yield node.lineno, node.value


@pytest.mark.parametrize("path", ROOMS, ids=lambda path: path.stem)
def test_no_word_misleads(path):
    wrong = [(line, text) for line, text in literals(path) if FORBIDDEN.search(text)]
    assert not wrong, wrong


@pytest.mark.parametrize("path", ROOMS, ids=lambda path: path.stem)
def test_sentences_are_short(path):
    "Twenty-eight words at most, a value counting as one."
    long = [(line, sentence) for line, text in literals(path) for sentence in re.split(r"(?<=[.:;]) ", text) if len(sentence.split()) > 28]
    assert not long, long


def test_the_words_are_found():
    assert len(ROOMS) >= 11 and sum(len(list(literals(path))) for path in ROOMS) > 150
    assert FORBIDDEN.search("One could be there.") and FORBIDDEN.search("Undecided.") and not FORBIDDEN.search("A recommendation stands.")
