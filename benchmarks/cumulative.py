"""What cumulative graphs cost: beside a sort of the scores, and beside the published construction in plain Python.

    python benchmarks/cumulative.py            a million members against seven hundred thousand, the drawing, a screen of two hundred groups
    python benchmarks/cumulative.py --small    the same with a hundredth of the points, and forty groups

The comparison graph must take at most twice numpy's stable argsort of all scores, with everything that the function does: checks,
sorting, blocks, the estimate of the noise, both p-values. The plain construction walks along the sorted scores and averages blocks
as the paper's five steps say; it has neither ties, nor weights, nor an estimate of the noise.

Exactness costs time in screens of small groups: where a pair has fewer than 500 effective steps, the limit is not believed and rows that seem significant
are shuffled. Two hundred groups of 5,000 are not shuffled; of two hundred groups of 500, 19,900 pairs, a screen takes some four minutes of processor time,
five hundred groups of 100 about as much. The forty of --small show it in seconds.
"""
import argparse
import io
import os
import sys
import time

from timing import seconds

os.environ.setdefault("MPLBACKEND", "agg")


def plain(response_a, score_a, response_b, score_b):
    "The published construction for distinct scores: merge, cut into alternating blocks, average, take differences, add up."
    import numpy as np
    score, response = np.concatenate([score_a, score_b]), np.concatenate([response_a, response_b])
    is_b = np.concatenate([np.zeros(score_a.size, bool), np.ones(score_b.size, bool)])
    order = np.argsort(score)
    response, is_b = response[order], is_b[order]
    means, sides, total, count = [], [], 0.0, 0
    for k in range(response.size):
        if k and is_b[k] != is_b[k - 1]:
            means.append(total / count)
            sides.append(is_b[k - 1])
            total, count = 0.0, 0
        total += response[k]
        count += 1
    means.append(total / count)
    sides.append(is_b[-1])
    differences = [(means[k + 1] - (means[k] + means[k + 2]) / 2) * (-1 if sides[k + 1] else 1) for k in range(len(means) - 2)]
    ordinate = np.concatenate([[0.0], np.cumsum(differences) / len(differences)])
    return np.ptp(ordinate), np.abs(ordinate).max()


def main(small):
    import numpy as np
    import pandas as pd

    from uqcal.subgroups.two_groups import comparison_graph
    from uqcal.subgroups.screening import screen
    rng, shrink = np.random.default_rng(1), 100 if small else 1
    score_a, score_b = rng.uniform(size=1_000_000 // shrink), rng.beta(2, 1, 700_000 // shrink)
    response_a, response_b = ((rng.uniform(size=s.size) < s).astype(float) for s in (score_a, score_b))
    data, scores = (response_a, score_a, response_b, score_b), np.concatenate([score_a, score_b])
    start = time.perf_counter()
    comparison_graph(*(column[:3000] for column in data))
    print(f"first call, with kernels compiled or loaded: {time.perf_counter() - start:.1f} s")
    sort, graph, slow = seconds(lambda: np.argsort(scores, kind="stable"), 5, clock=time.process_time), seconds(lambda: comparison_graph(*data), 5, clock=time.process_time), seconds(lambda: plain(*data), 1, clock=time.process_time)
    result = comparison_graph(*data)
    np.testing.assert_allclose((result.kuiper, result.kolmogorov_smirnov), plain(*data), rtol=1e-9)
    print(f"{scores.size:,} points, {result.n_steps:,.0f} steps")
    print(f"  numpy's stable argsort {1e3 * sort:8.1f} ms")
    print(f"  comparison_graph       {1e3 * graph:8.1f} ms   {graph / sort:.2f} × the argsort (at most 2)")
    print(f"  plain construction     {1e3 * slow:8.1f} ms   {slow / graph:.1f} × comparison_graph (at least 5)")

    def draw():
        buffer = io.BytesIO()
        ax = result.plot()
        ax.figure.savefig(buffer, format="svg")
        ax.figure.clear()
        return buffer.tell()

    size = draw()
    drawing = seconds(draw, 2, clock=time.process_time)
    print(f"  plot and SVG           {1e3 * drawing:8.1f} ms   {size / 1e3:.0f} kB (at most 1 s, 300 kB)")

    members, n_groups = (500, 40) if small else (5000, 200)
    score = rng.uniform(size=n_groups * members)
    frame = pd.DataFrame({"response": (rng.uniform(size=score.size) < score).astype(float), "score": score, "group": np.repeat(np.arange(n_groups), members)})
    names = dict(response="response", score="score", groups="group")
    screen(frame[frame["group"] < 3], **names)
    for jobs in sorted({1, min(2, os.cpu_count() or 1)}):
        for against, count in (("pairs", n_groups * (n_groups - 1) // 2), ("all", n_groups)):
            taken = seconds(lambda a=against, j=jobs: screen(frame, **names, reference=a, n_jobs=j, rng=1), 1)
            print(f"screen of {count:,} comparisons ({against}), {n_groups} groups of {members:,}, n_jobs={jobs}: {taken:.1f} s")
    failed = not small and (graph > 2 * sort or slow < 5 * graph or size > 300_000 or drawing > 1)
    print("a bound is not met" if failed else "all bounds met" if not small else "bounds are for the full size")
    return int(failed)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="a hundredth of the points, and forty groups")
    sys.exit(main(parser.parse_args().small))
