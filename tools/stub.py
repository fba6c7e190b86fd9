"""Write uqcal/__init__.pyi: what uqcal/__init__.py imports when it is asked for, as imports that a type checker can follow."""
import ast
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "uqcal"


def stub(source):
    "The imports that stand for the table _CONTENTS: each module, then each public name from its module."
    tables = (node for node in ast.parse(source).body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_CONTENTS")
    contents = ast.literal_eval(next(tables).value)
    lines = [f"from uqcal import {module} as {module}" for module in sorted(contents)]
    lines += [f"from uqcal.{module} import {name} as {name}" for module in sorted(contents) for name in sorted(contents[module])]
    return "\n".join([*lines, "", "__version__: str", "__all__: list[str]", ""])


if __name__ == "__main__":
    (PACKAGE / "__init__.pyi").write_text(stub((PACKAGE / "__init__.py").read_text(encoding="utf-8")), encoding="utf-8")
