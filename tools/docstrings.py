"""Append numpydoc's sections to the docstrings in uqcal/, from what the notebooks say beside the code.

A notebook says each thing once: what a parameter means in the comment beside it, what comes out in the comment beside `->`, errors
and sources in the sentences "Raises X for …" and "Source: …" that close a docstring. `help()` reads docstrings only, so the export
makes sections of them: Parameters (Attributes of a dataclass that functions return), Returns, Raises, References. Public functions,
classes and methods are rewritten, everything else stays as it is, byte for byte; a docstring that has its sections stays too.
What None means for a generator is the same everywhere and said here.

    python tools/docstrings.py [FOLDER]        FOLDER holds the modules; uqcal/ unless given
"""
import ast
import inspect
import re
import sys
import textwrap
import tokenize
from pathlib import Path
from typing import NamedTuple

WIDTH = 88
SECTION = re.compile(r"(?m)^ *(Parameters|Attributes|Returns|Yields|Raises|References)\n *-+$")
FRESH = "; None draws fresh entropy: numbers differ from run to run."
REFERENCES = r"`[\w.]+`(?:(?:, | and |, and )`[\w.]+`)*"


class Parameter(NamedTuple):
    "A parameter, a field of a dataclass, or what is returned (without a name)."
    name: str
    type: str
    default: str | None
    comment: str

    def lines(self, with_default=True):
        head = f"{self.name} : {self.type}" if self.name and self.type else self.name or self.type
        if with_default and self.default is not None:
            head += f", default {self.default}" if self.default != "None" and "field(" not in self.default else ", optional"
        return [head, *filled(self.comment, "    ")]


class Module:
    "A module's text, its syntax tree and its comments by line: those beside code, and those that have a line to themselves."

    def __init__(self, path, folder):
        self.path, self.text = path, path.read_bytes().decode("utf-8")
        self.name = ".".join(path.relative_to(folder).with_suffix("").parts)
        self.page = self.name.lstrip("_")  # a site leaves out what begins with an underscore
        self.tree, self.beside, self.alone = ast.parse(self.text), {}, {}
        self.bytes, self.starts = self.text.encode(), [0]
        for line in self.bytes.splitlines(keepends=True): self.starts.append(self.starts[-1] + len(line))
        with open(path, "rb") as file:
            for token in tokenize.tokenize(file.readline):
                if token.type != tokenize.COMMENT: continue
                kind = self.beside if token.line[:token.start[1]].strip() else self.alone
                kind[token.start[0]] = token.string.lstrip("#").strip()

    def span(self, node):
        "Where a node begins and ends in the module's bytes."
        return self.starts[node.lineno - 1] + node.col_offset, self.starts[node.end_lineno - 1] + node.end_col_offset

    def source(self, node):
        "Code as written, on one line."
        return " ".join(self.bytes[slice(*self.span(node))].decode().split()) if node else None

    def type(self, node):
        "A type as written, without the quotes that some stand in."
        return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else self.source(node) or ""

    def comment(self, first, last):
        "The comment beside these lines and on the comment-only lines right below, as a sentence."
        found = [self.beside[number] for number in range(first, last + 1) if number in self.beside]
        while found and last + 1 in self.alone: found.append(self.alone[last := last + 1])
        return sentence(" ".join(found)).replace("\\", "\\\\")

    def parameters(self, function):
        "What a function takes, as in the signature, without self."
        a = function.args
        plain = [*a.posonlyargs, *a.args]
        rows = [("", arg, default) for arg, default in zip(plain, [None] * (len(plain) - len(a.defaults)) + a.defaults)]
        rows += [("*", a.vararg, None)] if a.vararg else []
        rows += [("", arg, default) for arg, default in zip(a.kwonlyargs, a.kw_defaults)]
        rows += [("**", a.kwarg, None)] if a.kwarg else []
        starts = [arg.lineno for _, arg, _ in rows[1:]] + [function.returns.lineno if function.returns else 0]
        found = []
        for (stars, arg, default), following in zip(rows, starts):
            last = max(node.end_lineno for node in (arg, default) if node)
            comment = self.comment(arg.lineno, last) if last != following else ""  # the last one on a line owns its comment
            one = Parameter(stars + arg.arg, self.type(arg.annotation), self.source(default), comment)
            if one.default == "None" and "Generator" in one.type and comment and "None" not in comment: one = one._replace(comment=comment.rstrip(".") + FRESH)
            found.append(one)
        return [one for k, one in enumerate(found) if k or one.name not in ("self", "cls")]

    def returned(self, function):
        "What comes out, if anything does."
        node = function.returns
        if self.type(node) in ("", "None", "NoReturn"): return []
        inline = function.body[0].lineno == node.end_lineno
        return [Parameter("", self.type(node), None, "" if inline else self.comment(node.lineno, node.end_lineno))]

    def fields(self, cls):
        "The public fields in the body of a dataclass or named tuple."
        own = [node for node in cls.body if isinstance(node, ast.AnnAssign) and not node.target.id.startswith("_")]
        return [Parameter(node.target.id, self.type(node.annotation), self.source(node.value), self.comment(node.lineno, node.end_lineno))
                for node in own if not self.type(node.annotation).startswith("ClassVar")]


class Package:
    "All modules, to look up base classes, and the docstrings that others refer to."

    def __init__(self, folder):
        self.folder = folder
        self.modules = [Module(path, folder) for path in sorted(folder.rglob("[a-z]*.py"))]
        self.classes, self.homes, self.docs, mentioned = {}, {}, {}, []
        for module in self.modules:
            for owner, node in definitions(module.tree):
                if isinstance(node, ast.ClassDef): self.classes[node.name], self.homes[node] = node, module
                self.docs[f"{owner.name}.{node.name}" if owner else node.name] = ast.get_docstring(node) or ""
                if isinstance(node, ast.ClassDef) and is_record(node): mentioned += [field.type for field in module.fields(node)]
                if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"): mentioned.append(module.type(node.returns))
        self.results = set(re.findall(r"\w+", " ".join(mentioned))) & set(self.classes)
        own = [name for name, node in self.classes.items() if any(re.search(r"(Error|Exception)$", ast.unparse(base)) for base in node.bases)]
        self.error = r"(?<!\w)(?:[A-Z]\w*Error" + "".join(f"|{name}" for name in own) + r")(?!\w)"

    def bases(self, cls):
        "A class of the package with its ancestors in the package, itself first."
        yield self.homes[cls], cls
        for base in cls.bases:
            name = ast.unparse(base).split("[")[0].split(".")[-1]
            beside = [node for node, home in self.homes.items() if node.name == name and home is self.homes[cls]]
            if name in self.classes: yield from self.bases(beside[0] if beside else self.classes[name])

    def methods(self, cls):
        "The functions of a class, its own and inherited ones, by name, each with the module it stands in."
        found = [(module, one) for module, node in reversed(list(self.bases(cls))) for one in node.body if isinstance(one, ast.FunctionDef)]
        return {function.name: (module, function) for module, function in found}

    def is_result(self, cls):
        "Whether functions return a dataclass or named tuple, or another one holds it."
        return cls.name in self.results and any(is_record(node) for _, node in self.bases(cls))

    def constructor(self, cls):
        "What a class is made of: the fields of a dataclass or named tuple, otherwise the parameters of its __init__."
        ancestors = list(self.bases(cls))
        if any(is_record(node) for _, node in ancestors):
            return list({field.name: field for module, node in reversed(ancestors) for field in module.fields(node)}.values())
        module, function = self.methods(cls).get("__init__", (None, None))
        return module.parameters(function) if function else []

    def errors(self, text):
        "The exceptions that a text names, or that the docstrings name to which it refers."
        found = re.findall(self.error, text)
        for name in re.findall(r"`([\w.]+)`", text):
            names = [name, name.split(".")[-1]]
            doc = next((self.docs[one] for one in names if one in self.docs), "")
            found += self.errors(re.split(r"\bSource: |\nReferences\n", doc.partition("Raises")[2])[0])
        return list(dict.fromkeys(found))

    def raised(self, text):
        "Exceptions and their conditions, from what follows the word Raises."
        group = rf"{self.error}(?:(?:, | or | and |, and ){self.error})*"
        starts = [m.start(1) for m in re.finditer(rf"(?:^|, and |, | and )({group}|as {REFERENCES}|what {REFERENCES} raises?)", text)]
        if not starts or starts[0]: raise SystemExit(f"no exception after Raises: {text}")
        for begin, end in zip(starts, [*starts[1:], None]):
            piece = re.sub(r"(,| and|, and)*$", "", text[begin:end].strip())
            piece = re.sub(rf"^what ({REFERENCES}) raises?", r"as \1", piece)
            named = re.match(rf"({group})\s*", piece)
            errors = self.errors(named[1]) if named else self.errors(re.match(rf"as ({REFERENCES})", piece)[1])
            if not errors: raise SystemExit(f"no exception is named by what this refers to: Raises {text}")
            yield Parameter("", ", ".join(errors), None, sentence(re.sub(r"^that ", "", piece[named.end():] if named else piece)))


def definitions(tree):
    "Functions, classes and methods, each with the class that owns it."
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)): yield None, node
        if isinstance(node, ast.ClassDef): yield from ((node, child) for child in node.body if isinstance(child, ast.FunctionDef))


def is_property(function):
    return any("property" in ast.unparse(decorator) for decorator in function.decorator_list)


def is_record(cls):
    "Whether a class is a dataclass or a named tuple, whose fields are what it is made of."
    marks = [ast.unparse(node).split("(")[0].split(".")[-1] for node in (*cls.decorator_list, *cls.bases)]
    return "dataclass" in marks or "NamedTuple" in marks


def sentence(text):
    "With a capital and a full stop; a symbol or a name of the code that it begins with keeps its case, in backticks."
    if not text: return ""
    word = re.match(r"(?!\d|[aA]\s|[a-zA-Z]-)\w*", text)
    if word and (len(word[0]) == 1 or re.search(r"[\d_Α-ω]", word[0])): text = f"`{word[0]}`{text[word.end():]}"
    else: text = text[0].upper() + text[1:]
    return text if text[-1] in ".!?" else f"{text}."


def filled(text, indent=""):
    "A paragraph as lines; nothing is broken within a word."
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def taken_apart(doc):
    "The paragraphs of a docstring, the first of one line, without its closing sentences; what it raises; its sources."
    paragraphs, closing = [], {"Raises ": [], "Source: ": []}
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(doc)):
        rest = paragraph
        for word in ("Source: ", "Raises "):
            found = re.search(rf"(?s)(?:^|(?<=[.!?])\s){word.rstrip()}\s(.*)$", rest)
            if found: rest, closing[word] = rest[:found.start()].rstrip(), [*closing[word], " ".join(found[1].split()).rstrip(".")]
        if not rest: continue
        if not paragraphs:  # a summary is one sentence on one line
            rest, *more = re.split(r"(?<=[^.\s]{4}[.!?])\s(?=[A-Z`])", " ".join(rest.split()), maxsplit=1)
            paragraphs.append([rest])
            if not more: continue
            rest = more[0]
        paragraphs.append(rest.splitlines() if rest == paragraph else filled(" ".join(rest.split())))
    return paragraphs, closing["Raises "], closing["Source: "]


def sections(package, module, node, raises, sources):
    "Titles with their lines, in numpydoc's order."
    if isinstance(node, ast.ClassDef):
        parts, is_result = package.constructor(node), package.is_result(node)
        yield "Attributes" if is_result else "Parameters", [line for one in parts for line in one.lines(with_default=not is_result)]
    else:
        yield "Parameters", [line for one in module.parameters(node) for line in one.lines()]
        yields = any(isinstance(inner, (ast.Yield, ast.YieldFrom)) for inner in ast.walk(node))
        returned = [one for one in module.returned(node) if one.comment or not is_property(node)]
        yield "Yields" if yields else "Returns", [line for one in returned for line in one.lines()]
    yield "Raises", [line for text in raises for one in package.raised(text) for line in one.lines()]
    yield "References", [line for text in sources for line in filled(sentence(text))]


def rewritten(package, module, node, literal):
    "The literal of a docstring with its sections."
    prefix, quotes, doc = re.fullmatch(r"""(?s)([rRuU]?)(\"\"\"|'''|"|')(.*)\2""", literal).groups()
    if SECTION.search(doc): return literal
    paragraphs, raises, sources = taken_apart(doc)
    for title, lines in sections(package, module, node, raises, sources):
        if not lines: continue
        if prefix in ("r", "R"): lines = [line.replace("\\\\", "\\") for line in lines]
        paragraphs.append([title, "-" * len(title), *lines])
    if len(paragraphs) == 1: return f'{prefix}"""{paragraphs[0][0]}"""' if "\n" in doc else literal
    margin = " " * node.body[0].col_offset
    text = "\n\n".join("\n".join(paragraph) for paragraph in paragraphs)
    return f'{prefix}"""{textwrap.indent(text, margin).lstrip()}\n{margin}"""'


def documented(package, module):
    "The module's text with the docstrings of all that is public rewritten."
    out, done = b"", 0
    for owner, node in definitions(module.tree):
        if node.name.startswith("_") or ast.get_docstring(node) is None: continue
        begin, end = module.span(node.body[0].value)
        try: literal = rewritten(package, module, node, module.bytes[begin:end].decode())
        except SystemExit as error: raise SystemExit(f"{module.path.name}, {owner.name + '.' if owner else ''}{node.name}: {error}") from None
        out, done = out + module.bytes[done:begin] + literal.encode(), end
    return out + module.bytes[done:]


def write(folder):
    "Rewrite the modules in a folder, all or none."
    package = Package(Path(folder))
    for module, text in [(module, documented(package, module)) for module in package.modules]:
        if text != module.bytes: module.path.write_bytes(text)


if __name__ == "__main__":
    write(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent / "uqcal")
