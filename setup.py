"""Read settings.ini and hand it to setuptools; there is nothing else to configure here."""
import re
from configparser import ConfigParser
from pathlib import Path

from setuptools import setup

root = Path(__file__).parent
parser = ConfigParser(delimiters=["="], interpolation=None)
parser.read(root / "settings.ini", encoding="utf-8")
settings = parser["DEFAULT"]


def lines(key):
    return [line.strip() for line in settings[key].splitlines() if line.strip()]


def readme():
    "README as a package index shows it: links and pictures by their whole address, once there is one."
    text = (root / "README.md").read_text(encoding="utf-8")
    if not settings["git_url"]: return text
    text = re.sub(r"(!\[[^\]]*\]\()(?!https?:)", rf"\1{settings['git_url']}/raw/main/", text)
    return re.sub(r"\]\((?!https?:|#|mailto:)", f"]({settings['git_url']}/blob/main/", text)


urls = {"Repository": settings["git_url"], "Documentation": settings["doc_url"]}
setup(
    version=settings["version"],
    description=settings["description"],
    long_description=readme(),
    long_description_content_type="text/markdown",
    author=settings["author"],
    license_expression=settings["licence"],
    keywords=[word.strip() for word in settings["keywords"].split(",")],
    classifiers=[
        "Development Status :: 4 - Beta",
        "Intended Audience :: Science/Research",
        "Operating System :: OS Independent",
        "Topic :: Scientific/Engineering",
        "Typing :: Typed",
        *(f"Programming Language :: Python :: {version}" for version in settings["pythons"].split()),
    ],
    project_urls={name: url for name, url in urls.items() if url},
    python_requires=settings["python"],
    install_requires=lines("requirements"),
    extras_require={key.removesuffix("_requirements"): lines(key) for key in settings if key.endswith("_requirements")},
    packages=["uqcal", "uqcal.data", *(".".join(found.parent.relative_to(root).parts) for found in sorted((root / "uqcal").rglob("*/__init__.py")))],
    package_data={"uqcal": ["py.typed", "*.pyi"], "uqcal.data": ["*"]},
)
