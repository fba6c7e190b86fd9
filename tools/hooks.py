"""Make git and Jupyter treat notebooks as notebooks in this clone, without activating anything and without touching other files.

    .venv/bin/python tools/hooks.py

`git diff` and `git merge` then work cell by cell, by programs named with their whole path; Jupyter strips what changes at each run
when it saves. Everything is kept in .git and in the environment: no settings of the user, and no file of the repository, is changed.
"""
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ATTRIBUTES = ("*.ipynb merge=jupyternotebook", "*.ipynb diff=jupyternotebook")
ON_SAVE = """import warnings


def cleaned(model, **saved):
    from nbdev.clean import clean_nb
    if model["type"] == "notebook" and model["content"]["nbformat"] == 4: clean_nb(model["content"])


warnings.filterwarnings("ignore", "Overriding existing pre_save_hook")  # this file is read twice
c = get_config()
c.ContentsManager.pre_save_hook = cleaned
"""


def git(root, *words):
    "What git answers in a clone."
    return subprocess.run(["git", "-C", str(root), *words], check=True, capture_output=True, text=True).stdout.strip()


def install(root=ROOT, environment=sys.prefix):
    "Write the settings of git and of the environment's Jupyter."
    programs = Path(environment) / "bin"
    for name, value in {"merge.jupyternotebook.name": "cell by cell",
                        "merge.jupyternotebook.driver": f'"{programs}/nbdev-merge" %O %A %B %P',
                        "diff.jupyternotebook.command": f'"{programs}/nbdev-diff-driver"'}.items():
        git(root, "config", "--local", name, value)
    attributes = Path(root) / git(root, "rev-parse", "--git-path", "info/attributes")
    attributes.parent.mkdir(exist_ok=True)
    known = attributes.read_text(encoding="utf-8").splitlines() if attributes.exists() else []
    attributes.write_text("\n".join([*known, *(line for line in ATTRIBUTES if line not in known)]) + "\n", encoding="utf-8")
    settings = Path(environment) / "etc" / "jupyter" / "jupyter_server_config.py"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(ON_SAVE, encoding="utf-8")


if __name__ == "__main__":
    install()
