"""Loops are compiled when they are called and no sooner, go to other processes by name, and may stand in loops of a user."""
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from uqcal.kernels import elementwise, kernel
from uqcal.logistic import sigmoid
from uqcal.resampling import shuffle


@pytest.mark.parametrize("module", ["uqcal.validation", "uqcal.consistency", "uqcal.cumulative", "uqcal.walk"])
def test_an_import_loads_no_compiler(module):
    code = f"import sys, {module}; print(*[name for name in ('numba', 'scipy.stats', 'matplotlib') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


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
