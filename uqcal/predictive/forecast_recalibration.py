from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import optimize, stats
from sklearn.base import clone
from uqcal._base.inputs import (check_count, check_fraction, check_generator, check_labels_agree,
                                read_labels)
from uqcal._base.results import json_plain, new_axes
from uqcal._base.tickets import Storable
from uqcal._words import predictive_corrections as words
from uqcal.corrections.error_recalibration import random_folds
from uqcal.reports import Caution, Finding, Report, Step
from uqcal.statements import Distribution, Quantiles, Samples, Statement, read_statement

# matplotlib is imported where a figure is drawn: a script that draws none starts faster
if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import Self


_MOST = 8.0  # scores beyond which a PIT is 0 or 1, and which no line is drawn by
_FARTHEST = 1e6  # scores beyond which no outcome is placed
_DENSE = (np.arange(50) + 0.5) / 50  # levels by which a distribution is scored
_CELLS = 64  # of equal probability, in which PITs of a distribution are counted


def _tails(values, score, unit):
    "How far each row's curve rises with the score, below its first and above its last point."
    gap = np.diff(values, axis=1) / np.diff(score)
    whole = (values[:, -1] - values[:, 0]) / (score[-1] - score[0])
    whole = np.where(whole > 0, whole, unit)
    return np.where(gap[:, 0] > 0, gap[:, 0], whole), np.where(gap[:, -1] > 0, gap[:, -1], whole)


def _curve(values, score, at, unit):
    "Each row's curve at the same scores, shape (n, number of scores); it never falls."
    place = np.clip(np.searchsorted(score, at), 1, score.size - 1)
    share = (at - score[place - 1]) / (score[place] - score[place - 1])
    first, last = values[:, place - 1], values[:, place]
    made = np.where(share == 1, last, first + share * (last - first))
    left, right = _tails(values, score, unit)
    made = np.where(at < score[0], values[:, :1] - left[:, None] * (score[0] - at), made)
    made = np.where(at > score[-1], values[:, -1:] + right[:, None] * (at - score[-1]), made)
    return np.maximum.accumulate(made, axis=1)


def _scores(values, score, y, unit, floor, rng):
    "Where each row's curve meets its outcome; at random where it meets it on a stretch."
    rows, q = np.arange(y.size), score.size
    below, upto = (values < y[:, None]).sum(axis=1), (values <= y[:, None]).sum(axis=1)
    after = np.clip(below, 1, q - 1)
    first, last = values[rows, after - 1], values[rows, after]
    share = (y - first) / np.where(last > first, last - first, 1.0)
    z = score[after - 1] + share * (score[after] - score[after - 1])
    left, right = _tails(values, score, unit)
    with np.errstate(over="ignore"):
        z = np.where(upto == 0, score[0] - (values[:, 0] - y) / left, z)
        z = np.where(below == q, score[-1] + (y - values[:, -1]) / right, z)
    tied = upto > below
    low, high = score[np.minimum(below, q - 1)], score[np.maximum(upto - 1, 0)]
    low = np.where((below == 0) & (y <= floor), -_MOST, low)
    high = np.where(tied, high, low)
    drawn = stats.norm.ppf(rng.uniform(stats.norm.cdf(low), stats.norm.cdf(high)))
    return np.clip(np.where(tied, drawn, z), -_FARTHEST, _FARTHEST)


def _inverse(dist, n, levels):
    "Quantiles of a distribution, by its own function or by halving, shape (n, levels)."
    own = next((one for name in ("ppf", "icdf") if callable(one := getattr(dist, name, None))),
               None)
    if own is not None:
        return np.column_stack([np.asarray(own(np.full(n, one)), float) for one in levels])
    found = np.empty((n, len(levels)))
    for k, level in enumerate(levels):
        low, high = np.full(n, -1.0), np.full(n, 1.0)
        for _ in range(1000):
            wrong = np.asarray(dist.cdf(low)) >= level, np.asarray(dist.cdf(high)) < level
            if not np.any(wrong): break
            low, high = np.where(wrong[0], 2 * low, low), np.where(wrong[1], 2 * high, high)
        for _ in range(60):
            middle = (low + high) / 2
            is_low = np.asarray(dist.cdf(middle)) < level
            low, high = np.where(is_low, middle, low), np.where(is_low, high, middle)
        found[:, k] = high
    return found


@dataclass(frozen=True, kw_only=True)
class _Rows:
    "Outcomes and what was predicted, on the normal scale and in cells of known probability."
    y: np.ndarray  # outcomes, shape (n,)
    values: np.ndarray  # quantiles or members, shape (n, k)
    levels: np.ndarray | None  # of the quantiles; None of members
    z: np.ndarray  # scores, shape (n,)
    below: np.ndarray  # the lowest cell that each outcome touches, shape (n,)
    upto: np.ndarray  # the highest
    prob: np.ndarray  # probabilities of the cells
    unit: np.ndarray | None  # clusters, codes from 0; None where there are none
    in_time: bool  # whether neighbours are correlated
    code: np.ndarray | None  # groups of `by`, codes from 0
    floor: float  # what nothing falls below
    spread: float  # a row's rise with the score, where it has none

    def keep(self, rows):
        "Some of the rows."
        made = {name: None if (one := getattr(self, name)) is None else one[rows]
                for name in ("y", "values", "z", "below", "upto", "unit", "code")}
        return replace(self, **made)

    @property
    def at(self):
        "Scores of the levels."
        return stats.norm.ppf(self.levels)

    @property
    def worth(self):
        "How many independent rows there are: clusters, if they are known."
        if self.unit is None: return self.y.size
        return np.unique(self.unit).size

    @property
    def weights(self):
        "For each level the range of levels nearest to it."
        edges = (self.levels[1:] + self.levels[:-1]) / 2
        return np.diff(np.concatenate([[0.0], edges, [1.0]]))


def _read_rows(y, statement, unit, code, rng):
    "What is predicted, with outcomes, on the normal scale."
    floor = -np.inf
    if isinstance(statement, Distribution):
        full = _inverse(statement.dist, statement.n_all, _DENSE)
        values, levels = full[statement.rows], _DENSE
        high = np.clip(statement.cdf(y), 0, 1)
        low = np.clip(statement.cdf(np.nextafter(y, -np.inf)), 0, 1)
        low = np.where(high - low > 1e-6, low, high)
        below, upto = (np.minimum((one * _CELLS).astype(int), _CELLS - 1) for one in (low, high))
        prob = np.full(_CELLS, 1 / _CELLS)
        z = np.clip(stats.norm.ppf(rng.uniform(low, high)), -_MOST, _MOST)
        spread = 1.0
    else:
        values, levels = statement.values, None
        if min(y.min(), values.min()) >= 0: floor = 0.0
        below, upto = (values < y[:, None]).sum(axis=1), (values <= y[:, None]).sum(axis=1)
        prob, z = np.full(values.shape[1] + 1, 1 / (values.shape[1] + 1)), np.zeros(y.size)
        wide = values.max(axis=1) - values.min(axis=1)
        spread = float(np.median(wide[wide > 0])) if (wide > 0).any() else 1.0
    if isinstance(statement, Quantiles):
        levels = np.asarray(statement.levels)
        prob = np.diff([0.0, *levels, 1.0])
        if levels.size > 1: z = _scores(values, stats.norm.ppf(levels), y, spread, floor, rng)
    return _Rows(y=y, values=values, levels=levels, z=z, below=below, upto=upto, prob=prob,
                 unit=unit, in_time=False, code=code, floor=floor, spread=spread)


def _crps(rows, values):
    "The CRPS of each row: of quantiles by range weights, of members the fair one; lower is better."
    y = rows.y[:, None]
    if rows.levels is not None:
        off = y - values
        return 2 * (np.maximum(rows.levels * off, (rows.levels - 1) * off) @ rows.weights)
    m = values.shape[1]
    ordered = np.sort(values, axis=1)
    apart = ordered @ (2 * np.arange(1, m + 1) - m - 1) / (m * (m - 1))
    return np.abs(y - values).mean(axis=1) - apart


def _ranks(levels, n):
    "The rank that each level keeps among n rows: 0 and n + 1 where there are too few."
    exact = (n + 1) * levels
    rank = np.where(levels < 0.5, np.floor(exact + 1e-9), np.ceil(exact - 1e-9))
    return np.where(np.abs(levels - 0.5) < 1e-12, np.round(exact), rank).astype(int)


def _order_statistics(values, levels, worth):
    "The value of each level's rank, and which levels too few rows reach; clusters share a rank."
    rank, n = _ranks(levels, worth), values.size
    short = (rank < 1) | (rank > worth)
    if worth < n: rank = np.where(levels < 0.5, rank * n // worth, -(-rank * n // worth))
    return np.sort(values)[np.clip(rank, 1, n) - 1], short


def _line_of(z):
    "Intercept and slope of ordered scores on normal order scores, the outermost left out."
    normal = stats.norm.ppf((np.arange(z.size) + 0.5) / z.size)
    kept = np.abs(normal) <= 2.0537  # the central 96 %
    ordered, normal = np.sort(z)[kept].clip(-_MOST, _MOST), normal[kept]
    return float(ordered.mean()), float(np.clip(ordered @ normal / (normal @ normal), 0.05, 20))


class PitMap(Storable):
    """A rising map of PITs on the normal scale, for quantiles and distributions, with lines of groups on top."""

    def __init__(self,
                 method: str = "conformal PIT",  # or "location and spread"
                 share: float = 1.0,  # share of a line that is kept, in [0, 1]
                 ):
        self.method, self.share = method, share

    def fit_of(self, rows: Any,  # outcomes and quantiles, as this room reads them
               ) -> Self:  # the object itself
        """Fit the map to these rows."""
        shift, factor = _line_of(rows.z)
        shift, factor = self.share * shift, 1 + self.share * (factor - 1)
        self.floor_, self.spread_, self.labels_, self.short_ = rows.floor, rows.spread, [], []
        self.x_, self.h_ = np.array([-1.0, 1.0]), np.array([shift - factor, shift + factor])
        self.slope_ = factor
        if self.method == "location and spread": return self
        levels = rows.levels
        if levels is _DENSE: levels = _KNOTS[np.minimum(_KNOTS, 1 - _KNOTS) * (rows.worth + 1) >= 1]
        self.h_, short = _order_statistics(rows.z, levels, rows.worth)
        self.x_, self.short_ = stats.norm.ppf(levels), levels[short].tolist()
        line = shift + factor * self.x_  # where too few rows are, outward of the outermost
        self.h_ = np.where(short & (levels < 0.5), np.minimum(self.h_, line), self.h_)
        self.h_ = np.where(short & (levels > 0.5), np.maximum(self.h_, line), self.h_)
        return self

    def fit_groups(self, rows: Any,  # of the same kind
                   labels: list,  # of the codes of `by` in them
                   ) -> Self:  # the object itself
        """Fit a line for each group on top of the map."""
        lines, counts = _lines_by_group(self.backward(rows.z), rows)
        self.labels_, self.lines_ = list(labels), _shrunk_lines(lines, counts)
        return self

    def forward(self, x: np.ndarray,  # normal scores of levels, any shape
                code: int = -1,  # a group; −1 for one that was not seen
                ) -> np.ndarray:  # the scores to state for them
        """The map."""
        if code >= 0: x = self.lines_[code, 0] + self.lines_[code, 1] * x
        return _bent(x, self.x_, self.h_, self.slope_)

    def backward(self, z: np.ndarray,  # scores as predicted, any shape
                 code: int = -1,  # a group; −1 for one that was not seen
                 ) -> np.ndarray:  # recalibrated scores
        """The inverse of the map."""
        x = _bent(z, self.h_, self.x_, 1 / self.slope_)
        if code >= 0: x = (x - self.lines_[code, 0]) / self.lines_[code, 1]
        return x

    def values_of(self, values: np.ndarray,  # quantiles, shape (n, k)
                  levels: np.ndarray,  # shape (k,)
                  code: np.ndarray,  # the group of each row, −1 where it was not seen
                  ) -> np.ndarray:  # recalibrated, shape (n, k)
        """Quantiles at the same levels."""
        made, x = np.empty(values.shape), stats.norm.ppf(levels)
        for one in np.unique(code):
            held = code == one
            made[held] = _curve(values[held], x, self.forward(x, one), self.spread_)
        return _above(made, values, self.floor_)

    def apply(self, statement: Quantiles | Distribution,  # what is predicted for new rows
              by: ArrayLike | None = None,  # the group of each row, where groups have lines
              ) -> Statement:  # of the same kind
        """The correction of new rows."""
        code = _codes_of(self.labels_, by, len(statement))
        if isinstance(statement, Distribution): return _mapped([self], statement, 0, code)
        levels = np.asarray(statement.levels)
        return _with_values(statement, self.values_of(statement.values, levels, code))

    @property
    def effect(self) -> dict[str, Any]:
        "What is done, as numbers."
        return {"kind": self.method, "shift": float(self.forward(0.0)),
                "factor": float(self.slope_), "groups": _told_groups(self)}

    @property
    def sentence(self) -> str:
        "What is done to quantiles, in words."
        return words.map_text(self.effect)


_KNOTS = np.array([0.01, 0.025, *np.arange(1, 20) / 20, 0.975, 0.99])  # of a distribution's map


def _bent(at, x, y, slope):
    "A line through points, which goes on with one slope beyond them."
    made = np.interp(at, x, y)
    made = np.where(at < x[0], y[0] - slope * (x[0] - at), made)
    return np.where(at > x[-1], y[-1] + slope * (at - x[-1]), made)


def _above(made, values, floor):
    "Rows that lay above the floor stay there."
    if floor == -np.inf: return made
    return np.where(values.min(axis=1, keepdims=True) >= floor, np.maximum(made, floor), made)


def _with_values(statement, values):
    "The same statement with other values."
    if isinstance(statement, Quantiles): made = Quantiles(values, statement.levels)
    else: made = Samples(values)
    made._set(columns=statement.columns, _index=statement._index)
    return made


def _codes_of(labels, by, n):
    "The place of each row's group among those of the fit; −1 for others."
    if not labels: return np.full(n, -1)
    if by is None: raise ValueError("by must hold the group of each row, as in the fit")
    return pd.Index(labels).get_indexer(pd.Index(read_labels(by, n, "by")))


class MappedDistribution:
    """A distribution after maps of its PITs: `cdf`, and `ppf` where the first one had it."""

    def __init__(self,
                 dist: Any,  # an object with a cdf for all n rows
                 maps: list[PitMap],  # one or more
                 which: ArrayLike,  # the place in `maps` of each row, shape (n,)
                 code: ArrayLike,  # the group of each row, −1 where it was not seen, shape (n,)
                 ):
        self.dist, self.maps, self.which, self.code = dist, maps, np.asarray(which), np.asarray(code)

    def _by_map(self, scores, way):
        "Scores after each row's own map."
        scores = np.broadcast_to(np.asarray(scores, float), self.which.shape)
        made = np.empty(self.which.shape)
        for k, code in {*zip(self.which.tolist(), self.code.tolist())}:
            held = (self.which == k) & (self.code == code)
            made[held] = getattr(self.maps[k], way)(scores[held], code)
        return made

    def cdf(self, y: ArrayLike,  # a number, or one for each row, shape (n,)
            ) -> np.ndarray:  # probabilities, shape (n,)
        """The probability of a value at most y, row by row."""
        return stats.norm.cdf(self._by_map(stats.norm.ppf(self.dist.cdf(y)), "backward"))

    def ppf(self, level: ArrayLike,  # a number, or one for each row, shape (n,), in (0, 1)
            ) -> np.ndarray:  # quantiles, shape (n,)
        """The quantile of each row."""
        inverse = getattr(self.dist, "ppf", None) or getattr(self.dist, "icdf", None)
        if inverse is None: raise TypeError("level needs a distribution with ppf or icdf")
        return np.asarray(inverse(stats.norm.cdf(self._by_map(stats.norm.ppf(level), "forward"))))


def _mapped(maps, statement, which, code):
    "A Distribution after maps; rows that were left out of it get the first one."
    place, group = np.zeros(statement.n_all, int), np.full(statement.n_all, -1)
    place[statement.rows], group[statement.rows] = which, code
    made = Distribution(MappedDistribution(statement.dist, maps, place, group))
    if len(statement) == statement.n_all and np.array_equal(statement.rows, made.rows): return made
    return made.take(statement.rows)


class ShiftByLevel(Storable):
    """A shift for each level, in units of each row's outer width; what crosses is moved outward."""

    labels_: list = []

    def fit_of(self, rows: Any,  # outcomes and quantiles, as this room reads them
               ) -> Self:  # the object itself
        """Fit shifts to these rows."""
        self.floor_, self.spread_, self.levels_ = rows.floor, rows.spread, rows.levels
        away = (rows.y[:, None] - rows.values) / self._width(rows.values)
        found = [_order_statistics(away[:, k], rows.levels[[k]], rows.worth)
                 for k in range(rows.levels.size)]
        self.shift_ = np.array([float(shift[0]) for shift, _ in found])
        self.short_ = [float(level) for level, (_, short) in zip(rows.levels, found) if short[0]]
        return self

    def _width(self, values):
        "Outer widths, shape (n, 1); all 1 where there is one quantile."
        if values.shape[1] == 1: return np.ones((len(values), 1))
        width = values[:, -1:] - values[:, :1]
        return np.where(width > 0, width, self.spread_)

    def values_of(self, values: np.ndarray,  # quantiles, shape (n, k)
                  levels: np.ndarray,  # shape (k,), those of the fit
                  code: np.ndarray,  # not used: no group has shifts of its own
                  ) -> np.ndarray:  # recalibrated, shape (n, k)
        """Quantiles at the same levels."""
        made = values + self._width(values) * self.shift_
        middle = int(np.argmin(np.abs(np.asarray(levels) - 0.5)))
        made[:, middle:] = np.maximum.accumulate(made[:, middle:], axis=1)
        made[:, middle::-1] = np.minimum.accumulate(made[:, middle::-1], axis=1)
        return _above(made, values, self.floor_)

    def apply(self, statement: Quantiles,  # what is predicted for new rows
              by: ArrayLike | None = None,  # not used
              ) -> Quantiles:
        """The correction of new rows."""
        if tuple(statement.levels) != tuple(self.levels_):
            raise ValueError("statement must have the levels of the fit, "
                             f"{', '.join(f'{one:g}' for one in self.levels_)}")
        return _with_values(statement, self.values_of(statement.values, self.levels_, None))

    @property
    def effect(self) -> dict[str, Any]:
        "What is done, as numbers."
        return {"kind": "shift by level", "low": float(self.shift_.min()),
                "high": float(self.shift_.max()), "groups": None}

    @property
    def sentence(self) -> str:
        "What is done to quantiles, in words."
        return words.map_text(self.effect)


def _least_crps(y, mean, away, columns):
    "Coefficients of `columns` and the factor about the mean that make the fair CRPS least."
    n, m = away.shape
    apart = np.sort(away, axis=1) @ (2 * np.arange(1, m + 1) - m - 1) / (m * (m - 1))
    blunt = 0.1 * np.median(away.std(axis=1)) + 1e-300
    design = np.stack([*(np.broadcast_to(one[:, None], away.shape) for one in columns), away])
    found = np.append(np.zeros(len(columns)), 1.0)

    def at(found):
        "The smoothed score, and the errors with their smoothed sizes."
        off = (y - mean)[:, None] - np.tensordot(found, design, 1)
        root = np.sqrt(off**2 + blunt**2)
        return root.mean() - found[-1] * apart.mean(), off, root

    value, off, root = at(found)
    for _ in range(50):
        slope = -np.mean(off / root * design, axis=(1, 2))
        slope[-1] -= apart.mean()
        bend = np.einsum("pij,qij->pq", design * (blunt**2 / root**3), design) / away.size
        step = -np.linalg.lstsq(bend + 1e-9 * np.diag(np.diag(bend)), slope, rcond=None)[0]
        size = 1.0
        while (ahead := at(found + size * step))[0] > value and size > 1e-6: size /= 2
        if size <= 1e-6: break
        found, (value, off, root) = found + size * step, ahead
        if np.abs(size * step).max() < 1e-10 * (1 + np.abs(found).max()): break
    return found[:-1], float(np.clip(found[-1], 0.05, 20))


class MemberMap(Storable):
    """Members moved about their mean: a shift, a line in the mean, and a factor of the spread."""

    def __init__(self,
                 method: str = "location and spread",  # or "line in the mean"
                 share: float = 1.0,  # share of the correction that is kept, in [0, 1]
                 ):
        self.method, self.share = method, share

    def fit_of(self, rows: Any,  # outcomes and members, as this room reads them
               ) -> Self:  # the object itself
        """Fit the move to these rows."""
        mean, away, std = _about_mean(rows.values)
        self.floor_, self.labels_, self.short_, self.middle_ = rows.floor, [], [], mean.mean()
        columns = [std, mean - self.middle_][:1 + (self.method == "line in the mean")]
        found, factor = _least_crps(rows.y, mean, away, columns)
        self.coef_ = self.share * np.append(found, [0.0])[:2]
        self.factor_ = 1 + self.share * (factor - 1)
        return self

    def fit_groups(self, rows: Any,  # of the same kind
                   labels: list,  # of the codes of `by` in them
                   ) -> Self:  # the object itself
        """Fit a shift and a factor for each group on top."""
        made = self.values_of(rows.values, None, np.full(rows.y.size, -1))
        mean, away, std = _about_mean(made)
        size = np.sqrt(1 + 1 / made.shape[1]) * np.where(std > 0, std, np.inf)
        lines, counts = _lines_by_group((rows.y - mean) / size, rows)
        for one in np.flatnonzero(counts >= 5):
            held = rows.code == one
            shift, factor = _least_crps(rows.y[held], mean[held], away[held], [std[held]])
            lines[one] = shift[0], factor
        self.labels_, self.lines_ = list(labels), _shrunk_lines(lines, counts)
        return self

    def values_of(self, values: np.ndarray,  # members, shape (n, m)
                  levels: Any,  # not used: members have no levels
                  code: np.ndarray,  # the group of each row, −1 where it was not seen
                  ) -> np.ndarray:  # recalibrated, shape (n, m)
        """As many members, in the same order."""
        mean, away, std = _about_mean(values)
        mean = mean + self.coef_[0] * std + self.coef_[1] * (mean - self.middle_)
        away, std = self.factor_ * away, self.factor_ * std
        if self.labels_:
            shift, factor = np.append(self.lines_, [[0.0, 1.0]], axis=0)[code].T
            mean, away = mean + shift * std, factor[:, None] * away
        return _above(mean[:, None] + away, values, self.floor_)

    def apply(self, statement: Samples,  # what is predicted for new rows
              by: ArrayLike | None = None,  # the group of each row, where groups have lines
              ) -> Samples:
        """The correction of new rows."""
        code = _codes_of(self.labels_, by, len(statement))
        return _with_values(statement, self.values_of(statement.values, None, code))

    @property
    def effect(self) -> dict[str, Any]:
        "What is done, as numbers."
        return {"kind": f"members, {self.method}", "shift": float(self.coef_[0]),
                "slope": 1 + float(self.coef_[1]), "factor": self.factor_,
                "groups": _told_groups(self)}

    @property
    def sentence(self) -> str:
        "What is done to members, in words."
        return words.map_text(self.effect)


def _about_mean(values):
    "Means of members, their distances from it, and standard deviations with m − 1."
    mean = values.mean(axis=1)
    return mean, values - mean[:, None], values.std(axis=1, ddof=1)


def _lines_by_group(z, rows):
    "Shift and factor of the scores in each group, shape (K, 2), and how many rows each is worth."
    count = int(rows.code.max()) + 1
    lines, worth = np.tile([0.0, 1.0], (count, 1)), np.zeros(count, int)
    for one in range(count):
        held = rows.code == one
        if rows.unit is None: worth[one] = held.sum()
        else: worth[one] = np.unique(rows.unit[held]).size
        if worth[one] >= 5: lines[one] = _line_of(z[held])
    return lines, worth


def _between(values, variance):
    "Groups' weighted mean, chi-square about it, and their variance beyond chance."
    weight = 1 / variance
    middle = weight @ values / weight.sum()
    far = float(weight @ (values - middle)**2)
    scale = weight.sum() - weight @ weight / weight.sum()
    return middle, far, max(far - (values.size - 1), 0.0) / max(scale, 1e-300)


def _shrunk_lines(lines, counts):
    "Lines of groups drawn towards the common one, as far as chance explains them."
    made, known = np.tile([0.0, 1.0], (len(lines), 1)), counts >= 5
    if known.sum() < 2: return made
    for k, size in ((0, 1.0), (1, 0.55)):
        values, variance = lines[known, k], size / counts[known]
        if k == 1: values = np.log(values)
        between = _between(values, variance)[2]
        values = between / (between + variance) * values
        made[known, k] = np.exp(values) if k == 1 else values
    return made


def _groups_differ(z, rows):
    "The probability that groups with one map differ as far as these in shift and factor."
    lines, counts = _lines_by_group(z, rows)
    known = counts >= 5
    if known.sum() < 2: return 1.0
    far = sum(_between(values, size / counts[known])[1]
              for values, size in ((lines[known, 0], 1.0), (np.log(lines[known, 1]), 0.55)))
    return float(stats.chi2.sf(far, 2 * (known.sum() - 1)))


def _told_groups(model):
    "How many groups have lines, and the one with the largest factor and shift; None of none."
    if not model.labels_: return None
    far = int(np.argmax(np.abs(model.lines_[:, 0]) + np.abs(np.log(model.lines_[:, 1]))))
    return {"count": len(model.labels_), "most": str(model.labels_[far]),
            "shift": float(model.lines_[far, 0]), "factor": float(model.lines_[far, 1])}


def _polynomials(prob):
    "Polynomials of the middle PIT, orthonormal under the cells' probabilities, shape (cells, ≤ 4)."
    middle = np.cumsum(prob) - prob / 2
    powers = np.vander(2 * middle - 1, min(4, prob.size - 1) + 1, increasing=True)
    root = np.sqrt(prob)[:, None]
    basis, triangle = np.linalg.qr(root * powers)
    return (basis * np.sign(np.diag(triangle)) / root)[:, 1:]


def _sum_error(values, rows):
    "The standard error of a sum of rows, and degrees of freedom: of clusters, or of neighbours."
    n = values.size
    if rows.unit is not None:
        sums = np.bincount(np.unique(rows.unit, return_inverse=True)[1], values - values.mean())
        return np.sqrt(np.sum(sums**2) * sums.size / max(sums.size - 1, 1)), sums.size - 1
    if not rows.in_time:
        return np.sqrt(np.sum((values - values.mean())**2) * n / max(n - 1, 1)), np.inf
    waves = np.arange(1, max(int(0.41 * n ** (2 / 3)), 1) + 1)
    angle = np.pi * (np.arange(n) + 0.5) / n
    part = np.array([values @ np.cos(one * angle) for one in waves]) * np.sqrt(2 / n)
    return np.sqrt(n * np.mean(part**2)), waves.size


_QUESTIONS = ("bias", "spread", "skew", "tails")


def _placed(rows):
    "The polynomials of each row, tied ones where the sum of all squares of T is least, and T."
    basis = _polynomials(rows.prob)
    middle, n = basis[rows.below], rows.y.size
    tied = np.flatnonzero(rows.upto > rows.below)
    if not tied.size: return middle, middle.sum(axis=0) / np.sqrt(n)
    pairs, place, count = np.unique(np.column_stack([rows.below, rows.upto])[tied], axis=0,
                                    return_inverse=True, return_counts=True)
    parts = [basis[first:last + 1] for first, last in pairs]
    whose = np.repeat(np.arange(len(pairs)), [len(part) for part in parts])
    fixed = np.delete(middle, tied, axis=0).sum(axis=0)
    sums = 1e3 * (whose == np.arange(len(pairs))[:, None])  # each pair keeps its rows
    mass, _ = optimize.nnls(np.vstack([np.concatenate(parts).T / n, sums / n]),
                            np.concatenate([-fixed / n, 1e3 * count / n]), maxiter=10_000)
    for k, part in enumerate(parts):
        own = mass[whose == k]
        middle[tied[place.ravel() == k]] = own @ part / max(own.sum(), 1e-300)
    return middle, middle.sum(axis=0) / np.sqrt(n)


def _faults(rows):
    "For each question T and its p-value by Holm; of tied rows at their least joint statistic."
    middle, t = _placed(rows)
    freedom = np.inf
    if rows.unit is not None or rows.in_time:
        errors = [_sum_error(middle[:, k], rows) for k in range(t.size)]
        t = t * np.sqrt(rows.y.size) / np.maximum([one for one, _ in errors], 1e-300)
        freedom = errors[0][1]
    p = 2 * stats.t.sf(np.abs(t), freedom)
    order = np.argsort(p, kind="stable")
    p[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1)), 1)
    if (rows.upto > rows.below).any(): p = np.maximum(p, stats.chi2.sf(t @ t, t.size))
    return {name: (float(a), float(b)) for name, a, b in zip(_QUESTIONS, t, p)}


def _are_correlated(rows):
    "Whether neighbouring rows are: by bias or spread, at 10 % in all."
    if rows.unit is not None or rows.y.size < 20: return False
    parts = _placed(rows)[0][:, :2]
    code = np.zeros(rows.y.size, int) if rows.code is None else rows.code
    for k, part in enumerate(parts.T):
        parts[:, k] = part - (np.bincount(code, part) / np.maximum(np.bincount(code), 1))[code]
    size = np.sum(parts**2, axis=0)
    near = np.sum(parts[1:] * parts[:-1], axis=0) / np.where(size > 0, size, 1.0)
    return bool(2 * stats.norm.sf(np.abs(near).max() * np.sqrt(rows.y.size)) < 0.1 / near.size)


def _shown(faults, alpha):
    "The faults that are shown: bias and spread first, skew and tails only without these."
    shown = [name for name, (_, p) in faults.items() if p < alpha]
    return tuple([one for one in shown if one in _QUESTIONS[:2]] or shown)


def _candidates(rows, share):
    "Maps to try, the one that is preferred first."
    if rows.levels is None:
        found = {"location and spread": MemberMap("location and spread", share)}
        if rows.worth >= 50: found["line in the mean"] = MemberMap("line in the mean", share)
        return found
    if rows.levels.size == 1: return {"shift by level": ShiftByLevel()}
    line = {"location and spread": PitMap("location and spread", share)}
    if rows.levels is _DENSE: return line | {"conformal PIT": PitMap()}
    return {"conformal PIT": PitMap()} | line | {"shift by level": ShiftByLevel()}


def _crossed(model, rows, fold, labels=None):
    "Values of each fold after a map that was fitted to the others, and the maps."
    made, maps = rows.values.copy(), []
    for k in range(int(fold.max()) + 1):
        held = fold == k
        maps.append(clone(model).fit_of(rows.keep(~held)))
        code = np.full(held.sum(), -1)
        if labels is not None:
            maps[-1].fit_groups(rows.keep(~held), labels)
            code = rows.code[held]
        made[held] = maps[-1].values_of(rows.values[held], rows.levels, code)
    return made, maps


def _table_of(held, first, rows):
    "How much lower each mean score is than if unchanged, and how far behind the best."
    best = held[min(held, key=lambda name: held[name].mean())]
    listed = [{"gain": float(np.mean(first - one)), "gain_error": _mean_error(first - one, rows),
               "gap": float(np.mean(one - best)), "gap_error": _mean_error(one - best, rows)}
              for one in held.values()]
    table = pd.DataFrame(listed, index=pd.Index(list(held), name="candidate"))
    table["is_near"] = table["gap"] <= np.maximum(table["gap_error"], 0.1 * table["gain"].max())
    return table


def _mean_error(values, rows): return float(_sum_error(values, rows)[0]) / values.size


def _folds(rows, n_folds, rng):
    "The fold of each row: at random with whole clusters, or stretches."
    n = rows.y.size
    if rows.in_time: return np.arange(n) * min(n_folds, n) // n
    return random_folds(np.arange(n) if rows.unit is None else rows.unit, n_folds, rng)


_ENOUGH = 20_000  # rows by which maps are compared
_BY_GROUP = "by group"


def _chosen(rows, faults, shown, n_folds, rng):
    "The map that is taken, None where none is, with the table of those that were tried."
    if not shown and rows.code is None:
        first = _crps(rows, rows.values)
        return None, None, _table_of({"as stated": first}, first, rows)
    size = faults["bias"][0]**2 + faults.get("spread", (0.0, 1.0))[0]**2
    share = max(0.0, 1 - 4 / max(size, 1e-300))
    part = rows
    if rows.y.size > _ENOUGH:
        unit = np.arange(rows.y.size) if rows.unit is None else rows.unit
        few = rng.permutation(unit.max() + 1)[unit] < (unit.max() + 1) * _ENOUGH / rows.y.size
        if rows.in_time: few = np.arange(rows.y.size) < _ENOUGH
        part = rows.keep(few)
        if part.unit is not None:
            part = replace(part, unit=np.unique(part.unit, return_inverse=True)[1])
    fold, models = _folds(part, n_folds, rng), _candidates(rows, share)
    first = _crps(part, part.values)
    held = {"as stated": first}
    held |= {name: _crps(part, _crossed(model, part, fold)[0]) for name, model in models.items()}
    table = _table_of(held, first, part)
    worth = [name for name in models if shown and _is_worth(table.loc[name], models[name])]
    name = next((one for one in worth if table.at[one, "is_near"]), None)
    if name is None and worth: name = min(worth, key=lambda one: table.at[one, "gap"])
    if rows.code is None: return name, models.get(name), table
    lines = {one: model for one, model in models.items() if hasattr(model, "fit_groups")}
    base = lines.get(name, next(iter(lines.values()), None))
    if base is None: return name, models.get(name), table
    if name is None: base = clone(base).set_params(method="location and spread")
    labels = list(range(int(rows.code.max()) + 1))
    made = _crps(part, _crossed(base, part, fold, labels)[0])
    whole = clone(base).fit_of(rows)
    z = rows.z if rows.levels is not None else _member_scores(whole, rows)
    if rows.levels is not None: z = whole.backward(z)
    against = held[name or "as stated"] - made
    is_better = against.mean() > _mean_error(against, part)
    table = _table_of(held | {_BY_GROUP: made}, first, part)
    if _groups_differ(z, rows) < 0.05 and is_better: return _BY_GROUP, base, table
    return name, models.get(name), table


def _is_worth(row, model):
    "Whether a map gains enough: a line, of which a share is kept, anything; others a standard error."
    if getattr(model, "method", "") == "location and spread": return row["gain"] > 0
    return row["gain"] > row["gain_error"]


def _member_scores(model, rows):
    "Scaled errors of the mean of moved members, for comparing groups."
    made = model.values_of(rows.values, None, np.full(rows.y.size, -1))
    mean, _, std = _about_mean(made)
    return (rows.y - mean) / (np.sqrt(1 + 1 / made.shape[1]) * np.where(std > 0, std, np.inf))


def _reliability(rows, levels):
    "The share of outcomes at or below each level; of members at or below each rank."
    upto = np.cumsum(rows.prob)[:-1]
    places = [int(np.argmin(np.abs(upto - one))) for one in levels]
    return np.array([np.mean(rows.below <= k) for k in places])


def _shown_levels(rows):
    "At most nine levels for a table: those of the quantiles, or those that the cells have."
    upto = np.cumsum(rows.prob)[:-1]
    if rows.levels is not None and rows.levels is not _DENSE: upto = rows.levels
    if upto.size <= 9: return upto
    wanted = (0.05, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 0.95)
    return upto[np.unique([int(np.argmin(np.abs(upto - one))) for one in wanted])]


def _central(rows):
    "The share of outcomes between the outermost levels, and the share claimed; ties count half."
    first, last = 0, rows.prob.size - 1
    if rows.levels is _DENSE: first, last = 3, _CELLS - 4
    if last - first < 2: return None, None
    claimed = float(rows.prob[first + 1:last].sum())
    inside = (rows.below > first).astype(float) + (rows.upto > first) - 1
    strict = (rows.upto < last).astype(float) + (rows.below < last) - 1
    return float(np.mean((inside + strict) / 2)), claimed


def _finding(name, before, after, rows, held, alpha):
    "What a fault was before and is after, in cross-validation."
    facts = {"before": before[name][1], "t_before": before[name][0], "after": None}
    status = "invalid" if before[name][1] < alpha else "fact"
    if after is not None:
        facts |= {"after": after[name][1], "t_after": after[name][0]}
        status = "invalid" if after[name][1] < alpha else "fact"
    facts["alpha"] = alpha
    if name == "spread":
        facts["covered"], facts["claimed"] = _central(rows)
        facts["covered_after"] = None if held is None else _central(held)[0]
    return Finding(name=name, kind="forecast_fault", status=status, n=rows.y.size,
                   pvalue=facts["before"] if after is None else facts["after"], facts=facts)


@dataclass(frozen=True, kw_only=True, repr=False)
class ForecastRecalibration(Report):
    """What was recalibrated, with cross-validated findings; what `recalibrate_forecasts` returns."""

    given: Statement = field(repr=False, compare=False)  # as it was predicted
    held: Statement = field(repr=False, compare=False)  # each row by a map of other rows
    model: Any = field(compare=False)  # the map, fitted to all rows; None: nothing is changed
    chosen: str  # its name among the candidates
    before: tuple[Finding, ...]  # faults of what was predicted
    after: tuple[Finding, ...]  # the same with those in cross-validation
    gain: Finding  # of the CRPS per row, in the cross-validation that chose
    candidates: pd.DataFrame = field(repr=False)  # a row for each map: `gain`, by how much the
    # CRPS per row is lower than if unchanged, `gap` to the best, with standard errors
    faults: tuple[tuple[str, ...], tuple[str, ...]]  # names of those shown, before and after
    reliability: pd.DataFrame = field(repr=False)  # `level`, and shares `before` and `after`
    confidence: float  # level of the limits
    n_calibration: int  # independent rows that the fit is worth
    n_groups: int | None = None  # clusters
    by_group: bool = False  # whether groups have maps of their own

    @property
    def n(self) -> int:
        "Number of rows."
        return len(self.given)

    @property
    def is_recalibrated(self) -> bool:
        "Whether anything was changed."
        return self.model is not None

    @property
    def outcome(self) -> str:
        "\"recalibrated\" or \"unchanged\"."
        if self.is_recalibrated: return "recalibrated"
        return "unchanged"

    @property
    def conclusion(self) -> str:
        "What was done, and which faults there were before and after."
        return words.conclusion(self)

    @property
    def headline(self) -> str:
        "What was done, in at most twelve words."
        return words.headline(self)

    @property
    def title(self) -> str:
        "The kind of statement and the number of rows."
        return words.title(self)

    @property
    def limits(self) -> str:
        "What the limits in brackets are."
        return f"[{100 * self.confidence:g} %]"

    @property
    def numbers(self) -> dict[str, float]:
        "The gain of the CRPS per row, where something was changed."
        if self.is_recalibrated: return {"gain": self.gain.estimate}
        return {}

    def table_lines(self) -> list[str]:  # three rows
        """Shares of outcomes at or below each level, before and after."""
        return words.reliability_lines(self.reliability, self.is_recalibrated)

    def tables(self) -> dict[str, pd.DataFrame]:  # text and numbers, by name
        """\"findings\", \"parts\", \"candidates\" and \"reliability\"."""
        return super().tables() | {"candidates": self.candidates.copy(),
                                   "reliability": self.reliability.copy()}

    def to_dict(self) -> dict[str, Any]:  # what JSON knows
        """Outcome, conclusion, findings, cautions, the next step, and what each map gains."""
        told = super().to_dict()
        for name in ("verdict", "everywhere", "beyond"): del told[name]
        return json_plain({"outcome": self.outcome, **told, "chosen": self.chosen, "n": self.n,
                           "n_calibration": self.n_calibration,
                           "candidates": self.candidates.reset_index().to_dict("records"),
                           "reliability": self.reliability.to_dict("records")})

    def draw(self, finding: Finding,  # one of the report
             ax: Axes | None = None,  # axes to draw on; new ones unless given
             ) -> Axes:  # the same axes
        """Shares of outcomes at or below each level, before and after, whatever the finding."""
        ax, table = new_axes(ax, 5.2, 5.2), self.reliability
        ax.plot([0, 1], [0, 1], ls="--", color="0.5", lw=1)
        ax.plot(table["level"], table["before"], "o-", color="#D55E00", label="as predicted")
        if self.is_recalibrated: ax.plot(table["level"], table["after"], "s-", color="#0072B2",
                                         label="recalibrated, held out")
        ax.set(xlabel="level", ylabel="share of outcomes at or below", xlim=(-0.02, 1.02),
               ylim=(-0.02, 1.02))
        ax.legend(frameon=False)
        return ax


def _held_statement(base, labels, statement, rows, fold):
    "The statement of each row, by a map that was fitted to other rows."
    if labels is None: made, maps = _crossed(base, rows, fold)
    else: made, maps = _crossed(base, rows, fold, labels)
    if not isinstance(statement, Distribution): return _with_values(statement, made)
    code = np.full(rows.y.size, -1) if labels is None else rows.code
    return _mapped(maps, statement, fold, code)


def _cautions(rows, model, by_group):
    "Cautions on levels that too few rows reach, on correlated rows, on groups."
    found = []
    if model is not None and model.short_:
        least = min(min(one, 1 - one) for one in model.short_)
        found.append(Caution(code="forecast_levels", facts={
            "levels": tuple(model.short_), "needed": int(np.ceil(1 / least - 1e-9)) - 1},
            decides=True))
    if rows.in_time: found.append(Caution(code="forecast_stretches", decides=True))
    if by_group: found.append(Caution(code="forecast_unseen"))
    return tuple(found)


def _step(is_recalibrated, faults):
    "What to do now."
    before, after = faults
    if is_recalibrated:
        return Step(verb="validate", why="recalibrated_forecasts", facts={"is_left": bool(after)})
    if before: return Step(verb="correct", why="forecasts")
    return Step(verb="use", why="calibrated_forecasts")


def recalibrate_forecasts(
    y_true: ArrayLike,  # what happened, shape (n,), ten rows or more
    statement: Any,  # what was predicted: Quantiles, Samples or Distribution
    *,
    by: ArrayLike | None = None,  # groups that may be wrong in different ways, shape (n,); None
                                  # where all rows share one map
    groups: ArrayLike | None = None,  # labels of clustered rows, shape (n,)
    n_folds: int = 10,  # parts, of which each is recalibrated by a fit to all others, ≥ 2
    confidence: float = 0.95,  # tests reject at 1 − confidence; in (0, 1)
    rng: int | np.random.Generator | None = None,  # seed or generator, of folds and of ties
) -> ForecastRecalibration:  # `.conclusion`, `.model`, `.held`, `.before`, `.after`
    """Recalibrate predictive distributions where a fault is shown, and test before and after.

    Raises ValueError for fewer than ten rows or clusters, and for `by` with more than a hundred
    groups; TypeError for statements of other kinds, and what the statement's `read_observed`
    raises for outcomes."""
    statement = read_statement(statement)
    if not isinstance(statement, (Quantiles, Samples, Distribution)):
        raise TypeError("statement must be Quantiles, Samples or Distribution, got "
                        f"{type(statement).__name__}")
    check_labels_agree(y_true=y_true, groups=groups, by=by)
    y = statement.read_observed(y_true)
    n_folds, rng = check_count(n_folds, "n_folds", minimum=2), check_generator(rng)
    alpha = 1 - check_fraction(confidence, "confidence")
    unit, code, names = None, None, None
    if groups is not None:
        unit = np.unique(read_labels(groups, y.size, "groups"), return_inverse=True)[1]
    if by is not None: code, names = _groups_of(by, y.size)
    rows = _read_rows(y, statement, unit, code, rng)
    if rows.worth < 10:
        what = "rows" if groups is None else "clusters"
        raise ValueError(f"y_true must hold at least ten {what} to recalibrate, got {rows.worth}")
    rows = replace(rows, in_time=_are_correlated(rows))
    faults = _faults(rows)
    shown = _shown(faults, alpha)
    chosen, base, table = _chosen(rows, faults, shown, n_folds, rng)
    return _answer(statement, rows, faults, shown, chosen, base, table, names, n_folds,
                   confidence, rng)


def _groups_of(by, n):
    "Codes of groups, and their labels; refuses what is no group."
    code, labels = pd.factorize(read_labels(by, n, "by"))
    if len(labels) > 100: raise ValueError(
        f"by must hold groups, at most a hundred of them, got {len(labels)} different values; cut "
        "numbers into ranges first, such as pandas.cut does")
    return code, [one.item() if isinstance(one, np.generic) else one for one in labels]


def _answer(statement, rows, faults, shown, chosen, base, table, names, n_folds, confidence, rng):
    "The result of `recalibrate_forecasts` for checked columns."
    alpha, is_by, model, after = 1 - confidence, chosen == _BY_GROUP, None, None
    made, after_rows, left = statement, None, ()
    if base is not None:
        model = clone(base).fit_of(rows)
        if is_by: model.fit_groups(rows, names)
        labels = list(range(len(names))) if is_by else None
        made = _held_statement(base, labels, statement, rows, _folds(rows, n_folds, rng))
        after_rows = replace(_read_rows(rows.y, made, rows.unit, rows.code, rng),
                             in_time=rows.in_time)
        after = _faults(after_rows)
        left = _shown(after, alpha)
    levels = _shown_levels(rows)
    shares = {"level": levels, "before": _reliability(rows, levels)}
    shares["after"] = shares["before"] if after is None else _reliability(after_rows, levels)
    asked = [name for name in faults if name in _QUESTIONS[:2] or name in shown + left]
    before = tuple(_finding(name, faults, None, rows, None, alpha) for name in asked)
    each = tuple(_finding(name, faults, after, rows, after_rows, alpha) for name in asked)
    gain, error = table.loc[chosen or "as stated", ["gain", "gain_error"]]
    score = float(np.mean(_crps(rows, rows.values)))
    gained = Finding(name="gain", kind="forecast_gain", status="valid", n=rows.y.size, unit="CRPS",
                     estimate=gain, low=gain - 2 * error, high=gain + 2 * error,
                     facts={"standard_error": error, "score": score})
    findings = each
    if model is not None:
        method = Finding(name="method", kind="forecast_method", status="fact", n=rows.y.size,
                         facts={"effect": model.effect, "n": rows.worth})
        findings = (method, gained, *each)
    return ForecastRecalibration(
        given=statement, held=made, model=model, chosen=chosen or "as stated", before=before,
        after=each, gain=gained, candidates=table, faults=(shown, left),
        reliability=pd.DataFrame(shares), confidence=confidence, n_calibration=rows.worth,
        n_groups=None if rows.unit is None else rows.worth, by_group=is_by, findings=findings,
        cautions=_cautions(rows, model, is_by), step=_step(model is not None, (shown, left)))

__all__=['PitMap', 'MappedDistribution', 'ShiftByLevel', 'MemberMap', 'ForecastRecalibration', 'recalibrate_forecasts']
