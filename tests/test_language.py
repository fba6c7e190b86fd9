"""What is printed is plain English of the field: none of the words that mislead, no sentence that must be read twice."""
import ast
import io
import re
import tokenize
from functools import cache

import notebooks
import pytest

# The words that are never printed, both columns of the list, as patterns of whole words.
NEVER = (
    r"mend(?:s|ed|ing)?", r"stated", r"alike", r"could be there", r"(?:might|would|could) settle", r"belong(?:s|ing)? together", r"(?:at )?like scores?",
    r"too timid", r"too extreme", r"errs", r"by lot", r"whoever", r"somebody", r"nobody", r"on (?:points|errors|rows|cases) of their own",
    r"of their own (?:points|errors|rows|cases)", r"where right ones show", r"fairly", r"undecided", r"not decided", r"event ratios?",
    r"(?:is|are|be|was|were) told (?:by|apart)", r"can't be told apart", r"taught(?: by)?", r"learnt from")
FORBIDDEN = re.compile(rf"\b(?:{'|'.join(NEVER)})\b", re.IGNORECASE)

# What may hold such a word: quotations, titles, names of other packages, codes.
ALLOWED = {
    "as stated": "the code of the candidate that changes nothing, among those of a recalibration",
}
ONLY_ALONE = {"as stated"}  # codes: allowed where they are the whole text, or stand in backticks

PRINTED, PROSE = 28, 40  # most words of a sentence that can be printed, and of one of docstrings and pages


def is_regex(node, parents):
    "Whether a text is a pattern: an argument of one of re's functions."
    above = parents.get(id(node))
    return isinstance(above, ast.Call) and isinstance(above.func, ast.Attribute) and isinstance(above.func.value, ast.Name) and above.func.value.id == "re"


def written(node):
    "An f-string's text, a value counting as one word."
    return "".join(part.value if isinstance(part, ast.Constant) else "1" for part in node.values if not isinstance(part, ast.Constant) or isinstance(part.value, str))


def texts(source):
    """Each text of a module with its line and its kind: a literal that can be printed, a docstring, or a comment.

    Names of columns and functions within an f-string are values and no text; patterns and templates are none either.
    """
    tree = ast.parse(source)
    parents = {id(child): node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node) if part is not node and isinstance(part, ast.Constant)
              and isinstance(parents[id(part)], ast.JoinedStr)}
    documents = {id(node.body[0].value) for node in ast.walk(tree) if isinstance(node, (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
                 and node.body and isinstance(node.body[0], ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr): yield node.lineno, "literal", written(node)
        elif not isinstance(node, ast.Constant) or not isinstance(node.value, str) or id(node) in inside: continue
        elif id(node) in documents: yield node.lineno, "docstring", node.value
        elif not is_regex(node, parents) and "{%" not in node.value: yield node.lineno, "literal", node.value
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and not token.string.startswith("# %%"): yield token.start[0], "comment", token.string.lstrip("#| ")


def plain(text):
    "A text without what is allowed in it."
    if text in ONLY_ALONE: return ""
    for phrase in ALLOWED: text = text.replace(f"`{phrase}`", "").replace(f'"{phrase}"', "")
    return text


def paragraphs(text):
    "Paragraphs, list items and rows of tables of a docstring or a page; formulas, code and examples aside."
    text = re.sub(r"```.*?```|\$\$.*?\$\$", "\n\n", text, flags=re.DOTALL)
    text = re.sub(r"\n\s*(?=[-*] |\d+\. |\||#|>>> |\.\.\. )", "\n\n", text)
    text = re.sub(r"(\n *[A-Za-z]\w*\n *-{3,}\n)", r"\n\n\1\n\n", text)  # a section of a docstring
    for paragraph in re.split(r"\n\s*\n", text):
        if paragraph.lstrip().startswith((">>>", "...", "|", "!")): continue
        depth = {len(line) - len(line.lstrip()) for line in paragraph.split("\n") if line.strip()}
        if len(depth) > 1 and paragraph.split("\n")[0].count(" : "): yield from entries(paragraph)
        else: yield paragraph


def typed(line):
    "Whether a line of a help shows what is typed: an example, an option of a grammar."
    return line.startswith("  ") and re.match(r"(uqcal|cat|--|\.)|.* \\\\$", line.strip()) is not None


def spoken(text):
    "What a literal says in sentences: without the lines that show what is typed, which end a sentence."
    return "\n".join(".\n" if typed(line) else line for line in text.split("\n"))


def entries(paragraph):
    "The descriptions in a section of parameters, each below its name."
    first = len(paragraph) - len(paragraph.lstrip(" "))
    held = []
    for line in paragraph.split("\n"):
        if len(line) - len(line.lstrip()) > first: held.append(line)
        elif held:
            yield "\n".join(held)
            held = []
    if held: yield "\n".join(held)


def words(sentence):
    "How many words, a formula or a piece of code counting as one."
    sentence = re.sub(r"\$[^$]*\$|`[^`]*`", "x", sentence)
    return sum(1 for word in re.sub(r"\]\([^)]*\)", "]", sentence).split() if re.search(r"\w", word))


def sentences(text):
    return re.split(r"(?<=[.:;?!])[)\]\"*_]*\s", text)


@cache
def page(path):
    return notebooks.read(path)


def exported(path):
    "The module that a page makes, or None."
    named = re.search(r"^#\| default_exp ([\w.]+)$", "\n".join(cell.source for cell in page(path).cells if cell.cell_type == "code"), re.M)
    return notebooks.ROOT / "uqcal" / (named[1].replace(".", "/") + ".py") if named else None


def found(path):
    "What must not be printed on a page, or by its module: (line or cell, what is wrong, the text)."
    module = exported(path)
    for line, kind, text in texts(module.read_text(encoding="utf-8")) if module else ():
        if hit := FORBIDDEN.search(plain(text)): yield f"{module.stem}:{line}", hit[0], text[max(0, hit.start() - 60):hit.end() + 60]
        if kind == "comment": continue
        most = PRINTED if kind == "literal" else PROSE
        for part in paragraphs(text) if kind == "docstring" else [spoken(text)]:
            for sentence in sentences(part):
                if words(sentence) > most: yield f"{module.stem}:{line}", f"{words(sentence)} words", sentence
    for cell in page(path).cells:
        if cell.cell_type != "markdown": continue
        text = plain(cell.source)
        for hit in FORBIDDEN.finditer(text): yield cell.id, hit[0], text[max(0, hit.start() - 60):hit.end() + 60]
        for part in paragraphs(text):
            for sentence in sentences(part):
                if words(sentence) > PROSE: yield cell.id, f"{words(sentence)} words", sentence


PAGES = sorted([*(notebooks.ROOT / "nbs").glob("*.ipynb"), *(notebooks.ROOT / "nbs").glob("*/*.ipynb")])


@pytest.mark.parametrize("folder", sorted({path.parent.name for path in PAGES}))
def test_words_and_sentences(folder):
    "No word of the list; at most 28 words to a sentence that can be printed, 40 in docstrings and pages, a value counting as one."
    wrong = [(path.stem, *one) for path in PAGES if path.parent.name == folder for one in found(path)]
    assert not wrong, "\n".join(" | ".join(map(str, one)) for one in wrong)


def test_all_pages_are_read():
    assert len(PAGES) > 80


def test_the_words_are_found():
    for text in ("One could be there.", "Undecided.", "as large as stated", "Whoever asks", "errors that are told apart", "belongs together", "at like scores"):
        assert FORBIDDEN.search(text), text
    assert not FORBIDDEN.search("A recommendation stands.") and not FORBIDDEN.search(plain("as stated")) and not FORBIDDEN.search(plain("`as stated` wins"))
    code = 'x = f"Rows {1} are alike."\ny = re.compile("alike")\ndef f():\n    "Rows alike."\n    return 1  # alike\n'
    assert [(line, kind) for line, kind, text in texts(code) if FORBIDDEN.search(text)] == [(1, "literal"), (4, "docstring"), (5, "comment")]


def test_long_sentences_are_found():
    long = "One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen."
    assert words(long) == 15 and [words(one) for one in sentences(f"{long} {long}")] == [15, 15]
    text = "Short.\n\n    Parameters\n    ----------\n    x : float\n        One two.\n    y : float\n        Three four.\n"
    assert max(words(one) for part in paragraphs(text) for one in sentences(part)) <= 4
