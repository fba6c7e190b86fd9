"""What the benchmarks share: the shortest of a few runs, work in a process of its own, a peer in an environment of its own."""
import json
import os
import subprocess
import sys
import time
import venv
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = os.environ.setdefault("NUMBA_CACHE_DIR", str(ROOT / ".cache" / "numba"))
JOBS = min(2, os.cpu_count() or 1)
MAPIE = "mapie==1.6.0"


def seconds(work, repeats=3, *, warm=False, clock=time.perf_counter):
    "The shortest of a few runs: what disturbs a run only makes it longer; warm: after one that isn't counted."
    if warm: work()
    taken = []
    for _ in range(repeats):
        start = clock()
        work()
        taken.append(clock() - start)
    return min(taken)


def against(value, target, at_least):
    "A target, and whether it is met."
    met = value >= target if at_least else value <= target
    return f"target {'≥' if at_least else '≤'} {target:g}: {'met' if met else 'MISSED'}"


def measured(script, task, python=sys.executable, **environment):
    "What a task of a script finds in a process of its own, whose memory and imports no other task shares."
    command = [python, script, "--child", task]
    done = subprocess.run(command, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def python_with_mapie():
    "An interpreter that has MAPIE, or the reason why there is none."
    if find_spec("mapie"): return sys.executable, ""
    folder = ROOT / ".cache" / "mapie"
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not (folder / "installed").exists():
        venv.create(folder, with_pip=True, clear=True)
        done = subprocess.run([python, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", MAPIE], capture_output=True, text=True)
        if done.returncode: return None, (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        (folder / "installed").touch()
    return python, ""
