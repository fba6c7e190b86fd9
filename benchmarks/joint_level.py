"""How often does a whole answer show a fault where there is none? Right data of each kind, drawn again and again, with columns along which to ask.

    python benchmarks/joint_level.py                                    the stored shares, with 95 % limits
    python benchmarks/joint_level.py --sets 2000                        draws until each kind has 2,000 sets, and stores after every ten
    python benchmarks/joint_level.py --sets 2000 --kind "mean ± std"    that kind only; may be given several times
    python benchmarks/joint_level.py --sets 2000 --jobs 2               two processes, each of which draws one kind at a time

A run that is interrupted goes on where it stopped. Set number k of a kind is drawn from the seed (place of the kind, k), so that a set that
shows a fault can be looked at again: `one_set(kind, k)`. The promise is 5 % of sets for an answer as a whole. A stream promises one false alarm in
RUN_LENGTH outcomes, so that an alarm in ROWS of them may come in 5 % of the sets, too.
"""
import argparse
import functools
import multiprocessing
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

import uqcal

STORED = Path(__file__).resolve().parent.parent / "nbs" / "studies" / "joint_level.csv"
ROWS, RUN_LENGTH, BATCH = 600, 12_000, 10
LEVELS = np.array([0.05, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 0.95])


def columns(rng, n):
    "Two columns that outcomes know nothing of: a number, and names of four sites."
    return pd.DataFrame({"x": rng.uniform(0, 1, n), "site": rng.choice(list("abcd"), n, p=[0.4, 0.3, 0.2, 0.1])})


def noise(rng, n, form):
    "Errors in units of their standard deviation."
    if form == "t5": return rng.standard_t(5, n) / np.sqrt(5 / 3)
    if form == "skewed": return rng.exponential(size=n) - 1
    return rng.standard_normal(n)


def numbers(rng, n=ROWS, form="normal", u="continuous"):
    "Outcomes, predictions and standard deviations."
    mean = rng.uniform(0, 5, n)
    if u == "constant": std = np.full(n, 0.7)
    elif u == "three values": std = rng.choice([0.5, 1.0, 2.0], n)
    else: std = np.exp(0.5 * rng.standard_normal(n))
    return mean + std * noise(rng, n, form), mean, std


def mean_std(rng, form="normal", u="continuous"):
    "An answer about means and standard deviations."
    y, mean, std = numbers(rng, form=form, u=u)
    return uqcal.validate(y, uqcal.MeanStd(mean, std), by=columns(rng, ROWS), rng=rng)


def mean_std_clusters(rng):
    "Clusters of five rows whose errors share half of their variance."
    cluster = np.repeat(np.arange(ROWS // 5), 5)
    std = np.exp(0.5 * rng.standard_normal(ROWS))
    error = std * np.sqrt(0.5) * (rng.standard_normal(ROWS // 5)[cluster] + rng.standard_normal(ROWS))
    return uqcal.validate(error, uqcal.MeanStd(0, std), by=columns(rng, ROWS), groups=cluster, rng=rng)


def intervals(rng, levels=(0.9,), form="normal"):
    "An answer about intervals of one level or several."
    y, mean, std = numbers(rng, form=form)
    half = np.stack([std * stats.norm.ppf(0.5 + level / 2) for level in levels], 1)
    bounds = np.stack([mean[:, None] - half, mean[:, None] + half], 1)
    if len(levels) == 1: statement = uqcal.Intervals(bounds[..., 0], level=levels[0])
    else: statement = uqcal.Intervals(bounds, level=levels)
    return uqcal.validate(y, statement, by=columns(rng, ROWS), rng=rng)


def quantiles(rng, levels=LEVELS):
    "An answer about quantiles."
    y, mean, std = numbers(rng)
    values = mean[:, None] + std[:, None] * stats.norm.ppf(levels)
    return uqcal.validate(y, uqcal.Quantiles(values, levels), by=columns(rng, ROWS), rng=rng)


def quantiles_ahead(rng):
    "Forecasts three steps ahead, whose errors follow each other over as many rows."
    shocks = rng.standard_normal(ROWS + 2)
    error = (shocks[2:] + shocks[1:-1] + shocks[:-2]) / np.sqrt(3)
    values = np.broadcast_to(stats.norm.ppf(LEVELS), (ROWS, LEVELS.size))
    return uqcal.validate(error, uqcal.Quantiles(values, LEVELS), by=columns(rng, ROWS), horizon=3, in_time=True, rng=rng)


def samples(rng, members):
    "An answer about ensembles."
    y, mean, std = numbers(rng)
    values = mean[:, None] + std[:, None] * rng.standard_normal((ROWS, members))
    return uqcal.validate(y, uqcal.Samples(values), by=columns(rng, ROWS), rng=rng)


def distribution(rng):
    "An answer about normal distributions."
    y, mean, std = numbers(rng)
    return uqcal.validate(y, uqcal.Distribution(stats.norm(mean, std)), by=columns(rng, ROWS), rng=rng)


def events(rng, n=ROWS, offset=0.0):
    "Events and their probabilities."
    prob = 1 / (1 + np.exp(-(offset + 1.5 * rng.standard_normal(n))))
    return rng.random(n) < prob, prob


def probabilities(rng, offset=0.0, n=ROWS, digits=None, is_weighted=False):
    "An answer about probabilities."
    happened, prob = events(rng, n, offset)
    if digits is not None:
        prob = prob.round(digits)
        happened = rng.random(n) < prob
    weight = rng.choice([1.0, 2.0, 4.0], n) if is_weighted else None
    return uqcal.validate(happened, uqcal.Probabilities(prob), by=columns(rng, n), sample_weight=weight, rng=rng)


def probabilities_clusters(rng):
    "Clusters of five rows, events and probabilities of which go together."
    cluster = np.repeat(np.arange(ROWS // 5), 5)
    prob = stats.norm.cdf(rng.standard_normal(ROWS // 5))[cluster]
    shared = stats.norm.cdf(np.sqrt(0.5) * (rng.standard_normal(ROWS // 5)[cluster] + rng.standard_normal(ROWS)))
    return uqcal.validate(shared < prob, uqcal.Probabilities(prob), by=columns(rng, ROWS), groups=cluster, rng=rng)


def drawn_classes(rng, k):
    "Labels and the probabilities of k classes."
    prob = rng.dirichlet(np.full(k, 0.7), ROWS)
    prob = (prob + 0.01) / (1 + 0.01 * k)
    return (prob.cumsum(1) < rng.random((ROWS, 1))).sum(1).clip(max=k - 1), prob


def classes(rng, k):
    "An answer about the probabilities of k classes."
    label, prob = drawn_classes(rng, k)
    return uqcal.validate(label, uqcal.Probabilities(prob, classes=range(k)), by=columns(rng, ROWS), rng=rng)


def many_labels(rng):
    "An answer about three labels, each 0 or 1."
    prob = stats.norm.cdf(rng.standard_normal((ROWS, 3)))
    return uqcal.validate(rng.random((ROWS, 3)) < prob, prob, multilabel=True, rng=rng)


def label_sets(rng):
    "An answer about sets of one to four labels of five, nine in ten of which contain the label, whatever their size."
    label, size = rng.integers(0, 5, ROWS), rng.integers(1, 5, ROWS)
    order = rng.random((ROWS, 5))
    order[np.arange(ROWS), label] = np.where(rng.random(ROWS) < 0.9, -1.0, 2.0)
    held = order.argsort(1).argsort(1) < size[:, None]
    return uqcal.validate(label, uqcal.LabelSets(held, classes=range(5), level=0.9), by=columns(rng, ROWS), rng=rng)


def stream(rng, kind):
    "A stream in which nothing changes."
    if kind == "probabilities":
        happened, prob = events(rng)
        return uqcal.monitor(happened, uqcal.Probabilities(prob), run_length=RUN_LENGTH)
    if kind == "classes":
        label, prob = drawn_classes(rng, 4)
        return uqcal.monitor(label, uqcal.Probabilities(prob, classes=range(4)), run_length=RUN_LENGTH)
    y, mean, std = numbers(rng)
    if kind == "mean_std": statement = uqcal.MeanStd(mean, std)
    elif kind == "intervals": statement = uqcal.Intervals(mean - 1.645 * std, mean + 1.645 * std, level=0.9)
    elif kind == "samples": statement = uqcal.Samples(mean[:, None] + std[:, None] * rng.standard_normal((ROWS, 20)))
    else: statement = uqcal.Quantiles(mean[:, None] + std[:, None] * stats.norm.ppf(LEVELS), LEVELS)
    return uqcal.monitor(y, statement, run_length=RUN_LENGTH)


def two_models(rng, kind):
    "Each of two models knows one half of what is to be known, and says how much it does not know."
    one, other = rng.standard_normal((2, ROWS))
    std = np.exp(0.3 * rng.standard_normal(ROWS))
    if kind == "probabilities":
        happened = one + other + rng.standard_normal(ROWS) > 0
        models = {name: uqcal.Probabilities(stats.norm.cdf(known / np.sqrt(2))) for name, known in (("a", one), ("b", other))}
        return uqcal.compare_models(happened, models, rng=rng)
    y = std * (one + other + rng.standard_normal(ROWS))
    known = {"a": std * one, "b": std * other}
    left = np.sqrt(2) * std
    if kind == "mean_std": models = {name: uqcal.MeanStd(mean, left) for name, mean in known.items()}
    elif kind == "intervals": models = {name: uqcal.Intervals(mean - 1.645 * left, mean + 1.645 * left, level=0.9) for name, mean in known.items()}
    else: models = {name: uqcal.Quantiles(mean[:, None] + left[:, None] * stats.norm.ppf(LEVELS), LEVELS) for name, mean in known.items()}
    return uqcal.compare_models(y, models, rng=rng)


def equal_groups(rng, groups, is_event=True):
    "Groups with other scores, and outcomes that go with the score alone."
    group = rng.integers(0, groups, ROWS)
    score = 1 / (1 + np.exp(-(rng.standard_normal(ROWS) + group / groups)))
    if is_event: y = rng.random(ROWS) < score**1.3
    else: y = 3 * score + noise(rng, ROWS, "t5")
    return uqcal.compare_groups(y, score, by=group.astype(str), rng=rng)


KINDS = {
    "mean ± std": mean_std,
    "mean ± std, errors of t5": functools.partial(mean_std, form="t5"),
    "mean ± std, skewed errors": functools.partial(mean_std, form="skewed"),
    "mean ± std, u constant": functools.partial(mean_std, u="constant"),
    "mean ± std, u of three values": functools.partial(mean_std, u="three values"),
    "mean ± std, clusters of 5": mean_std_clusters,
    "intervals, 90 %": intervals,
    "intervals, 50, 80 and 95 %": functools.partial(intervals, levels=(0.5, 0.8, 0.95)),
    "9 quantiles": quantiles,
    "3 quantiles": functools.partial(quantiles, levels=np.array([0.1, 0.5, 0.9])),
    "9 quantiles, 3 steps ahead": quantiles_ahead,
    "20 members": functools.partial(samples, members=20),
    "5 members": functools.partial(samples, members=5),
    "distribution": distribution,
    "probabilities": probabilities,
    "probabilities, 2 % events, 2,000 rows": functools.partial(probabilities, offset=-5.0, n=2000),
    "probabilities, rounded to 0.1": functools.partial(probabilities, digits=1),
    "probabilities, weights": functools.partial(probabilities, is_weighted=True),
    "probabilities, clusters of 5": probabilities_clusters,
    "3 classes": functools.partial(classes, k=3),
    "10 classes": functools.partial(classes, k=10),
    "3 labels of 0 or 1": many_labels,
    "label sets": label_sets,
    "stream of mean ± std": functools.partial(stream, kind="mean_std"),
    "stream of intervals": functools.partial(stream, kind="intervals"),
    "stream of quantiles": functools.partial(stream, kind="quantiles"),
    "stream of 20 members": functools.partial(stream, kind="samples"),
    "stream of probabilities": functools.partial(stream, kind="probabilities"),
    "stream of 4 classes": functools.partial(stream, kind="classes"),
    "2 equal models, mean ± std": functools.partial(two_models, kind="mean_std"),
    "2 equal models, intervals": functools.partial(two_models, kind="intervals"),
    "2 equal models, quantiles": functools.partial(two_models, kind="quantiles"),
    "2 equal models, probabilities": functools.partial(two_models, kind="probabilities"),
    "2 equal groups, events": functools.partial(equal_groups, groups=2),
    "6 equal groups, events": functools.partial(equal_groups, groups=6),
    "6 equal groups, numbers": functools.partial(equal_groups, groups=6, is_event=False),
}


def one_set(kind, number):
    "The answer about one set."
    return KINDS[kind](np.random.default_rng([list(KINDS).index(kind), number]))


def shown(answer):
    "Names of the questions to which an answer shows a fault, an alarm of the uncorrected stream, or a difference."
    if hasattr(answer, "monitor"): return ["alarm"] if answer.alarms else []
    if answer.everywhere in ("minor", "invalid"): return [one.name for one in answer.findings if one.shows_fault]
    if getattr(answer, "outcome", "") in ("better", "differ"): return [answer.outcome]
    return []


def batch(kind, first, last):
    "For each set of a range: what it shows."
    return kind, [shown(one_set(kind, number)) for number in range(first, last)]


def read():
    "What is stored, by kind."
    if not STORED.exists(): return {}
    return {row["kind"]: row for row in pd.read_csv(STORED, keep_default_na=False, dtype={"questions": str, "first": str}).to_dict("records")}


def kept(stored, kind, found):
    "What is stored, with more sets of a kind."
    row = stored.get(kind, {"sets": 0, "faults": 0, "questions": "", "first": ""})
    counts = {name: int(count) for name, count in (one.rsplit(" × ", 1) for one in row["questions"].split("; ") if one)}
    for names in found:
        for name in dict.fromkeys(names): counts[name] = counts.get(name, 0) + 1
    seen = [*row["first"].split(), *(str(row["sets"] + place) for place, names in enumerate(found) if names)]
    stored[kind] = {"kind": kind, "sets": row["sets"] + len(found), "faults": row["faults"] + sum(bool(names) for names in found),
                    "questions": "; ".join(f"{name} × {count}" for name, count in sorted(counts.items())), "first": " ".join(seen[:10])}
    return {name: stored[name] for name in KINDS if name in stored}


def work(kind, wanted, results):
    "A process that draws one kind."
    done = read().get(kind, {"sets": 0})["sets"]
    while done < wanted:
        last = min(done + BATCH, wanted)
        results.put(batch(kind, done, last))
        done = last
    results.put((kind, None))


def draw(kinds, wanted, jobs):
    "Draw sets of these kinds, `jobs` processes at a time, and store them as they come."
    context = multiprocessing.get_context("spawn")
    results, waiting, running = context.Queue(), list(kinds), 0
    while waiting or running:
        while waiting and running < jobs:
            context.Process(target=work, args=(waiting.pop(0), wanted, results), daemon=True).start()
            running += 1
        kind, found = results.get()
        if found is None:
            running -= 1
            continue
        stored = kept(read(), kind, found)
        pd.DataFrame(stored.values()).to_csv(STORED, index=False, lineterminator="\n")
        print(f"{kind}: {stored[kind]['faults']} of {stored[kind]['sets']}", file=sys.stderr, flush=True)


def report():
    "The stored shares with exact 95 % limits."
    for kind, row in read().items():
        low = stats.beta.ppf(0.025, row["faults"], row["sets"] - row["faults"] + 1) if row["faults"] else 0.0
        high = stats.beta.ppf(0.975, row["faults"] + 1, row["sets"] - row["faults"]) if row["faults"] < row["sets"] else 1.0
        mark = "above 5 %" if low > 0.05 else ""
        print(f"{kind:40s} {row['sets']:6,} sets {100 * row['faults'] / row['sets']:5.1f} % [{100 * low:.1f}, {100 * high:.1f}] {mark:9s} {row['questions']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--sets", type=int, default=0, help="how many sets each kind is to have in all")
    parser.add_argument("--kind", action="append", choices=list(KINDS), help="one kind; all unless given")
    parser.add_argument("--jobs", type=int, default=1, help="kinds that are drawn at the same time")
    given = parser.parse_args()
    if given.sets: draw(given.kind or list(KINDS), given.sets, given.jobs)
    report()


if __name__ == "__main__": main()
