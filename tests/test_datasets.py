"""The data sets are those of the study, whichever place they come from, and a wrong file is never taken for one."""
import dataclasses
import functools
import hashlib
import http.server
import json
import os
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest

from uqcal.sample import datasets
from uqcal.sample.datasets import DatasetUnavailable, RegressionErrors, catalogue, load_demo, load_errors

NAMES = list(catalogue().index)
SHARED = os.environ.get("UQCAL_DATA_DIR")
with_data = pytest.mark.skipif(SHARED is None, reason="UQCAL_DATA_DIR names no folder with the data sets")


@pytest.fixture
def alone(monkeypatch, tmp_path):
    "No folder with data, an empty cache, and an address where nobody answers."
    monkeypatch.delenv("UQCAL_DATA_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("pooch.os_cache", lambda project: tmp_path / "cache" / project)
    monkeypatch.setattr(datasets, "_ADDRESS", "http://127.0.0.1:9/")
    for proxy in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"): monkeypatch.delenv(proxy, raising=False)
    return tmp_path


@pytest.fixture
def server(alone, monkeypatch):
    "A folder served over HTTP in the place of the repository."
    folder = alone / "served"
    folder.mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args): pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder)) as web:
        threading.Thread(target=web.serve_forever, daemon=True).start()
        monkeypatch.setattr(datasets, "_ADDRESS", f"http://127.0.0.1:{web.server_port}/")
        yield folder
        web.shutdown()


@with_data
@pytest.mark.parametrize("name", NAMES)
def test_point_values_are_those_of_the_study(name):
    reference = Path(SHARED).parent / "reference" / "simref_points.json"
    if not reference.is_file(): pytest.skip("the published values are not at hand")
    expected = next(row for row in json.loads(reference.read_text())["sets"] if row["name"] == name)
    data = load_errors(name)
    assert len(data) == expected["M"] == catalogue()["points"][name]
    z = data.error / data.uncertainty
    np.testing.assert_allclose([np.mean(z**2), np.mean(z), np.std(z, ddof=1)], [expected["ZMS"], expected["mean_Z"], expected["sd_Z"]], rtol=1e-8)


def test_demo_needs_nothing_and_has_every_kind_of_statement(alone):
    days = load_demo()
    assert len(days) == 730 and days["date"].is_monotonic_increasing and not days.isna().any(axis=None)
    levels = [int(name[1:]) for name in days if name.startswith("q")]
    assert levels == sorted(levels) and len(levels) == 9 and (np.diff(days.filter(regex=r"^q\d"), axis=1) >= 0).all()
    assert (days["temperature_std"] > 0).all() and days["rain_prob"].between(0, 1).all() and set(days["rain"]) == {0, 1}
    for name in set(days) - {f"q{level:02}" for level in levels}: assert name in load_demo.__doc__
    with pytest.raises(DatasetUnavailable): load_errors("Diffusion_RF")


@with_data
def test_the_folder_comes_first(alone, monkeypatch):
    folder = alone / "data" / "simref" / "PAL2022"
    folder.mkdir(parents=True)
    shutil.copyfile(Path(SHARED) / "simref" / "PAL2022" / "Diffusion_RF_Test_cal.csv", folder / "Diffusion_RF_Test_cal.csv")
    monkeypatch.setenv("UQCAL_DATA_DIR", str(alone / "data"))
    assert datasets._locate(datasets._SETS["Diffusion_RF"]) == folder / "Diffusion_RF_Test_cal.csv"


def test_a_damaged_file_is_named_with_both_checksums(alone, monkeypatch):
    file = alone / "data" / "simref" / "RAS2023" / "logP_150k_LS-GCN_test.csv"
    file.parent.mkdir(parents=True)
    file.write_text("logP,uq,y_pred\n1,1,1\n")
    monkeypatch.setenv("UQCAL_DATA_DIR", str(alone / "data"))
    with pytest.raises(ValueError) as caught: load_errors("logP_150k_LS-GCN")
    for part in (str(file), datasets._SETS["logP_150k_LS-GCN"].sha256, hashlib.sha256(file.read_bytes()).hexdigest()): assert part in str(caught.value)


def test_no_network_and_no_copy_says_both_ways_out(alone):
    with pytest.raises(DatasetUnavailable) as caught: load_errors("QM9_E")
    for part in ("qm9_qm9_E_calibrated_isotonic_test.csv", "not on this machine", "connect once", "UQCAL_DATA_DIR", "simref/BUS2022/"): assert part in str(caught.value)
    assert isinstance(caught.value, OSError)


def test_a_folder_without_the_file_is_named(alone, monkeypatch):
    monkeypatch.setenv("UQCAL_DATA_DIR", str(alone / "nowhere"))
    with pytest.raises(DatasetUnavailable, match="neither in .*nowhere, which UQCAL_DATA_DIR names"): load_errors("QM9_E")


@with_data
def test_a_download_is_kept_and_shows_its_progress(server, monkeypatch, capfd):
    entry = datasets._SETS["logP_10k_a_LS-GCN"]
    (server / entry.file).parent.mkdir(parents=True)
    shutil.copyfile(Path(SHARED) / "simref" / entry.file, server / entry.file)
    assert len(load_errors(entry.name, progress=True)) == 5000
    assert "100%" in capfd.readouterr().err
    (server / entry.file).unlink()
    assert len(load_errors(entry.name, progress=True)) == 5000  # from the cache
    assert capfd.readouterr().err == ""


def test_a_wrong_download_is_refused_and_not_kept(server, capfd):
    entry = datasets._SETS["logP_10k_a_LS-GCN"]
    (server / entry.file).parent.mkdir(parents=True)
    (server / entry.file).write_text("not the file")
    with pytest.raises(ValueError, match=entry.sha256): load_errors(entry.name)
    assert not [p for p in (server.parent / "cache").rglob("*") if p.is_file()]
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name, closest", [("qm9_e", "QM9_E"), ("Diffusion", "Diffusion_RF"), ("logP_150k", "logP_150k_LS-GCN")])
def test_an_unknown_name_is_answered_with_the_closest(name, closest):
    with pytest.raises(ValueError, match=f"did you mean '{closest}'"): load_errors(name)


@pytest.mark.parametrize("name", [None, 3, ["QM9_E"]])
def test_a_name_is_a_string(name):
    with pytest.raises(TypeError, match="name must be one of"): load_errors(name)


def test_a_set_is_frozen_and_keeps_its_own_copy():
    values = np.array([0.5, 1.0])
    data = RegressionErrors(error=values, uncertainty=values, name="mine", unit="eV", title="title", source="source", doi="doi", licence="licence")
    values[0] = 9
    assert data.error[0] == 0.5
    with pytest.raises(ValueError): data.error[0] = 1
    with pytest.raises(dataclasses.FrozenInstanceError): data.name = "yours"
    with pytest.raises(ValueError, match="uncertainty must be positive"): RegressionErrors(error=[1], uncertainty=[0], name="mine", unit="", title="", source="", doi="", licence="")
    assert data.to_frame().to_dict("list") == {"error": [0.5, 1.0], "uncertainty": [0.5, 1.0]}
    assert "0.5" not in repr(data)


def test_the_display_escapes_what_it_shows():
    shown = RegressionErrors(error=[1.0], uncertainty=[1.0], name="<script>", unit="<b>", title="<i>", source="&", doi="", licence="")._repr_html_()
    assert "<script>" not in shown and "&lt;script&gt;" in shown and "<i>" not in shown and len(shown) < 500


def test_the_catalogue_lists_every_set_with_its_origin():
    table = catalogue()
    assert list(table.columns) == ["title", "points", "unit", "doi", "licence", "file", "rows"] and len(table) == 9
    assert table["doi"].str.match(r"10\.\d+/").all() and (table["licence"] == "CeCILL 2.1").all() and table["file"].is_unique


@with_data
@pytest.mark.parametrize("name, cases", [("bank", 12_870), ("credit", 30_000), ("churn", 10_000), ("fetal", 2126)])
def test_tables_hold_numbers_and_binary_outcomes(name, cases):
    table = datasets.load_table(name)
    assert len(table) == len(table.features) == cases and set(table.outcome) == {0, 1}
    assert np.isfinite(table.features.to_numpy()).all() and not table.outcome.flags.writeable
    assert f"{cases:,} cases" in table._repr_html_()


def test_a_table_that_is_nowhere_says_both_ways_out(alone, monkeypatch):
    monkeypatch.setattr(datasets, "_TABLE_ADDRESS", "http://127.0.0.1:9/")
    with pytest.raises(DatasetUnavailable, match=r"set UQCAL_DATA_DIR to a folder that holds it as ops/bank\.csv"): datasets.load_table("bank")
    with pytest.raises(ValueError, match="did you mean 'credit'"): datasets.load_table("credits")
