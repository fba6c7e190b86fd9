"""What was found for some three hundred seeded inputs is found again, under the names of today (see tools/golden.py)."""
import sys

import notebooks
import pytest

sys.path.insert(0, str(notebooks.ROOT / "tools"))
import golden

STORED, CASES = dict(golden.stored()), dict(golden.cases())
FAST = list(CASES)[::12]


def test_every_case_is_stored():
    assert list(STORED) == list(CASES) and len(CASES) > 280 and sum(map(len, STORED.values())) > 20_000


@pytest.mark.parametrize("name", [name if name in FAST else pytest.param(name, marks=pytest.mark.slow) for name in CASES])
def test_what_was_found_is_found_again(name):
    assert not list(golden.differences(STORED[name], golden.found(CASES[name])[0]))


def test_what_was_not_found_is_noticed():
    old = STORED["validate biased 0"]
    number = next(key for key, value in old.items() if isinstance(value, float) and value)
    word = next(key for key, value in old.items() if key.endswith("status"))
    for key, value in ((number, old[number] * 1.001), (word, "another")): assert list(golden.differences(old, old | {key: value})) == [f"{key}: {old[key]} is now {value}"]
    assert list(golden.differences(old, {key: value for key, value in old.items() if key != word})) == [f"{word}: {old[word]} is now absent"]
