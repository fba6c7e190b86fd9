"""What repeats is found, what was only rounded or sorted is left alone."""
import numpy as np
from every_case import every_case
import pytest
from sklearn.isotonic import IsotonicRegression

from published import diffusion

from uqcal.errors.causes import find_causes
from uqcal.statistics.consistency import consistency_test
from uqcal.errors.validation import validate_errors
from uqcal.sample.datasets import catalogue
from uqcal._sample.repeats import are_distinct, find_repeats, related_cases, related_groups, related_members, repeated_cases, repeats_of
from uqcal._sample.sample import Sample


def drawn(n, seed=1):
    rng = np.random.default_rng(seed)
    u = np.exp(0.5 * rng.standard_normal(n))
    return u * rng.standard_t(5, n), u, rng


@pytest.mark.parametrize("n", [30, 200, 3000])
def test_repeated_rows_are_counted_and_labelled(n):
    e, u, rng = drawn(n)
    again = rng.choice(n, max(6, n // 10), replace=False)
    order = rng.permutation(n + again.size)
    cases = {"twice": np.tile(np.arange(n), 2), "ten times": np.repeat(np.arange(n), 10), "a tenth again": np.append(np.arange(n), again)[order]}
    for name, row in cases.items():
        found = find_repeats(e[row], u[row])
        assert found.repeats == "rows" and found.repeated == row.size - n and found.is_suspect and found.sign == "rows", name
        assert np.unique(found.groups).size == n and all(np.unique(found.groups[row == k]).size == 1 for k in range(0, n, 7))
    again = find_repeats(e[cases["twice"]], u[cases["twice"]])
    assert consistency_test(e[cases["twice"]], u[cases["twice"]], groups=again.groups, n_resamples=99, rng=1).n_groups == n


@pytest.mark.parametrize("n", [60, 2000])
def test_repeats_in_other_columns_are_named(n):
    e, u, rng = drawn(n)
    other = find_repeats(np.append(e, -e), np.append(u, u * np.exp(0.1 * rng.standard_normal(n))))
    assert other.repeats == "absolute errors" and other.repeated == n and np.array_equal(other.groups[:n], other.groups[n:])
    units = find_repeats(np.append(e, 27.2114 * e), np.append(u, 27.2114 * u))
    assert units.repeats == units.sign == "scaled errors" and units.repeated == units.facts["repeated"] == n
    assert np.array_equal(units.groups[:n], units.groups[n:])


def test_rounded_rows_that_repeat_are_found_beyond_those_of_chance():
    e, u, rng = drawn(400)
    e, u = e.round(2), np.maximum(u.round(2), 0.01)
    order = rng.permutation(800)
    assert find_repeats(np.tile(e, 2)[order], np.tile(u, 2)[order]).repeats == "rows"
    assert find_repeats(e, u).repeats is None


@pytest.mark.parametrize("kind", ["continuous", "decimals", "digits", "unit", "difference", "steps", "zeros", "float32"])
@pytest.mark.slow
def test_honest_rows_are_suspected_once_in_a_hundred(kind):
    rng, found = np.random.default_rng(3), []
    for n in (10, 40, 150, 600):
        for k in range(100 if n < 600 else 50):
            u = np.exp((0.2, 0.5, 1.0)[k % 3] * rng.standard_normal(n))
            e, d = u**(0.7, 1, 1.3)[k % 3] * rng.standard_t(5, n), 1 + k % 3
            if kind in ("decimals", "unit", "difference"): rounded_u = np.maximum(u.round(d), 10.0**-d)
            if kind == "decimals": e, u = e.round(d), rounded_u
            elif kind == "unit": e, u = 27.2114 * e.round(d), 27.2114 * rounded_u
            elif kind == "difference":
                y = 5 * rng.standard_normal(n)
                e, u = (y + e).round(d) - y.round(d), rounded_u
            elif kind == "digits": e, u = (np.array([float(f"{x:.{d}g}") for x in column]) for column in (e, u))
            elif kind == "steps": u = np.sort(u)[(np.argsort(np.argsort(u)) // 5) * 5]
            elif kind == "zeros": e, u = np.where(rng.random(n) < 0.3, 0, e), np.maximum(u, np.median(u))
            elif kind == "float32": e, u = (column.astype("f4").astype(float) for column in (e, u))
            found.append(find_repeats(e, u).is_suspect)
    assert np.mean(found) <= 0.0115  # four of 350


@pytest.mark.parametrize("by", ["uncertainty", "error", "size", "scaled", "scaled size"])
def test_a_sorted_file_has_similar_neighbours_of_which_nothing_is_said(by):
    e, u, _ = drawn(500)
    order = np.argsort({"uncertainty": u, "error": e, "size": abs(e), "scaled": e / u, "scaled size": abs(e / u)}[by])
    for rows in (order, order[::-1]):
        found = find_repeats(e[rows], u[rows])
        assert not found.is_suspect and found.lag is found.pvalue is found.correlation is None


def test_similar_neighbours_and_blocks_are_found():
    rng = np.random.default_rng(4)
    u, own = np.exp(0.5 * rng.standard_normal(1000)), rng.standard_normal(200)
    noise = rng.standard_normal(1000)
    beside = find_repeats(u * (np.repeat(own, 5) + noise), u)
    assert beside.lag == 1 and beside.correlation > 0.2 and beside.pvalue < 1e-6 and beside.groups is None and beside.sign == "neighbours"
    blocks = find_repeats(u * (np.tile(own, 5) + noise), u)
    assert blocks.lag % 200 == 0 and np.array_equal(blocks.groups, np.arange(1000) % blocks.lag) and blocks.sign == "blocks" and blocks.facts["lag"] == blocks.lag
    sizes = find_repeats(u * noise * np.exp(np.repeat(own, 5)), u)  # only |Z| is alike
    assert sizes.lag == 1 and sizes.is_suspect


def test_uncertainties_that_resemble_those_of_neighbours_do_no_harm():
    rng = np.random.default_rng(5)
    found = []
    for _ in range(60):
        u = np.exp(np.convolve(rng.standard_normal(820), np.ones(20) / 5, "valid")[:800])
        found.append(find_repeats(u**1.2 * rng.standard_normal(800), u).is_suspect)  # inconsistent, but independent
    assert np.mean(found) <= 0.05


def test_the_demo_is_suspect_and_small_files_are_not_judged():
    demo = diffusion()
    found = repeats_of(demo)
    assert found.lag == 1 and found.correlation == pytest.approx(0.09, abs=0.01) and found.pvalue < 0.001 and found.groups is None
    assert demo.groups is None and catalogue().loc["Diffusion_RF", "rows"].startswith("five for each of 408")
    assert not find_repeats([1.0], [1.0]).is_suspect and not find_repeats(np.zeros(50), np.ones(50)).is_suspect
    assert find_repeats([1.0, 2], [1.0, 1]).sign is None


def discrete(kind, n, rng):
    "Independent rows of counts, or their logarithms, predicted by a tree with a leaf for some 25 rows."
    mean = np.exp(0.6 * rng.standard_normal(max(4, n // 25)) + 1.3)
    leaf = rng.integers(mean.size, size=n)
    y, training = rng.poisson(mean[leaf]).astype(float), rng.poisson(mean, (40, mean.size)).astype(float)
    if kind == "logarithms of counts": y, training = np.log1p(y), np.log1p(training)
    if kind == "rounded predictions": training = training.round()
    predicted = training.mean(axis=0).round(3 if kind == "rounded predictions" else 15)
    return y - predicted[leaf], (training.std(axis=0) + 0.1)[leaf]


@pytest.mark.parametrize("kind", ["counts", "logarithms of counts", "rounded predictions"])
def test_discrete_rows_that_coincide_are_not_counted_once(kind):
    "All of these were counted once: a row for each leaf and count."
    told = []
    for n in (60, 300, 1000):
        for k in range(5):
            e, u = discrete(kind, n, np.random.default_rng([n, k]))
            found = find_repeats(e, u)
            assert found.groups is None and "duplicate_rows" not in [one.name for one in find_causes(e, u)], (n, k)
            assert not found.is_suspect or found.repeats == "rows" and found.sign == "equal rows"
            told.append(found.is_suspect)
            twice = find_repeats(np.tile(e, 2), np.tile(u, 2))
            assert twice.repeats == "rows" and np.array_equal(twice.groups[:n], twice.groups[n:])
    assert np.mean(told) < 0.5


def test_logarithms_of_counts_around_one_prediction_are_no_repeated_errors():
    rng = np.random.default_rng(0)
    for n in (100, 1000):
        y = np.log1p(rng.poisson(np.exp(rng.normal(1.5, 0.7, n))))
        assert not find_repeats(y - y.mean(), np.exp(0.3 * rng.normal(size=n))).is_suspect


def test_a_pasted_stretch_is_a_copy_whatever_its_values():
    e, u = discrete("counts", 1000, np.random.default_rng(1))
    row = np.append(np.arange(1000), np.arange(300, 500))
    found = find_repeats(e[row], u[row])
    assert found.repeats == "rows" and np.array_equal(found.groups[1000:], found.groups[300:500])
    assert "duplicate_rows" in [one.name for one in find_causes(e[row], u[row])]


@pytest.mark.parametrize("kind", ["forest", "leaves", "sure", "isotonic"])
def test_cases_that_share_probabilities_are_no_copies(kind):
    "Shares of trees, leaves with rates of their own, sure and overconfident ones, steps fitted to the outcomes: no label in 60 sets each."
    for seed in range(60):
        rng = np.random.default_rng([seed, 5])
        n = (100, 300, 1000)[seed % 3]
        true = rng.beta(0.3, 0.5, n) if kind == "sure" else rng.uniform(0, 1, n)
        if kind == "leaves": true = rng.beta(0.4, 0.4, 60)[rng.integers(60, size=n)]
        y = (rng.random(n) < true).astype(float)
        p = {"forest": (true * 100).round() / 100, "sure": np.clip(1.6 * (true - 0.5) + 0.5, 0, 1).round(3)}.get(kind, true)
        if kind == "isotonic": p = IsotonicRegression().fit_transform(true, y)
        labels, caution = repeated_cases(y, p)
        assert labels is None and (caution is None or caution.code != "cases_in_blocks")


def test_cases_that_are_copies_are_known():
    rng = np.random.default_rng(2)
    p = rng.uniform(0, 1, 400)
    y = (rng.random(400) < p).astype(float)
    for rows in (np.tile(np.arange(400), 2), rng.permutation(np.repeat(np.arange(400), 3)), np.append(np.arange(400), rng.choice(400, 50, replace=False))):
        labels, caution = repeated_cases(y[rows], p[rows])
        assert np.unique(labels).size == 400 and np.unique(np.column_stack([labels, rows]), axis=0).shape[0] == 400 and caution.decides
        if caution.code == "cases_in_blocks": assert caution.facts == {"rows": 400, "times": 2}
        else: assert caution.code == "cases_copied" and caution.facts == {"again": rows.size - 400, "n": rows.size}


def test_errors_over_many_decades_are_not_taken_for_repeats():
    "Mutation: all sizes rounded to 1e-12 of the median, of which what is smaller becomes zero."
    rng = np.random.default_rng(1)
    u = 10**rng.uniform(-12, 12, 1000)
    error = u * rng.standard_normal(1000)
    assert np.unique(np.abs(error)).size == 1000 and repeats_of(Sample(error, u)).repeats is None
    again = np.r_[error[:100], error]
    assert repeats_of(Sample(again, np.r_[u[:100], u])).repeated == 100


@pytest.mark.parametrize("stated", ["one", "two", "many"])
def test_neighbours_are_found_whatever_the_uncertainties(stated):
    "Equal uncertainties are in no order, least of all that of the file. Mutation: the running mean over equal ones as they stand in the file."
    found = 0
    for seed in range(20):
        rng = np.random.default_rng([seed, 44])
        slow = np.zeros(400)
        for t in range(1, 400): slow[t] = 0.9 * slow[t - 1] + 0.19**0.5 * rng.standard_normal()
        u = {"one": np.ones(400), "two": rng.choice([1.0, 2.0], 400), "many": np.exp(0.4 * rng.standard_normal(400))}[stated]
        found += find_repeats((0.6 * slow + 0.8 * rng.standard_normal(400)) * u, u).is_suspect
    assert found >= 16


def visits(rng, repeats, is_binary=True):
    "Members of four groups that do not differ, `repeats` rows of each in succession, with something of their own."
    who = np.repeat(np.arange(1000 // repeats), repeats)
    score, group = rng.standard_normal(who.size), rng.integers(4, size=who[-1] + 1)[who]
    level = score + (2 * rng.standard_normal(who[-1] + 1)[who] if repeats > 1 else 0)
    if is_binary: return (rng.random(who.size) < 1 / (1 + np.exp(-level))) * 1.0, score, group
    return level + rng.standard_normal(who.size), score, group


@pytest.mark.parametrize("is_binary", [True, False])
def test_members_that_resemble_their_neighbours_are_found_in_any_order_of_groups(is_binary):
    "Mutation: the running mean over all members, in whatever group, or none: sorted by group, unlike groups would look alike."
    for seed in range(20):
        rng = np.random.default_rng([seed, 71])
        response, score, group = visits(rng, 5, is_binary)
        for rows in (np.arange(1000), np.argsort(group, kind="stable")):
            labels, caution = related_members(response[rows], score[rows], group[rows])
            assert labels is not None and np.unique(labels).size == caution.facts["blocks"] >= 20
            assert caution.code == "members_correlated"


@every_case("by", ["nothing", "group", "score", "response", "group and score", "group and response"])
def test_members_that_are_unrelated_are_left_alone_however_the_file_is_sorted(by):
    "Groups differ, and responses rise with the score. Chance: one file of a thousand and kind. Mutation: no test for order."
    found = 0
    for seed in range(60):
        rng = np.random.default_rng([seed, 72])
        response, score, group = visits(rng, 1, seed % 2 == 0)
        response = response + 2 * (group == 0) if seed % 2 else np.where(group == 0, 1.0 * (rng.random(1000) < 0.9), response)
        keys = {"group": group, "score": score, "response": response}
        rows = np.lexsort([keys[name] for name in reversed(by.split(" and "))]) if by != "nothing" else np.arange(1000)
        found += related_members(response[rows], score[rows], group[rows]) != (None, None)
    assert found <= 1


def test_rows_that_share_an_uncertainty_are_told_only_where_they_are_alike():
    "Mutation: bins of five rows taken for conformers, a bias along u taken for likeness, or conformers whose rows were shuffled left without a word."
    rng = np.random.default_rng(1)
    molecule = rng.permutation(np.repeat(np.arange(200), 5))
    u, own, shared = np.exp(0.5 * rng.standard_normal(200))[molecule], rng.standard_normal(1000), rng.standard_normal(200)[molecule]
    found = find_repeats(u * (0.6 * shared + 0.8 * own), u)
    assert found.repeats == "uncertainties" and found.groups is None and found.sign == "uncertainties" and found.facts["correlation"] > 0.1 and found.facts["pvalue"] < 1e-3
    for z in (own, own + 0.5 * np.log(u)): assert not find_repeats(u * z, u).is_suspect


def test_two_files_of_unlike_errors_are_no_blocks_and_a_stack_is():
    "Mutation: a far lag named although rows beside it are as much alike, in 4 of 40 files; or the far lag of a stacked file lost."
    far = 0
    for seed in range(40):
        e, u, _ = drawn(600, seed)
        found = find_repeats(np.where(np.arange(600) < 300, 1, 2) * e, u)
        far += found.sign == "blocks"
    assert far == 0
    e, u, rng = drawn(700)
    found = find_repeats(np.tile(u, 3) * (0.6 * rng.standard_normal(2100) + 0.8 * np.tile(e / u, 3)), np.tile(u, 3))
    assert found.lag == 700 and found.sign == "blocks"


def panel(rng, persons=300, months=12):
    "Right chances of the same persons month after month, each of whom has a level of his own."
    q = rng.beta(1.5, 4, persons).clip(0.01, 0.99)
    own, p = rng.beta(2 * q, 2 * (1 - q)), 1 / (1 + np.exp(-np.log(q / (1 - q)) - 0.1 * rng.standard_normal((months, persons))))
    return ((rng.random(p.shape) < own) * 1.0).ravel(), p.ravel()


@pytest.mark.parametrize(("persons", "months"), [(300, 12), (60, 12), (300, 4)])
def test_a_file_that_holds_the_same_cases_again_has_its_period(persons, months):
    "Twelve files each. Mutation: only neighbours are compared, so nothing is found."
    for seed in range(12):
        labels, caution = related_cases(*panel(np.random.default_rng([seed, 81]), persons, months))
        assert caution.code == "cases_periodic" and caution.facts == {"period": persons, "times": months}, seed
        assert np.array_equal(labels, np.arange(persons * months) % persons)


@pytest.mark.parametrize(("kind", "n_sets"), [("right", 300), ("rare", 300), pytest.param("right", 2000, marks=pytest.mark.slow), pytest.param("rare", 2000, marks=pytest.mark.slow)])
def test_unrelated_cases_are_taken_for_related_six_times_in_a_thousand(kind, n_sets):
    "Four checks at .001 each, some half of it used; 1,500 sets had .0 to .6 %. Mutation: the normal tail, where outcomes are rare."
    found = 0
    for seed in range(n_sets):
        rng, n = np.random.default_rng([seed, 82]), (240, 360, 600, 1000)[seed % 4]
        p = rng.beta(1.5, 4, n) if kind == "right" else rng.beta(1, 9, n)
        found += related_cases((rng.random(n) < p) * 1.0, p)[1] is not None
    assert found <= n_sets * 0.006 + 3 * (n_sets * 0.006)**0.5, found


def test_members_that_come_again_month_after_month_are_clusters():
    "Ten months of 240 members. Mutation: only neighbours are compared."
    for seed in range(5):
        rng = np.random.default_rng([seed, 83])
        own, group = 1.5 * rng.standard_normal(240), rng.integers(3, size=240)
        score = rng.standard_normal((10, 240))
        y = (rng.random(score.shape) < 1 / (1 + np.exp(-score - own))) * 1.0
        labels, caution = related_members(y.ravel(), score.ravel(), np.tile(group, 10))
        assert caution.code == "members_periodic" and np.array_equal(labels, np.arange(2400) % 240)


def calm_and_stormy(rng, n, a=0.1, b=0.85):
    "Errors of a GARCH(1, 1) series whose mean square is that stated, in order of time."
    h, z, noise = 1.0, np.empty(n + 200), rng.standard_normal(n + 200)
    for t in range(n + 200):
        z[t] = h**0.5 * noise[t]
        h = 1 - a - b + a * z[t]**2 + b * h
    u = np.exp(0.5 * rng.standard_normal(n))
    return u * z[200:], u


def test_calm_and_stormy_times_are_found_and_counted_by_stretches():
    "Forty series of 1,000: lags 1 to 3 alone find a third. Mutation: no sum over lags 1 to 20."
    found = [find_repeats(*calm_and_stormy(np.random.default_rng([seed, 84]), 1000)) for seed in range(40)]
    assert sum(one.is_suspect for one in found) >= 32 and any(one.sign == "nearby" for one in found)
    result = validate_errors(*calm_and_stormy(np.random.default_rng([1, 84]), 1000), statistics=("zms",), n_boot=99, n_resamples=99, n_mc=20, rng=1)
    assert result.cautions[0].code == "stretches_as_groups" and result.settings["groups"] == 25


def laboratories(rng, offset, laboratories=20, molecules=10, rows=2):
    "Errors, uncertainties and molecules, in the order of laboratories that share an offset."
    where, n = np.repeat(np.arange(laboratories), molecules * rows), laboratories * molecules * rows
    u = np.exp(0.5 * rng.standard_normal(n))
    z = offset * rng.standard_normal(laboratories)[where] + (1 - offset**2)**0.5 * rng.standard_normal(n)
    return Sample(u * z, u, np.repeat(np.arange(laboratories * molecules), rows))


def test_groups_that_are_too_fine_are_found_and_right_ones_are_not():
    "Forty tables with an offset of half of u, 200 without; level .005. Mutation: groups that are given silence the check."
    found = [related_groups(laboratories(np.random.default_rng([seed, 85]), 0.5)) is not None for seed in range(40)]
    alarms = [related_groups(laboratories(np.random.default_rng([seed, 86]), 0.0)) is not None for seed in range(200)]
    assert sum(found) >= 28 and sum(alarms) <= 4


def test_distinct_values_are_told_as_by_sorting_them():
    rng = np.random.default_rng(5)
    for n in (1, 2, 30, 500, 16_384, 40_000):
        for digits in (0, 2, 15):
            values = rng.normal(size=n).round(digits)
            assert are_distinct(values) == (np.sum(np.diff(np.sort(values)) == 0) < 2), (n, digits)
    assert not are_distinct(np.array([0.0, -0.0, 0.0])) and are_distinct(np.array([1.0, 1.0, 2.0]))
    for seed in range(20):  # of many, one in a thousand is seen, whichever rows they are
        values = np.random.default_rng(seed).normal(size=200_000)
        assert are_distinct(values)
        values[rng.choice(200_000, 200, replace=False)] = values[rng.choice(200_000, 200, replace=False)]
        assert not are_distinct(values)
