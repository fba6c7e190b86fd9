"""Settings for all tests: where compiled kernels are kept, and which tests start first."""
import os
from pathlib import Path

# Before anything imports numba: kernels are compiled once for all notebooks and tests, and stay in the clone.
os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(__file__).resolve().parent.parent / ".cache" / "numba"))
os.environ.setdefault("MPLBACKEND", "agg")


def pytest_collection_modifyitems(items):
    "Slow tests and notebooks first, so that no worker begins a long one when the other has finished."
    items.sort(key=lambda item: ("slow" not in item.keywords, "test_notebooks" not in item.nodeid, "test_house" not in item.nodeid))
