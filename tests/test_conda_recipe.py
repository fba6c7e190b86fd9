"""The conda recipe asks for what settings.ini asks for."""
import configparser
import re

import notebooks

NAMES = {"matplotlib": "matplotlib-base"}  # conda-forge's name of what has no window toolkit


def test_requirements_and_version_are_those_of_the_settings():
    parser = configparser.ConfigParser(delimiters=["="], interpolation=None)
    parser.read(notebooks.ROOT / "settings.ini", encoding="utf-8")
    asked = parser["DEFAULT"]
    recipe = (notebooks.ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    run = re.search(r"(?m)^  run:\n((?:    - .*\n)+)", recipe)[1]
    stated = {line.strip("- ").replace(" ", "") for line in run.splitlines()}
    wanted = {re.sub(r"^[\w-]+", lambda name: NAMES.get(name[0].lower(), name[0].lower()), line.strip()) for line in asked["requirements"].split("\n") if line.strip()}
    assert stated == wanted | {"python>=${{python_min}}"}
    assert f'version: "{asked["version"]}"' in recipe and f'python_min: "{asked["python"].removeprefix(">=")}"' in recipe
