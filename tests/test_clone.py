"""What one does in a clone: import from beside it, compare notebooks without activating anything, run one page."""
import copy
import json
import os
import shutil
import subprocess
import sys
import venv
import warnings
from types import SimpleNamespace

import notebooks
import pytest

sys.path.insert(0, str(notebooks.ROOT / "tools"))
import hooks
import page


def run(*command, cwd, **environment):
    done = subprocess.run([str(word) for word in command], cwd=cwd, env={"PATH": os.defpath, "HOME": str(cwd), **environment}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_script_beside_a_clone_named_uqcal_imports_the_package_and_not_the_folder(tmp_path):
    clone = tmp_path / "uqcal"
    kept = shutil.ignore_patterns(".*", "_docs", "_proc", "build", "nbs", "*.egg-info", "__pycache__")
    shutil.copytree(notebooks.ROOT, clone, ignore=kept)
    venv.create(tmp_path / "one")  # pip and setuptools are those of this environment
    python = tmp_path / "one" / "bin" / "python"
    site = next((tmp_path / "one" / "lib").glob("python*/site-packages"))
    (site / "shared.pth").write_text(next(path for path in sys.path if path.endswith("site-packages")) + "\n")
    run(python, "-m", "pip", "--quiet", "install", "--no-deps", "--no-build-isolation", "--editable", clone, cwd=tmp_path)
    (tmp_path / "first.py").write_text("import uqcal\nprint(uqcal.__file__, uqcal.__version__)\n")
    assert str(clone / "uqcal" / "__init__.py") in run(python, "first.py", cwd=tmp_path)


def test_git_compares_notebooks_cell_by_cell_with_no_environment_on_the_path(tmp_path):
    pytest.importorskip("nbdev", reason="nbdev is not installed")
    run("git", "init", "--quiet", ".", cwd=tmp_path)
    shutil.copy(notebooks.ROOT / "nbs" / "index.ipynb", tmp_path / "one.ipynb")
    run("git", "add", ".", cwd=tmp_path)
    run("git", "-c", "user.name=x", "-c", "user.email=x@localhost", "commit", "--quiet", "-m", "one", cwd=tmp_path)
    made = tmp_path / "made"
    for _ in range(2): hooks.install(tmp_path, made)
    (made / "bin").mkdir(parents=True)
    for name in ("nbdev-diff-driver", "nbdev-merge"): (made / "bin" / name).symlink_to(shutil.which(name, path=os.path.dirname(sys.executable)))
    text = (tmp_path / "one.ipynb").read_text(encoding="utf-8")
    (tmp_path / "one.ipynb").write_text(text.replace("Is my model", "May my model"), encoding="utf-8")
    said = run("git", "diff", "one.ipynb", cwd=tmp_path, LANG="C.UTF-8")
    assert "modified" in said and "May" in said and "cell_type" not in said
    assert (tmp_path / ".git" / "info" / "attributes").read_text().count("diff=jupyternotebook") == 1
    assert not (tmp_path / ".gitattributes").exists()


def test_what_changes_at_each_run_is_stripped_when_jupyter_saves(tmp_path):
    pytest.importorskip("nbdev", reason="nbdev is not installed")
    run("git", "init", "--quiet", ".", cwd=tmp_path)
    hooks.install(tmp_path, tmp_path / "made")
    settings = SimpleNamespace(ContentsManager=SimpleNamespace())
    with warnings.catch_warnings(): exec((tmp_path / "made" / "etc" / "jupyter" / "jupyter_server_config.py").read_text(), {"get_config": lambda: settings})
    kept = json.loads((notebooks.ROOT / "nbs" / "chance/14_logistic.ipynb").read_text(encoding="utf-8"))
    ran = copy.deepcopy(kept)
    for cell in ran["cells"]:
        if cell["cell_type"] == "code": cell.update(execution_count=7, metadata={"collapsed": True})
    settings.ContentsManager.pre_save_hook(model={"type": "notebook", "content": ran}, path="14_logistic.ipynb", contents_manager=None)
    assert ran == kept
    settings.ContentsManager.pre_save_hook(model={"type": "file", "content": "x"}, path="x.txt", contents_manager=None)


def test_a_page_is_named_by_its_number_its_name_or_a_part_of_it():
    assert page.found("14").name == page.found("14_logistic").name == page.found("nbs/chance/14_logistic.ipynb").name == "14_logistic.ipynb"
    assert page.found("tutorials/regression").name == "regression.ipynb"
    for part, said in (("4", "may be any of"), ("nowhere", "no notebook")):
        with pytest.raises(SystemExit, match=said): page.found(part)


def test_a_page_is_stored_as_git_keeps_it(tmp_path):
    before = (notebooks.ROOT / "nbs" / "chance/14_logistic.ipynb").read_text(encoding="utf-8")
    (tmp_path / "one.ipynb").write_text(before, encoding="utf-8")
    page.store(notebooks.read(tmp_path / "one.ipynb"), tmp_path / "one.ipynb")
    assert (tmp_path / "one.ipynb").read_text(encoding="utf-8") == before
