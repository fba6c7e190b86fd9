"""The bank of mistakes of the study, in small sets: none is believed in all of them, and most are named for what they are."""
from pathlib import Path

import notebooks
import numpy as np
import pytest

from uqcal.causes import find_causes
from uqcal.conclusions import draw_conclusions
from uqcal.datasets import load_demo

STUDY = notebooks.read(Path(__file__).parent.parent / "nbs" / "studies" / "mistakes.ipynb")


def bank():
    "What the study's own cells define: the mistakes, and the sets that need no data."
    space = {"np": np}
    for begin in ("def some(", "def resampled(", "def made("):
        source = next(cell.source for cell in STUDY.cells if cell.cell_type == "code" and cell.source.startswith(begin))
        exec(source.split("\n\n\nsets =")[0].split("\n\nsets =")[0], space)
    return space


BANK = bank()
MISTAKES = BANK["MISTAKES"]
DEMO = load_demo()
SETS = {"demo": (DEMO.error, DEMO.uncertainty)} | BANK["made_sets"]()


@pytest.fixture(scope="module")
def judged():
    found = {}
    for mistake, (expected, spoil) in MISTAKES.items():
        for name, (error, uncertainty) in SETS.items():
            columns = spoil(error.copy(), uncertainty.copy(), np.random.default_rng(5))
            causes = find_causes(*columns)                       # without those that are possible only
            alike = {told for one in causes for told in (one.name, *one.also)}
            answers = draw_conclusions(*columns, n_boot=199, n_resamples=99, rng=1)
            status = {one.status for one in answers.values()}
            found[mistake, name] = (bool(expected) and not alike.isdisjoint(expected.split(", ")), status, causes)
    return found


def test_nothing_is_named_before_anything_is_spoilt():
    for name, (error, uncertainty) in SETS.items(): assert find_causes(error, uncertainty) == (), name


def test_the_bank_is_large_and_its_mistakes_change_nothing_that_they_are_given():
    assert len(MISTAKES) >= 40
    error, uncertainty = (values.copy() for values in SETS["normal, 300"])
    before = error.copy(), uncertainty.copy()
    for _, spoil in MISTAKES.values():
        e, u = spoil(error, uncertainty, np.random.default_rng(0))
        assert e.shape == u.shape and (u > 0).all()
    np.testing.assert_array_equal(error, before[0])
    np.testing.assert_array_equal(uncertainty, before[1])


def test_no_mistake_is_believed_everywhere(judged):
    for mistake in MISTAKES:
        seen = [judged[mistake, name] for name in SETS]
        assert any(status != {"valid"} or causes for _, status, causes in seen), mistake
        if mistake not in BANK["SUBTLE"]: assert any(status != {"valid"} for _, status, _ in seen), mistake


def test_at_least_thirty_mistakes_are_named_in_most_sets(judged):
    named = [mistake for mistake in MISTAKES if sum(judged[mistake, name][0] for name in SETS) >= 3]
    assert len(named) >= 42, sorted(set(MISTAKES) - set(named))


def test_sentences_end_and_rows_are_positions(judged):
    for (mistake, name), (_, _, causes) in judged.items():
        for one in causes:
            assert one.sentence.endswith(".") and "nan" not in one.sentence, (mistake, name, one.sentence)
            assert one.rows.dtype == np.int64 and (one.rows >= 0).all()
