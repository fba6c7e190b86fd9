"""The house is in order: exported code, README, metadata, wheel and docs agree with the notebooks they come from."""
import ast
import configparser
import importlib
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile

import notebooks
import pytest

ROOT = notebooks.ROOT
MODULES = sorted(".".join(p.relative_to(ROOT / "uqcal").with_suffix("").parts) for p in (ROOT / "uqcal").rglob("[a-z]*.py"))
SOURCES = ["settings.ini", "setup.py", "pyproject.toml", "MANIFEST.in", "_quarto.yml", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "nbs",
           "uqcal", "tools"]
VERSIONS = ["3.11", "3.12", "3.13", "3.14"]


def settings():
    parser = configparser.ConfigParser(delimiters=["="], interpolation=None)
    parser.read(ROOT / "settings.ini", encoding="utf-8")
    return parser["DEFAULT"]


def run(*command, cwd, **environment):
    done = subprocess.run([str(c) for c in command], cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(map(str, command))} failed:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def content(folder):
    "What the files below a folder hold, by their path; caches aside."
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file() and "__pycache__" not in p.parts}


@pytest.fixture
def copy(tmp_path):
    "A copy of the sources, to build and export in."
    for name in SOURCES:
        source = ROOT / name
        ignored = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints")
        if source.is_dir(): shutil.copytree(source, tmp_path / name, ignore=ignored)
        else: shutil.copy(source, tmp_path / name)
    return tmp_path


def test_export_changes_nothing(copy):
    before = content(copy / "uqcal")
    kept = "import functools, tomllib; tomllib.loads = functools.cache(tomllib.loads)"  # nbdev reads its settings more than a thousand times
    run(sys.executable, "-c", f"{kept}; from nbdev.doclinks import nbdev_export; nbdev_export()", cwd=copy)
    run(sys.executable, copy / "tools" / "docstrings.py", cwd=copy)
    after = content(copy / "uqcal")
    changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    assert not changed, f"run `make export`: it changes uqcal/{', uqcal/'.join(changed)}"


def test_every_module_comes_from_a_notebook():
    exported = set()
    for path in (ROOT / "nbs").rglob("[0-9]*_*.ipynb"):
        named = re.search(r"^#\| default_exp ([\w.]+)$", "\n".join(c.source for c in notebooks.read(path).cells if c.cell_type == "code"), re.M)
        assert named, f"{path.name} has no cell `#| default_exp name`"
        exported.add(named[1])
    assert exported == set(MODULES) and len(exported) > 50


def test_clean_leaves_notebooks_unchanged(copy):
    before = content(copy / "nbs")
    run(sys.executable, "-c", "from nbdev.clean import nbdev_clean; nbdev_clean()", cwd=copy)
    after = content(copy / "nbs")
    changed = [name for name in before if before[name] != after[name]]
    assert not changed, f"run `.venv/bin/nbdev-clean`: it changes {', '.join(changed)}"


def test_readme_is_made_from_the_index(copy):
    before = (copy / "README.md").read_text(encoding="utf-8")
    run(sys.executable, copy / "tools" / "readme.py", copy, cwd=copy)
    assert (copy / "README.md").read_text(encoding="utf-8") == before, "run `make export`: README.md isn't what nbs/index.ipynb gives"
    for name, picture in content(copy / "README_files").items():
        assert (ROOT / "README_files" / name).read_bytes() == picture, f"run `make export`: README_files/{name} is another picture"


def test_links_in_the_readme_lead_somewhere():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    missing = [link for link in re.findall(r"\]\(([^)#]+)", text) if not link.startswith("http") and not (ROOT / link).exists()]
    assert not missing


def test_version_is_the_same_everywhere():
    import uqcal
    version = settings()["version"]
    assert uqcal.__version__ == version
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## {version}\n" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_public_names_are_there_and_known_to_type_checkers():
    import uqcal
    for name in uqcal.__all__:
        module = importlib.import_module(f"uqcal.{uqcal._HOME[name]}")
        assert name in module.__all__ and getattr(uqcal, name) is getattr(module, name)
    stub = ast.parse((ROOT / "uqcal" / "__init__.pyi").read_text(encoding="utf-8"))
    stated = {(node.module, alias.name) for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert stated == {("uqcal", folder) for folder in {*uqcal._FOLDERS, *uqcal._MODULES}} | {(f"uqcal.{home}", name) for name, home in uqcal._HOME.items()}
    folders = {name.split(".")[0] for name in MODULES}
    assert set(uqcal._CONTENTS) <= set(MODULES) and {*uqcal._FOLDERS, *uqcal._MODULES} == {folder for folder in folders if not folder.startswith("_")}


def test_the_stub_is_made_from_the_table_of_contents(copy):
    run(sys.executable, copy / "tools" / "stub.py", cwd=copy)
    assert (copy / "uqcal" / "__init__.pyi").read_bytes() == (ROOT / "uqcal" / "__init__.pyi").read_bytes(), "run `make export`"


@pytest.mark.slow  # pyright reads the same calls in a quarter of the time
def test_calls_as_users_write_them_pass_mypy():
    run(sys.executable, "-m", "mypy", cwd=ROOT)


def test_calls_as_users_write_them_pass_pyright():
    pytest.importorskip("pyright")
    if shutil.which("node") is None: pytest.skip("pyright runs on node, and there is none")
    run(sys.executable, "-m", "pyright", "--pythonpath", sys.executable, cwd=ROOT, PYRIGHT_PYTHON_IGNORE_WARNINGS="1")


def _public(module):
    "The functions and methods that a module exports, with the name to report."
    for name in module.__all__:
        thing = getattr(module, name)
        if inspect.isfunction(thing): yield name, thing
        if inspect.isclass(thing):
            yield name, thing
            yield from ((f"{name}.{k}", v) for k, v in vars(thing).items() if inspect.isfunction(v) and not k.startswith("_"))


def test_public_signatures_are_typed_and_documented():
    silent = []
    for label, thing in (one for name in MODULES for one in _public(importlib.import_module(f"uqcal.{name}"))):
        if not (thing.__doc__ or "").strip() or (thing.__doc__ or "").startswith(f"{label}("): silent.append(f"{thing.__module__}.{label}: no docstring")
        if not inspect.isfunction(thing): continue
        signature = inspect.signature(thing)
        untyped = [p.name for p in signature.parameters.values() if p.annotation is p.empty and p.name not in ("self", "cls")]
        if signature.return_annotation is signature.empty: untyped.append("return")
        if untyped: silent.append(f"{thing.__module__}.{label}: no type for {', '.join(untyped)}")
    assert not silent, "\n".join(silent)


def _all_code():
    for path in [*ROOT.glob("uqcal/**/*.py"), *ROOT.glob("tests/*.py"), *ROOT.glob("tools/*.py"), *ROOT.glob("benchmarks/*.py"), ROOT / "setup.py"]:
        yield path.relative_to(ROOT), path.read_text(encoding="utf-8")
    for path in notebooks.every_notebook():
        for number, cell in enumerate(notebooks.read(path).cells):
            if cell.cell_type == "code" and not cell.source.lstrip().startswith(("%", "!")): yield f"{path.relative_to(ROOT)}, cell {number}", cell.source


def test_lines_of_code_fit_a_page():
    "No line over 100 columns, which a page would cut off."
    for path in notebooks.every_notebook():
        for cell in notebooks.read(path).cells:
            if cell.cell_type == "code": assert max(map(len, cell.source.splitlines()), default=0) <= 100, (path.name, cell.id)


def test_nothing_is_left_to_do():
    marks = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
    assert not [place for place, source in _all_code() if marks.search(source)]


def build(copy):
    "A source archive and the wheel built from it, without asking a package index for the build backend."
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", copy / "made", copy, cwd=copy)
    return next((copy / "made").glob("*.tar.gz")), next((copy / "made").glob("*.whl"))


def test_wheel_holds_the_package_its_data_and_the_pages_that_travel_only(copy):
    from uqcal._command.studies import KINDS, PAGES
    archive, wheel = build(copy)
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    expected = {str(p.relative_to(ROOT)) for p in (ROOT / "uqcal").rglob("*.py*") if p.suffix in (".py", ".pyi")} | {"uqcal/py.typed"}
    expected |= {f"uqcal/data/{name}" for name in ("SOURCE.txt", "seattle.csv")}
    expected |= {f"uqcal/data/{page}.ipynb" for page in [*PAGES, *(f"own_{kind}" for kind in KINDS)]}
    assert packed == expected
    metadata = zipfile.ZipFile(wheel).read(next(n for n in zipfile.ZipFile(wheel).namelist() if n.endswith("/METADATA"))).decode()
    for line in [f"Version: {settings()['version']}", "License-File: LICENSE", "Requires-Python: >=3.11", *(f"Programming Language :: Python :: {v}" for v in VERSIONS)]:
        assert line in metadata
    entries = zipfile.ZipFile(wheel).read(next(n for n in zipfile.ZipFile(wheel).namelist() if n.endswith("/entry_points.txt"))).decode()
    assert "uqcal = uqcal._command.cli:main" in entries and "uqcal = uqcal._modidx:d" in entries
    assert {"settings.ini", "setup.py", "LICENSE"} <= {name.split("/", 1)[1] for name in tarfile.open(archive).getnames() if "/" in name}


@pytest.mark.slow
def test_wheel_works_in_an_empty_environment(copy):
    _, wheel = build(copy)
    venv.create(copy / "empty", with_pip=True)
    python = copy / "empty" / "bin" / "python"
    run(python, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", wheel, cwd=copy)
    elsewhere = copy / "elsewhere"
    elsewhere.mkdir()
    said = run(copy / "empty" / "bin" / "uqcal", "validate", "demo", "--report", "report.html", cwd=elsewhere, NUMBA_CACHE_DIR=str(copy / "numba"))
    assert "VERDICT" in said and (elsewhere / "report.html").stat().st_size > 10_000
    assert f"{copy}/empty" in run(python, "-c", "import uqcal; print(uqcal.__file__)", cwd=elsewhere)


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_every_dependency_has_a_wheel(version, tmp_path):
    requirements = [line.strip() for line in settings()["requirements"].splitlines() if line.strip()]
    run(sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", "--dry-run", "--ignore-installed", "--only-binary=:all:", "--target",
        tmp_path, "--python-version", version, "--implementation", "cp", "--platform", "manylinux_2_28_x86_64", "--platform", "manylinux2014_x86_64",
        *requirements, cwd=tmp_path)


def test_wheels_on_all_versions_are_declared():
    workflow = (ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8")
    assert settings()["pythons"].split() == VERSIONS
    assert json.loads(re.search(r"python: (\[.*\])", workflow)[1]) == VERSIONS


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("npm") is None, reason="npm fetches the typesetter of equations")
def test_docs_read_offline(copy):
    if (ROOT / "build").is_dir(): shutil.copytree(ROOT / "build", copy / "build")
    run(sys.executable, copy / "tools" / "docs.py", cwd=copy, PYTHONPATH=str(copy))
    pages = list((copy / "_docs").rglob("*.html"))
    assert len(pages) >= len(notebooks.every_notebook())
    assert "Kuiper" in (copy / "_docs" / "search.js").read_text(encoding="utf-8"), "a page opened from a file can't be searched"
    for page in pages:
        text = page.read_text(encoding="utf-8")
        code = re.sub(r"(?s)<pre.*?</pre>", "", text)
        loaded = re.findall(r"<(?:script|link|img|iframe|source)\b[^>]*\b(?:src|href)=[\"']?([^\"' >]+)", code)
        assert not [address for address in loaded if re.match(r"(?:https?:)?//", address)], f"{page.name} loads from the web"
        missing = [a for a in loaded if not a.startswith("data:") and not (page.parent / a.split("?")[0].split("#")[0]).exists()]
        assert not missing, f"{page.name} loads what isn't there: {missing}"
        assert not re.search(r"(?m)^#\| ?(?:export|default_exp|hide)", re.sub(r"<[^>]*>", "", text)), f"{page.name} shows a directive"
    for sheet in (copy / "_docs").rglob("*.css"):
        assert not re.search(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", sheet.read_text(encoding="utf-8")), f"{sheet.name} loads from the web"
