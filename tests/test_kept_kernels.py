"""Which compiled kernels of an earlier run are taken over: those whose module and all that they use are the same."""
import os
import subprocess
import sys

from notebooks import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import kept_kernels
import pytest

FILES = {"__init__.py": "", "_base/__init__.py": "", "_base/kernels.py": "def kernel(f): return f\n",
         "low.py": "from ._base.kernels import kernel\n@kernel\ndef least(x): return x - HALF\nHALF = 0.5\n",
         "words.py": "def text(): return 'said'\n", "nodes.py": "def nodes(): return [1.0, 2.0]\n",
         "high.py": "from ._base.kernels import kernel\nfrom .low import least\nfrom .words import text\nfrom .nodes import nodes\n"
                    "_NODES = nodes()\n@kernel\ndef most(x): return least(x) + _NODES[0]\ndef told(): return text()\n"}


def package(folder, **changed):
    for name, source in (FILES | changed).items():
        path = folder / "uqcal" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    return {path.stem: digest for path, digest in kept_kernels.digests(folder).items()}


def test_what_kernels_use_decides(tmp_path):
    was = package(tmp_path / "was")
    assert set(was) == {"low", "high"}
    assert package(tmp_path / "same") == was
    assert package(tmp_path / "words", **{"words.py": "def text(): return 'told'\n"}) == was
    for number, changed in enumerate(({"nodes.py": "def nodes(): return [3.0]\n"}, {"low.py": FILES["low.py"].replace("0.5", "0.25")},
                                      {"_base/kernels.py": FILES["_base/kernels.py"] + "# other\n"})):
        now = package(tmp_path / str(number), **changed)
        assert now["high"] != was["high"] and (now["low"] == was["low"]) == ("nodes.py" in changed)


@pytest.mark.slow
def test_kernels_go_to_another_clone(tmp_path):
    run = ("import sys, numpy as np; sys.path.insert(0, '.'); from uqcal._chance.logistic import sigmoid; from uqcal._subgroups.steps import never_interleave, coins; "
           "coins(3); print(sum(coins.compiled.stats.cache_hits.values()))")
    hits = []
    for clone in ("one", "two"):
        root = tmp_path / clone
        subprocess.run(["cp", "-r", str(ROOT / "uqcal"), str(ROOT / "tools"), f"{root}/"], check=True) if root.mkdir() is None else None
        for path in (root / "uqcal").rglob("*.py"): os.utime(path, (0, 946684800))
        tool = [sys.executable, str(root / "tools" / "kept_kernels.py")]
        subprocess.run([*tool, "take", str(tmp_path / "kept")], check=True)
        done = subprocess.run([sys.executable, "-P", "-c", run], cwd=root, env=os.environ | {"NUMBA_CACHE_DIR": str(root / ".cache" / "numba")}, capture_output=True, text=True, check=True)
        hits.append(int(done.stdout))
        subprocess.run([*tool, "keep", str(tmp_path / "kept")], check=True)
    assert hits == [0, 1]
