"""Write uqcal/__init__.pyi: what uqcal/__init__.py imports when it is asked for, as imports that a type checker can follow."""
import ast
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "uqcal"


def stub(source):
    "The imports that stand for the tables _MODULES, _FOLDERS and _CONTENTS: each of the first two, then each public name from its module."
    tables = {ast.unparse(node.targets[0]): node.value for node in ast.parse(source).body if isinstance(node, ast.Assign)}
    contents, modules, folders = (ast.literal_eval(tables[name]) for name in ("_CONTENTS", "_MODULES", "_FOLDERS"))
    lines = [f"from uqcal import {folder} as {folder}" for folder in sorted({*modules, *folders})]
    lines += [f"from uqcal.{module} import {name} as {name}" for module in sorted(contents) for name in sorted(contents[module])]
    return "\n".join([*lines, "", "__version__: str", "__all__: list[str]", ""])


if __name__ == "__main__":
    (PACKAGE / "__init__.pyi").write_text(stub((PACKAGE / "__init__.py").read_text(encoding="utf-8")), encoding="utf-8")
