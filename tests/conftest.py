"""Settings for all tests: where compiled kernels are kept, what hypothesis draws, and which tests start first."""
import gc
import io
import os
import sys
import zlib
from pathlib import Path

import copied_workers
import pytest
import siblings
from hypothesis import HealthCheck, settings

# Before anything imports numba: kernels are compiled once for all notebooks and tests, and stay in the clone.
os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(__file__).resolve().parent.parent / ".cache" / "numba"))
os.environ.setdefault("MPLBACKEND", "agg")

# Tests share the cores, so each computes on one: two libraries that wait for each other's threads take minutes for seconds of work.
for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"): os.environ.setdefault(threads, "1")

# Every run draws the same examples, so that a change decides whether a test passes, and `make test-all` more than twice as many; HYPOTHESIS_PROFILE=search looks for new ones.
for name, examples in (("fixed", 25), ("long", 60)):
    settings.register_profile(name, derandomize=True, database=None, max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("search", max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


# Modules and collected tests last as long as the process, and are many: garbage is looked for less often, and not among them.
gc.set_threshold(50_000)


def pytest_collection_finish():
    gc.freeze()


def pytest_addoption(parser):
    parser.addoption("--copies", type=int, default=0, help="run the tests in so many copies of one process")


def pytest_configure(config):
    "Where a process can't be copied, workers of pytest-xdist take the tests."
    if config.option.copies and not copied_workers.possible(): config.option.numprocesses, config.option.dist = config.option.copies, "worksteal"


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session):
    ready = copied_workers.possible() and not session.testsfailed and not session.config.option.collectonly
    if session.config.option.copies > 1 and ready:
        copied_workers.run(session, session.config.option.copies)
        return True


@pytest.hookimpl(tryfirst=True)  # before slow ones are left out
def pytest_collection_modifyitems(items):
    "Slow tests and notebooks first: a worker that has finished takes tests from the end of another's list, and those are short."
    for item in items:
        if siblings.is_slow(item.nodeid): item.add_marker("slow")
    items.sort(key=lambda item: ("slow" not in item.keywords, "test_notebooks" not in item.nodeid, "test_house" not in item.nodeid))


@pytest.fixture(autouse=True)
def no_open_figures():
    "Each test begins without the figures of another."
    if "matplotlib.pyplot" in sys.modules: sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def undrawn(monkeypatch):
    "Pages whose pictures are empty, for tests of what stands around them: each takes a third of a second. test_report and test_every_report draw them."
    from matplotlib.figure import Figure
    drawn = Figure.savefig

    def save(figure, target, **options):
        if isinstance(target, io.StringIO): target.write('<svg xmlns="http://www.w3.org/2000/svg"/>')
        else: drawn(figure, target, **options)
    monkeypatch.setattr(Figure, "savefig", save)


@pytest.fixture(autouse=True)
def draws_of_its_own(request):
    "Each test of a module with a generator begins it afresh, so that no test depends on which ones ran before it in its process."
    if hasattr(request.module, "rng"):
        import numpy  # here, since it reads the number of threads when it is imported
        request.module.rng = numpy.random.default_rng(zlib.crc32(request.node.name.encode()))
