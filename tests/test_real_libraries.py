"""What real libraries give goes into the verbs without glue: the blocks of "Where do I get u?" as they stand, and the shapes that each library has."""
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from uqcal import Distribution, Intervals, LabelSets, MeanStd, Probabilities, Quantiles, Samples, validate

PAGE = Path(__file__).parents[1] / "nbs" / "tutorials" / "where_do_i_get_u.ipynb"
CELLS = {cell["id"]: "".join(cell["source"]) for cell in json.loads(PAGE.read_text(encoding="utf-8"))["cells"]}
n = 60
y = np.random.default_rng(0).normal(size=n)
COLUMNS = {"mu": 0 * y, "sd": 1 + 0 * y, "q05": 0 * y - 1.6, "q95": 0 * y + 1.6}


def block(cell):
    "The Python block of a cell of the page."
    return re.search(r"```python\n(.*?)```", CELLS[cell], re.S)[1]


@pytest.mark.slow
@pytest.mark.parametrize("library, cells", [("duckdb", ["u-duckdb"]), ("ngboost", ["u-ngboost"]), ("torch", ["u-torch-normal", "u-torch-dropout", "u-torch-logits"]),
                                            ("mapie", ["u-mapie"]), ("crepes", ["u-crepes"]), ("sktime", ["u-sktime"])])
def test_blocks_of_the_page_run_as_they_stand(library, cells, capsys):
    pytest.importorskip(library)
    known = {}
    exec(CELLS["u-data"], known)
    for cell in cells:
        exec(block(cell), known)
    said = capsys.readouterr().out.strip().splitlines()
    assert len(said) >= sum(block(cell).count("print(") for cell in cells) and all(said)


# --- libraries of the development environment ------------------------------------------------------------------------------------------


def tables():
    pl, pa, xr = (pytest.importorskip(name) for name in ("polars", "pyarrow", "xarray"))
    return [pl.DataFrame(COLUMNS), pa.table(COLUMNS), xr.Dataset({name: ("row", values) for name, values in COLUMNS.items()}), pd.DataFrame(COLUMNS), COLUMNS]


def test_tables_of_polars_pyarrow_and_xarray_are_read_by_names_of_columns():
    for table in tables():
        assert MeanStd.from_frame(table, "mu", "sd").columns == {"mean": "mu", "std": "sd"}
        assert Quantiles.from_frame(table, "q*").levels == (0.05, 0.95)
        assert len(MeanStd(table["mu"], table["sd"])) == n


def test_frames_of_polars_and_pyarrow_name_levels_bounds_and_members():
    import polars as pl
    import pyarrow as pa
    for table in (pl.DataFrame(COLUMNS).select("q05", "q95"), pa.table(COLUMNS).select(["q05", "q95"])):
        assert Quantiles(table).levels == (0.05, 0.95) and Samples(table).columns == {"values": ["q05", "q95"]}
        assert Intervals(table, level=0.9).columns == {"lower": "q05", "upper": "q95"}
    assert Quantiles({0.05: COLUMNS["q05"], 0.95: COLUMNS["q95"]}).levels == (0.05, 0.95)


def test_a_frame_of_polars_names_what_is_asked_along():
    import polars as pl
    found = validate(y, Intervals(COLUMNS["q05"], COLUMNS["q95"], level=0.9), by=pl.DataFrame({"side": ["a", "b"] * (n // 2)}), rng=0)
    assert any(one.by == "side" for one in found.findings)


def test_a_query_that_was_not_run_is_refused_with_what_to_type():
    import polars as pl
    lazy = pl.DataFrame(COLUMNS).lazy()
    for make in (lambda: MeanStd.from_frame(lazy, "mu", "sd"), lambda: Samples(lazy), lambda: validate(y, lazy), lambda: validate(lazy, MeanStd(0 * y, 1)),
                 lambda: Intervals(lazy, level=0.9), lambda: Probabilities(lazy), lambda: validate(y, MeanStd(0 * y, 1), by=lazy)):
        with pytest.raises(TypeError, match=r"a query that has not been run; write \.collect\(\) behind it"): make()


def test_dicts_of_river_are_probabilities_of_their_labels():
    rows = [{False: 0.3, True: 0.7}, {True: 0.2, False: 0.8}, {True: 1.0}]
    read = Probabilities(rows)
    assert read.prob.tolist() == [0.7, 0.2, 1.0] and read.pos_label is True
    assert read.read_observed([True, False, True]).tolist() == [1, 0, 1]
    assert Probabilities([{"a": 0.5, "c": 0.5}, {"b": 1.0}]).classes.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="leave out rows before the first label was learnt"): Probabilities([{}, *rows])
    with pytest.raises(ValueError, match="two labels or more, got True alone"): Probabilities([{True: 1.0}])


def test_intervals_of_river_are_read_from_a_list():
    interval = pytest.importorskip("river.conf.interval").Interval
    read = Intervals([interval(low, low + 1) for low in y], level=0.9)
    np.testing.assert_array_equal(read.lower, y)
    np.testing.assert_array_equal(read.upper, y + 1)


def test_the_summary_frame_of_statsmodels_has_a_hint_and_its_bounds_go_in():
    import statsmodels.api as sm
    X = sm.add_constant(np.arange(n) / n)
    predicted = sm.OLS(y, X).fit().get_prediction(X)
    frame = predicted.summary_frame(alpha=0.1)
    read = Intervals(frame[["obs_ci_lower", "obs_ci_upper"]], level=0.9)
    np.testing.assert_allclose(read.lower, Intervals(predicted.conf_int(obs=True, alpha=0.1), level=0.9).lower)
    with pytest.raises(ValueError, match=r"choose two columns, frame\[\[lower, upper\]\]"): Intervals(frame, level=0.9)


# --- shapes of other libraries, without them -------------------------------------------------------------------------------------------


def test_intervals_of_mapie_with_one_level_or_several():
    one = np.stack([y - 1, y + 1], axis=1)[:, :, None]
    two = np.concatenate([one, one * 1.5 - y[:, None, None] * 0.5], axis=2)
    assert Intervals(one, level=0.9).level == 0.9 and Intervals(one, level=0.9).lower.shape == (n,)
    assert Intervals(one, level=[0.9]).level == (0.9,) and Intervals(two, level=[0.8, 0.9]).level == (0.8, 0.9)
    with pytest.raises(ValueError, match="one number for each of the 2 levels"): Intervals(two, level=0.9)
    for make in (lambda: Intervals((y, one), level=0.9), lambda: Intervals(*(y, one), level=0.9)):
        with pytest.raises(TypeError, match=r"write Intervals\(pair\[1\], level=...\)"): make()
    with pytest.raises(TypeError, match=r"can be intervals of MAPIE; write Intervals\(array, level=0.9\)"): validate(y, one)


def test_sets_of_mapie_with_one_level_or_several():
    sets = np.random.default_rng(1).random((n, 3, 2)) < 0.8
    assert LabelSets(sets[:, :, :1], level=0.9).sets.shape == (n, 3)
    both = LabelSets(sets, level=[0.8, 0.9])
    np.testing.assert_array_equal(both.at(0.9).sets, sets[:, :, 1])
    with pytest.raises(TypeError, match=r"write validate\(y_true, statement.at\(0.8\)\)"): validate(np.zeros(n, int), both)


def test_tables_of_intervals_of_sktime_name_their_levels():
    columns = pd.MultiIndex.from_tuples([("load", level, side) for level in (0.5, 0.9) for side in ("lower", "upper")])
    frame = pd.DataFrame(np.column_stack([y - 1, y + 1, y - 2, y + 2]), columns=columns, index=range(100, 100 + n))
    np.testing.assert_allclose(Intervals(frame, level=0.9).lower, y - 2)
    np.testing.assert_allclose(Intervals(frame["load"], level=[0.9, 0.5]).upper, np.column_stack([y + 2, y + 1]))
    assert len(Intervals(frame, level=0.5).read_observed(pd.Series(y, index=frame.index))) == n
    with pytest.raises(ValueError, match="level must be one of the table, 0.5 and 0.9, got 0.8"): Intervals(frame, level=0.8)
    double = pd.concat([frame, frame.rename(columns={"load": "wind"})], axis=1)
    with pytest.raises(ValueError, match=r"write Intervals\(frame\['load'\], level=...\)"): Intervals(double, level=0.9)


def test_tables_of_one_column_are_columns():
    frame = pd.DataFrame({"load": y})
    assert len(MeanStd(frame, variance=frame.abs() + 1)) == n
    assert len(MeanStd(0, 1 + 0 * y).read_observed(frame)) == n


@pytest.mark.slow
def test_distributions_of_torch_answer_as_those_of_scipy():
    torch, stats = pytest.importorskip("torch"), pytest.importorskip("scipy.stats")
    given = torch.distributions.Normal(torch.tensor(y).float(), torch.tensor(0.5).float())
    ours, theirs = Distribution(given), Distribution(stats.norm(y, 0.5))
    np.testing.assert_allclose(ours.pit(y + 0.3), theirs.pit(y + 0.3), atol=1e-6)
    np.testing.assert_allclose(ours.interval(0.9).upper, theirs.interval(0.9).upper, atol=1e-6)
    assert not Distribution(torch.distributions.MixtureSameFamily(
        torch.distributions.Categorical(torch.ones(n, 2)), torch.distributions.Normal(torch.zeros(n, 2), 1.0))).has_quantiles
    for dist in (torch.distributions.StudentT(5.0, torch.zeros(n)), torch.distributions.Categorical(torch.ones(n, 3))):
        with pytest.raises(TypeError, match=r"write Samples\(dist.sample\(\(200,\)\).T\)"): Distribution(dist)


@pytest.mark.slow
def test_a_distribution_of_sktime_and_a_relation_of_duckdb():
    forecasting, duckdb = pytest.importorskip("sktime.forecasting.naive"), pytest.importorskip("duckdb")
    forecaster = forecasting.NaiveForecaster().fit(pd.Series(np.cumsum(y)), fh=np.arange(1, 11))
    dist = forecaster.predict_proba()
    assert len(Distribution(dist)) == 10
    np.testing.assert_allclose(Distribution(dist).interval(0.9).lower, Intervals(forecaster.predict_interval(coverage=0.9), level=0.9).lower)
    relation = duckdb.sql("SELECT 0.0 AS mu, 1.0 AS sd FROM range(10)")
    for make in (lambda: MeanStd.from_frame(relation, "mu", "sd"), lambda: Samples(relation), lambda: validate(y[:10], relation)):
        with pytest.raises(TypeError, match=r"write \.df\(\) behind it"): make()
