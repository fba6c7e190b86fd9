"""Whether a wheel works where nothing else is: a clean environment of each Python at hand, the main job, and no trace after it is uninstalled.

    python tools/wheel.py [WHEEL]       # builds one where none is named
"""
import os
import shutil
import subprocess
import sys
import tempfile
import time
from configparser import ConfigParser
from pathlib import Path

ROOT = Path(__file__).parents[1]


def versions():
    "Those that the package is for."
    parser = ConfigParser(delimiters=["="], interpolation=None)
    parser.read(ROOT / "settings.ini", encoding="utf-8")
    return parser["DEFAULT"]["pythons"].split()


def found(version):
    "The Python of a version; None where there is none that starts."
    python = shutil.which(f"python{version}")
    if python is None or subprocess.run([python, "-V"], capture_output=True).returncode: return None
    return python


def run(*command, **how):
    "What a command printed; it must succeed."
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **how)
    if done.returncode: raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def build(folder):
    "A wheel of this tree."
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT)
    return next(folder.glob("*.whl"))


def tried(python, wheel, folder):
    "Seconds of the installation and of the main job in an environment of its own."
    room = folder / Path(python).name
    run(python, "-m", "venv", room / "venv")
    inside = next(place for place in (room / "venv" / "bin", room / "venv" / "Scripts") if place.is_dir())
    own = {**os.environ, "NUMBA_CACHE_DIR": str(room / "numba")}
    began = time.perf_counter()
    run(inside / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
    installed = time.perf_counter()
    said = run(inside / "uqcal", "validate", "demo", "--report", "report.html", cwd=room, env=own)
    ended = time.perf_counter()
    assert "VERDICT" in said and (room / "report.html").stat().st_size > 10_000
    run(inside / "python", "-m", "pip", "uninstall", "--quiet", "--yes", "--disable-pip-version-check", "uqcal")
    left = run(inside / "python", "-c", "import importlib.util as i; print(i.find_spec('uqcal'))", cwd=room).strip()
    assert left == "None", f"uninstalled, and still there: {left}"
    return installed - began, ended - installed


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        wheel = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else build(folder)
        at_hand = {version: found(version) for version in versions()}
        here = f"{sys.version_info.major}.{sys.version_info.minor}"
        if here in at_hand and at_hand[here] is None: at_hand[here] = sys.executable
        for version, python in at_hand.items():
            if python is None:
                print(f"Python {version}: not at hand")
                continue
            seconds = tried(python, wheel, folder)
            print(f"Python {version}: installed in {seconds[0]:.0f} s, the first verdict in {seconds[1]:.1f} s, uninstalled")
