"""Copies of one process run each test once, and a copy that dies fails its test and no other; and a test of many cases names all that fail."""
import os
import subprocess
import sys
from pathlib import Path

import copied_workers
import pytest
from every_case import every_case

TESTS = '''
import os, warnings
import pytest

@pytest.mark.parametrize("k", range(8))
def test_passes(k, tmp_path): (tmp_path / "x").touch()

def test_fails():
    print("said before")
    assert 1 + 1 == 3

def test_dies(): os._exit(3)
def test_warns(): warnings.warn("look here")
def test_skips(): pytest.skip("not today")
'''


@pytest.mark.skipif(not copied_workers.possible(), reason="processes are not copied here")
def test_each_test_runs_once_and_a_copy_that_dies_fails_its_test(tmp_path):
    (tmp_path / "test_some.py").write_text(TESTS)
    done = subprocess.run([sys.executable, "-m", "pytest", "-p", "conftest", "--copies", "2", "-rA", "test_some.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300,
                          env=os.environ | {"PYTHONPATH": str(Path(__file__).parent)})
    assert done.returncode == 1 and "2 failed, 9 passed, 1 skipped" in done.stdout and "look here" in done.stdout, done.stdout + done.stderr
    for said in ("assert (1 + 1) == 3", "said before", "test_dies ended with 3", "look here", "not today"): assert said in done.stdout, said


def test_a_test_of_many_cases_names_each_that_fails():
    tried = []

    @every_case("a, b", [(1, 2), (2, 2), (3, 4)])
    def test(a, b):
        tried.append(a)
        if a == 3: pytest.fail("three")
        assert a == b

    with pytest.raises(AssertionError, match=r"2 of 3 cases fail:\na=1, b=2: AssertionError (.|\n)*a=3, b=4: Failed three"): test()
    assert tried == [1, 2, 3]
