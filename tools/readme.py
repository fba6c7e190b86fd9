"""Write README.md from nbs/index.ipynb: its prose, code and stored outputs, with links that hold at the top of the repository."""
import base64
import json
import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOTE = "<!-- Made from nbs/index.ipynb by `make export`; edit that notebook, not this file. -->"
WIDTH = 100


def readme(notebook):
    "The text of README.md and the pictures it shows, by file name."
    parts, pictures = [NOTE], {}
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(re.sub(r"\]\((?!https?:|#|/)([^)]+)\)", r"](nbs/\1)", source))
            continue
        if "code-fold: true" not in source: parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            data = output.get("data", {})
            if "image/png" in data:
                name = f"README_files/figure-{len(pictures) + 1}.png"
                pictures[name] = base64.b64decode("".join(data["image/png"]))
                alt = re.search(r"(?m)^#\| fig-alt: *(.*(?:\n#\|  .*)*)$", source)
                words = re.sub(r"\n#[|] +", " ", alt[1]) if alt else ""
                parts.append(f"![{words}]({name})")
            elif "text/html" in data: parts.append("".join(data["text/html"]))
            else: parts.append("```\n" + folded("".join(output.get("text", data.get("text/plain", "")))) + "\n```")
    return "\n\n".join(parts) + "\n", pictures


def folded(text):
    "Lines of text that fit where they are read, since a forge wraps none of them."
    return "\n".join(textwrap.fill(line, WIDTH, break_long_words=False) if len(line) > WIDTH else line for line in text.rstrip("\n").split("\n"))


def main(root=ROOT):
    text, pictures = readme(json.loads((root / "nbs" / "index.ipynb").read_text(encoding="utf-8")))
    (root / "README.md").write_text(text, encoding="utf-8")
    (root / "README_files").mkdir(exist_ok=True)
    for old in (root / "README_files").iterdir():
        if f"README_files/{old.name}" not in pictures: old.unlink()
    for name, picture in pictures.items(): (root / name).write_bytes(picture)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)
