"""Random signs of clusters in the comparison of a group with everyone: against a slow plain twin, and many clusters against few."""
import numpy as np
import pytest
from scipy.special import expit

from uqcal._chance.resampling import random_bits, shuffle_state
from uqcal.subgroups import against_everyone
from uqcal.subgroups.against_everyone import (_against_all, _borders, _population, _shares_against_all, _signs_against_all, _split_noise,
                                              _walk_size, subpopulation_graph)
from uqcal._subgroups.designs import Design, in_order
from uqcal._subgroups.steps import between_clusters


def clustered(n, n_clusters, seed, tied):
    "Outcomes with an offset for each cluster, scores, members, clusters and weights."
    rng = np.random.default_rng(seed)
    cluster = rng.integers(0, n_clusters, n)
    score = rng.normal(size=n).round(1) if tied else rng.normal(size=n)
    y = (rng.uniform(size=n) < expit(score + 0.7 * rng.normal(size=n_clusters)[cluster])) * 1.0
    return y, score, rng.uniform(size=n) < 0.2, cluster, rng.uniform(0.5, 2, n)


def prepared(y, score, member, cluster, weight):
    "The columns sorted as the comparison sorts them, with shares and design."
    everyone, order = _population(y, score, weight)
    code = np.unique(cluster, return_inverse=True)[1][order]
    member = member[order]
    at = np.lexsort((member, everyone.score))
    here, member = in_order(everyone, at), member[at]
    return here, member, _shares_against_all(here, member, np.unique(here.score[member])), Design(code[at], int(code.max()) + 1, np.empty((0, 0)), 0.0)


@pytest.mark.parametrize("tied", [False, True])
def test_each_draw_is_the_walk_of_responses_with_those_signs(tied):
    here, member, share, design = prepared(*clustered(600, 80, 3, tied))
    draw, columns = _signs_against_all(here, member, share, design)[0]
    line, error, split = columns[5:8]
    state = shuffle_state(np.random.default_rng(4))
    again = state.copy()
    found = draw(state, 20, *columns)
    for r in range(20):
        if r % 8 == 0:
            words = np.empty(design.n_clusters // 8 + 1, np.uint64)
            random_bits(words, again)
            byte = words.view(np.uint8)[:design.n_clusters]
        sign = 1.0 - 2 * ((byte >> (r % 8)) & 1)
        y = line + sign[design.cluster] * error
        own, variance = _split_noise(split, y)
        steps = _against_all(here.score, y, here.weight, variance, member)
        kuiper, largest, *_ = _walk_size(*steps[1:4])
        scale = between_clusters(share * own, design.cluster, design.n_clusters)
        np.testing.assert_allclose(found[r], [kuiper / scale, largest / scale, kuiper, largest, scale], rtol=1e-9)


def test_signs_are_fair_and_independent():
    words = np.empty(20_000, np.uint64)
    random_bits(words, shuffle_state(np.random.default_rng(1)))
    bits = np.unpackbits(words.view(np.uint8)).reshape(-1, 8) * 2.0 - 1
    assert abs(bits.mean()) * bits.size**0.5 < 4
    assert np.abs(bits.T @ bits / len(bits) - np.eye(8)).max() * len(bits)**0.5 < 4.5
    assert np.abs(np.mean(bits[1:] * bits[:-1], axis=0)).max() * len(bits)**0.5 < 4.5


def test_one_scale_for_many_clusters_says_what_each_draws_own_says(monkeypatch):
    "P-values of both ways differ by less than a tenth of themselves, and the noise of 9,999 draws."
    for seed in range(2):
        y, score, member, cluster, weight = clustered(6000, 2500, seed, False)
        y = np.where(member & (np.random.default_rng(seed).uniform(size=y.size) < 0.03), 1.0, y)
        found = []
        for many in (1, np.inf):
            monkeypatch.setattr(against_everyone, "_MANY_CLUSTERS", many)
            found.append(subpopulation_graph(y, score, member, groups=cluster, sample_weight=weight, method="signs", rng=seed).kuiper_pvalue)
        assert abs(found[0] - found[1]) <= 0.1 * found[1] + 5 * np.sqrt(found[1] / 9999)


def test_steps_end_between_scores():
    score = np.array([0.0, 1.0, 1.0, np.nextafter(1, 2), 3.0])
    here = np.unique(score)
    ends = np.searchsorted(score, _borders(here), "right")
    assert ends.tolist() == [1, 3, 4]
