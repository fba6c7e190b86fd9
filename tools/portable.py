"""Run tests as other processors compute them: `python tools/portable.py [PROCESSOR ...] [fast] [TEST ...]`.

Without a processor, under each that this machine can stand in for; without a test, the numeric ones, and with `fast` those of
them that take seconds."""
import os
import subprocess
import sys
from pathlib import Path

from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

ROOT = Path(__file__).resolve().parent.parent
SCALAR = {"NPY_DISABLE_CPU_FEATURES": " ".join(name for name in __cpu_dispatch__ if __cpu_features__.get(name))}  # numpy's loops without wide vectors
ONE_CORE = {"OPENBLAS_NUM_THREADS": "1"}  # long products are added in one piece
PLAIN_LIBM = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4"}  # exp, log and pow of the C library without fused multiply-adds

# What each is made of, and the feature without which it can't be tried. "oldest" is furthest from a recent processor.
PROCESSORS = {
    "oldest": ("SSE3", {"OPENBLAS_CORETYPE": "Prescott", "NUMBA_CPU_NAME": "generic"} | SCALAR | PLAIN_LIBM | ONE_CORE),
    "Prescott": ("SSE3", {"OPENBLAS_CORETYPE": "Prescott"}),
    "Haswell": ("AVX2", {"OPENBLAS_CORETYPE": "Haswell"}),
    "Zen": ("AVX2", {"OPENBLAS_CORETYPE": "Zen"}),
    "SkylakeX": ("AVX512_SKX", {"OPENBLAS_CORETYPE": "SkylakeX"}),
    "generic": (None, {"NUMBA_CPU_NAME": "generic"} | SCALAR),
}
NOT_NUMERIC = ("test_house", "test_notebooks", "test_cli", "test_report", "test_calibration_report", "test_streams", "test_datasets", "test_simref_figures")
NOT_FAST = ("test_advice", "test_conclusions", "test_designs", "test_golden", "test_mistakes", "test_rates", "test_recalibrate_state", "test_refusals", "test_regression_properties",
            "test_river", "test_runs", "test_tickets")


def numeric_tests(left_out):
    "Test files about numbers, not about pages, commands and files."
    return [str(path.relative_to(ROOT)) for path in sorted((ROOT / "tests").glob("test_*.py")) if not path.stem.startswith(left_out)]


def passes(name, tests):
    "Whether tests pass on a processor; it is left out where this machine can't stand in for it."
    needs, settings = PROCESSORS[name]
    if needs and not __cpu_features__.get(needs):
        print(f"== {name}: left out, this machine has no {needs}", flush=True)
        return True
    print(f"== {name}", flush=True)
    kernels = ROOT / ".cache" / ("numba-generic" if "NUMBA_CPU_NAME" in settings else "numba")
    command = [sys.executable, "-m", "pytest", "--no-header", "--quiet", "--copies", os.environ.get("WORKERS", "3"), *tests]
    return subprocess.run(command, cwd=ROOT, env=os.environ | settings | {"NUMBA_CACHE_DIR": str(kernels)}).returncode == 0


if __name__ == "__main__":
    names = [word for word in sys.argv[1:] if word in PROCESSORS]
    tests = [word for word in sys.argv[1:] if word not in PROCESSORS and word != "fast"]
    numeric = numeric_tests(NOT_NUMERIC + NOT_FAST * ("fast" in sys.argv[1:]))
    sys.exit(not all([passes(name, tests or numeric) for name in names or PROCESSORS]))
