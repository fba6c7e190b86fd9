"""The oldest release of each dependency that settings.ini allows, as constraints for pip.

    python tools/oldest.py > oldest.txt
    python -m pip install --constraint oldest.txt --editable ".[dask,parquet,excel]"

What only developers need (notebooks, tests, rendering) is left at its newest. A bound holds if the tests pass with it.
"""
import re
from configparser import ConfigParser
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def oldest(settings):
    "Lines such as numpy==1.26, from the lower bounds of everything a user may install."
    bounds = {}
    for key in settings:
        if key == "dev_requirements" or not key.endswith("requirements"): continue
        for name, version in re.findall(r"(?m)^\s*([\w.-]+)(?:\[[\w,-]+\])?>=([\w.]+)", settings[key]): bounds[name] = version
    return [f"{name}=={version}" for name, version in bounds.items()]


if __name__ == "__main__":
    parser = ConfigParser(delimiters=["="], interpolation=None)
    parser.read(ROOT / "settings.ini", encoding="utf-8")
    print("\n".join(oldest(parser["DEFAULT"])))
