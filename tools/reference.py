"""What a page says of an exported function or class: its signature, its docstring's text, and its sections as lists of definitions;
and the pages of the reference, one for each module and one that lists them all.

All of it is read from the exported modules, whose docstrings hold the sections (see docstrings.py); nothing is imported or run.
"""
import ast
import re
from html import escape

from docstrings import is_property
from numpydoc.docscrape import NumpyDocString

LISTED = ("Parameters", "Attributes", "Returns", "Yields", "Raises")
WIDTH = 88


def describe(package, module, name):
    "Markdown for a function, a class or a method, by its name in the module."
    node = module.tree
    for part in name.split("."): node = next(one for one in node.body if getattr(one, "name", None) == part)
    source = f'[source](/blob/main/uqcal/{module.name.replace(".", "/")}.py#L{node.lineno}){{target="_blank" style="float:right; font-size:smaller"}}'
    parts = ["---", source, f"### {name}", f"```python\n{signature(package, module, node)}\n```", *texts(node, "\n\n".join)]
    return "\n\n".join([*parts, *(methods(package, node) if isinstance(node, ast.ClassDef) else [])])


def signature(package, module, node):
    "A call as it is written, without comments; on several lines where one is too short. Of a result, its name only."
    if isinstance(node, ast.ClassDef):
        parameters, (_, function) = package.constructor(node), package.methods(node).get("__init__", (None, None))
        head, tail = f"class {node.name}", ""
        if package.is_result(node) or not parameters: return head
    else:
        parameters, function = module.parameters(node), node
        head, tail = f"def {node.name}", f" -> {module.type(node.returns)}" if node.returns else ""
    items = [f"{one.name}: {one.type}" + (f" = {one.default}" if one.default is not None else "") for one in parameters]
    items = starred(items, parameters, function)
    line = f"{head}({', '.join(items)}){tail}"
    return line if len(line) <= WIDTH else "\n".join([f"{head}(", *(f"    {item}," for item in items), f"){tail}"])


def starred(items, parameters, function):
    "Put the star before the first parameter that goes by keyword only."
    if function is None or function.args.vararg or not function.args.kwonlyargs: return items
    place = [one.name for one in parameters].index(function.args.kwonlyargs[0].arg)
    return [*items[:place], "*", *items[place:]]


def texts(node, paragraph):
    "The docstring's paragraphs and lists. What the signature says, types and defaults, is not said again."
    doc = NumpyDocString(ast.get_docstring(node) or "")
    yield paragraph(" ".join(doc["Summary"]).splitlines())
    said, _, tried = "\n".join(doc["Extended Summary"]).partition("Examples:\n")
    if said.strip(): yield paragraph(said.strip().split("\n\n"))
    if tried.strip(): yield f'<p class="section">Examples</p><pre class="example"><code>{escape(tried.strip(), quote=False)}</code></pre>'
    for title in LISTED:
        rows = [(one.name, "" if title == "Parameters" else one.type, " ".join(one.desc)) for one in doc[title] if one.desc]
        if rows: yield definitions(title, rows)
    if doc["References"]: yield f'<p class="source">Source: {marked(" ".join(doc["References"]))}</p>'


def methods(package, cls):
    "The public methods and properties of a class, inherited ones too; drawing methods all take axes, which is not said each time."
    rows = []
    for name, (module, one) in package.methods(cls).items():
        if name.startswith("_"): continue
        parameters = module.parameters(one)
        items = [part.name if part.default is None else f"{part.name}={part.default}" for part in parameters]
        call = name if is_property(one) else f"{name}({', '.join(starred(items, parameters, one))})"
        parts = list(texts(one, lambda lines: "".join(f"<p>{marked(line)}</p>" for line in lines)))
        if [part.name for part in parameters] == ["ax"]: parts = parts[:1]
        place = f"{cls.name}.{name}".lower()  # where nbdev's links to a method lead
        rows.append(f'<dt id="{place}"><code>{escape(call)}</code></dt><dd>{"".join(parts)}</dd>')
    if rows: yield f'<p class="section">Methods</p><dl class="reference methods">{"".join(rows)}</dl>'


def definitions(title, rows):
    "A list of names or types with what they mean."
    items = []
    for name, kind, text in rows:
        head = " ".join([f"<code>{escape(name)}</code>"] * bool(name) + [f'<span class="type">{escape(kind)}</span>'] * bool(kind))
        items.append(f"<dt>{head}</dt><dd>{marked(text)}</dd>")
    return f'<p class="section">{title}</p><dl class="reference">{"".join(items)}</dl>'


def marked(text):
    "Plain text as HTML; what stands in backticks as code."
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))


def write_reference(package, folder, notebooks):
    "A page for each module that a notebook defines, given the notebooks and their titles by module, and the list of all."
    folder.mkdir(exist_ok=True)
    short = at_the_top(package)
    rows = [LIST]
    for name, (notebook, title) in sorted(notebooks.items(), key=lambda one: one[1][0].name):
        module = next(module for module in package.modules if module.name == name)
        nodes = [node for node in module.tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_")]
        if not nodes: continue
        page, parts = f"../{notebook.as_posix()}", [f"---\ntitle: uqcal.{name}\nsearch: false\n---"]
        parts.append(f"Derived and shown at work on the page [{title}]({page}). [All modules](index.md)")
        for node in nodes:
            text = describe(package, module, node.name)
            parts.append(re.sub(r"\]\(/blob/main/uqcal/[\w/]+\.py(#L\d+)\)", rf"](../source/{module.page}.html\1)", text))
        (folder / f"{module.page}.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
        rows.append(f"## {title}\n\n`uqcal.{name}`, derived on its [page]({page})\n\n| | |\n|---|---|")
        rows[-1] += "".join(f"\n| [`{node.name}`]({module.page}.md#{node.name.lower()}){' ★' * (node.name in short)} | {summary(node)} |" for node in nodes)
    (folder / "index.md").write_text("\n\n".join(rows) + "\n", encoding="utf-8")


LIST = """---
title: Reference
subtitle: Every public function and class, by the page that derives it
---

What carries a star is imported from the package, `from uqcal import validate`; all else from its module, `from uqcal.statistics.statistics import zms`.
A name leads to its signature, parameters, results and errors."""


def at_the_top(package):
    "The names that are imported from the package itself."
    folder = package.folder
    tree = ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))
    table = next(node.value for node in tree.body if isinstance(node, ast.Assign) and node.targets[0].id == "_CONTENTS")
    return {name for names in ast.literal_eval(table).values() for name in names}


def summary(node):
    "The first sentence of a docstring, fit for a cell of a table."
    doc = NumpyDocString(ast.get_docstring(node) or "")
    return " ".join(" ".join(doc["Summary"]).split()).replace("|", "\\|")
