"""Loops are compiled when they are called and no sooner, go to other processes by name, and may stand in loops of a user."""
import ast
import inspect
import os
import pickle
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import notebooks
import numpy as np
from every_case import every_case
import pytest

from uqcal._base import kernels
from uqcal._base.kernels import _stand_for_the_same, elementwise, kernel
from uqcal._chance.logistic import sigmoid
from uqcal._chance.resampling import _draw_last, shuffle
from uqcal.errors import bias_limits


def test_an_import_loads_no_compiler():
    modules = "uqcal.errors.validation", "uqcal.statistics.consistency", "uqcal.subgroups.two_groups", "uqcal.probabilities.walk"
    code = "import sys\n" + "".join(f"import {module}\nprint(*['{module} loads ' + name for name in ('numba', 'scipy.stats', 'matplotlib') if name in sys.modules])\n" for module in modules)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [], done.stdout


def test_kernels_go_to_other_processes_by_name():
    for one in (shuffle, sigmoid):
        assert pickle.loads(pickle.dumps(one)) is one and len(pickle.dumps(one)) < 200
    assert sigmoid(np.array([[0.0], [-800.0]])).tolist() == [[0.5], [0.0]] and sigmoid(1) == sigmoid(1.0) < 0.74


def test_threads_that_need_a_kernel_at_once_share_one():
    made = []

    @elementwise
    def twice(x): return 2 * x

    @kernel
    def total(x):
        s = 0.0
        for one in x: s += twice(one)
        return s

    def call(_):
        value = total(np.arange(100.0))
        made.append(total.compiled)
        return value
    with ThreadPoolExecutor(8) as pool: assert set(pool.map(call, range(16))) == {9900.0}
    assert len({id(one) for one in made}) == 1


def test_division_by_zero_is_an_error_unless_asked_otherwise():
    @kernel
    def strict(a, b): return a / b

    @kernel(error_model="numpy")
    def ieee(a, b): return a / b
    with pytest.raises(ZeroDivisionError): strict(1.0, 0.0)
    assert ieee(1.0, 0.0) == np.inf


LOOPS = """import numpy as np
from uqcal._base.kernels import kernel
from uqcal._chance.resampling import _17, _19, _23, _32, _41, _45, _LOW_HALF, _draw_last
@kernel
def shuffle(values: np.ndarray, state: np.ndarray) -> None:
    "To be documented."
    _draw_last(values, values.size - 1, state)
"""


def defined(path, text, kept=True):
    "The kernels of a program."
    if kept: path.write_text(text)
    names = {"__name__": "__main__"}
    exec(compile(text, str(path), "exec"), names)
    return names


def test_a_program_that_defines_an_exported_kernel_gets_the_compiled_one(tmp_path):
    assert defined(tmp_path / "same.py", LOOPS)["shuffle"].compiled is shuffle.compiled
    both = defined(tmp_path / "both.py", LOOPS.replace(", _draw_last", "") + "\n" + inspect.getsource(_draw_last.__wrapped__))
    assert both["_draw_last"].compiled is _draw_last.compiled and both["shuffle"].compiled is shuffle.compiled


@pytest.mark.parametrize("old, new", [
    ("values.size - 1", "values.size - 2"),                                        # another constant
    ("@kernel", "@kernel(error_model='numpy')"),                                   # compiled in another way
    ("_draw_last\n@", "_draw_last\n_32 = np.uint64(31)\nINNER\n@"),               # a constant of a loop that it calls
    ("_draw_last\n@", "_draw_last\nINNER\n@"),                                   # a loop that it calls
    ("state: np.ndarray)", "state: np.ndarray, extra=1)"),                         # a default
    ("    _draw_last(", "    _ = [k for k in range(2)]\n    _draw_last("),          # a function inside
])
def test_a_kernel_that_was_changed_is_compiled_anew(old, new, tmp_path):
    inner = inspect.getsource(_draw_last.__wrapped__)
    if "_32 =" not in new: inner = inner.replace("i -= 1", "i -= 2")
    text = LOOPS.replace(old, new.replace("INNER", inner))
    assert defined(tmp_path / "other.py", text)["shuffle"].compiled is not shuffle.compiled


@every_case("here, there, alike", [(0.0, 0.0, True), (0.0, -0.0, False), (1, 1.0, False), (1, True, False), ((1, "a"), (1, "a"), True),
                                                ((1, 2), (1, 2, 3), False), ((np.zeros(2),), (np.zeros(2),), False), (np.zeros(2), np.zeros(2), False),
                                                (np.uint64(3), np.uint64(3), True), (np.uint64(3), np.int64(3), False), (np, np, True), (None, 0, False)])
def test_names_stand_for_the_same_where_the_compiled_loop_would_be_the_same(here, there, alike):
    "Numbers and texts of one type, tuples of them, and the very same thing; equal arrays are compiled anew, which costs time only."
    assert _stand_for_the_same(here, there) is alike


def test_another_mark_under_the_same_name_is_another_kernel(tmp_path):
    text = "import numpy as np\nfrom uqcal._base.kernels import {} as elementwise\n" + inspect.getsource(sigmoid.__wrapped__)
    found = [defined(tmp_path / f"{mark}.py", text.format(mark))["sigmoid"].compiled is sigmoid.compiled for mark in ("elementwise", "kernel")]
    assert found == [True, False]


def test_a_kernel_without_a_source_is_compiled(tmp_path):
    names = defined(tmp_path / "nowhere.py", "from uqcal._base.kernels import kernel\n@kernel\ndef sort_by_score(x): return x + 1\n", kept=False)
    assert names["sort_by_score"](1) == 2


@pytest.mark.parametrize("is_terminal, seconds, said", [(True, [0.5, 1.8, 3.0], 1), (True, [0.9, 0.9], 0), (False, [9.0], 0)])
def test_one_who_waits_at_a_terminal_is_told_once_that_loops_are_compiled(is_terminal, seconds, said, monkeypatch, capsys):
    class Nothing:
        def load_overload(self, *key): return None
        def save_overload(self, *form): pass

    clock = [0.0]
    for name in ("_begun", "_waited"): monkeypatch.setattr(kernels, name, [])
    monkeypatch.setattr(kernels.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal, raising=False)
    cache = kernels._forgiving(SimpleNamespace(FunctionCache=Nothing))()
    for one in seconds:
        cache.load_overload()
        cache.load_overload()   # a loop that it calls
        clock[0] += one / 2
        cache.save_overload()
        clock[0] += one / 2
        cache.save_overload()
    assert capsys.readouterr().err.count("compiling, once") == said


@pytest.mark.parametrize("n_groups", [4, 7, 30])
def test_weights_are_the_same_for_one_resample_and_for_many(n_groups):
    one, many = np.full(4, 5, dtype=np.uint64), np.full(4, 5, dtype=np.uint64)
    rows = np.empty((3, n_groups))
    for row in rows: bias_limits._draw_weights(row, one)
    np.testing.assert_array_equal(bias_limits._weights(3, n_groups, many), rows)
    assert one[0] == many[0]


SLOW_TO_COMPILE = {"np.diff", "np.unique", "np.median", "np.percentile", "np.quantile", "np.vstack", "np.column_stack"}
ONE_NUMBER = {"_plain_noise", "_peakedness", "local_variance", "_shuffled_q", "_walk"}  # each place of a part gets the same number, or is given its own


def exported_kernels():
    for path in sorted((notebooks.ROOT / "uqcal").rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and any(ast.unparse(mark).startswith(("kernel", "elementwise")) for mark in node.decorator_list): yield node


def test_kernels_leave_out_what_takes_the_compiler_seconds():
    "To assign an array to a part of another compiles how a wrong shape is told, for four seconds in each process; loops take a tenth."
    found, faults = list(exported_kernels()), []
    for one in found:
        for node in ast.walk(one):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in SLOW_TO_COMPILE: faults.append(f"{one.name}: {ast.unparse(node)}")
            if not isinstance(node, (ast.Assign, ast.AugAssign)) or one.name in ONE_NUMBER: continue
            targets = [part for target in (node.targets if isinstance(node, ast.Assign) else [node.target]) for part in (target.elts if isinstance(target, ast.Tuple) else [target])]
            parts = [part for part in targets if isinstance(part, ast.Subscript) and any(isinstance(inner, ast.Slice) for inner in ast.walk(part.slice))]
            if parts and not set(ast.unparse(node.value)) <= set("0123456789.-+(), ") and ast.unparse(node.value) not in ("True", "False", "np.nan"): faults.append(f"{one.name}: {ast.unparse(node)}")
    assert len(found) > 180 and not faults, faults


@pytest.mark.skipif(os.name != "posix", reason="files are locked so on POSIX only")
def test_who_comes_second_reads_what_the_first_has_compiled(tmp_path):
    import fcntl
    kept = []

    class Kept:
        cache_path, _impl = str(tmp_path), SimpleNamespace(filename_base="loop")
        def load_overload(self, *key): return kept[0] if kept else None
        def save_overload(self, form): kept.append(form)

    def compiled():
        time.sleep(0.3)
        kept.append("by the first")
        first.close()

    second = kernels._forgiving(SimpleNamespace(FunctionCache=Kept))()
    first = open(tmp_path / "loop.lock", "ab")
    fcntl.flock(first, fcntl.LOCK_EX)
    thread = threading.Thread(target=compiled)
    thread.start()
    assert second.load_overload("types") == "by the first" and not list(tmp_path.iterdir())
    thread.join()
    del kept[:]
    assert second.load_overload("types") is None and [file.name for file in tmp_path.iterdir()] == ["loop.lock"]
    second.save_overload("by the second")
    assert kept == ["by the second"] and not list(tmp_path.iterdir())
