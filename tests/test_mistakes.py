"""The bank of mistakes of the study, in small sets: none is believed in all of them, and most are named for what they are."""
from pathlib import Path

import notebooks
import numpy as np
import pytest
from published import diffusion

from uqcal.errors.causes import find_causes
from uqcal.errors.conclusions import draw_conclusions

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
DEMO = diffusion()
SETS = {"demo": (DEMO.error, DEMO.uncertainty)} | BANK["made_sets"]()


def spoilt(mistake, name):
    "The columns of a set with a mistake in them."
    return MISTAKES[mistake][1](*(values.copy() for values in SETS[name]), np.random.default_rng(5))


def is_believed(mistake, name):
    "Whether all questions about a spoilt set are answered with valid."
    answers = draw_conclusions(*spoilt(mistake, name), n_boot=199, n_resamples=99, rng=1)
    return {one.status for one in answers.values()} == {"valid"}


@pytest.fixture(scope="module")
def causes():
    "Of each mistake in each set, without those that are possible only."
    return {(mistake, name): find_causes(*spoilt(mistake, name)) for mistake in MISTAKES for name in SETS}


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


@pytest.mark.slow
def test_no_mistake_is_believed_everywhere(causes):
    smallest_first = sorted(SETS, key=lambda name: SETS[name][0].size)
    for mistake in MISTAKES:
        named = mistake in BANK["SUBTLE"] and any(causes[mistake, name] for name in SETS)
        assert named or not all(is_believed(mistake, name) for name in smallest_first), mistake


def test_at_least_thirty_mistakes_are_named_in_most_sets(causes):
    def is_named(mistake, name):
        told = {word for one in causes[mistake, name] for word in (one.name, *one.also)}
        return not told.isdisjoint(set(MISTAKES[mistake][0].split(", ")) - {""})

    named = [mistake for mistake in MISTAKES if sum(is_named(mistake, name) for name in SETS) >= 3]
    assert len(named) >= 42, sorted(set(MISTAKES) - set(named))


def test_sentences_end_and_rows_are_positions(causes):
    for (mistake, name), found in causes.items():
        for one in found:
            assert one.sentence.endswith(".") and "nan" not in one.sentence, (mistake, name, one.sentence)
            assert one.rows.dtype == np.int64 and (one.rows >= 0).all()
