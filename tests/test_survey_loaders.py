"""The loaders of the survey study, on files of the published layouts that are written here: columns, types, the size of one county."""
import gzip
import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from uqcal.subgroups.two_groups import comparison_graph

STUDY = Path(__file__).parent.parent / "nbs" / "studies" / "cumulative_survey.ipynb"
N = 15_000  # households of a county such as Alameda in one year's file


@pytest.fixture(scope="module")
def loaders():
    "What the study's cells define."
    cells = ["".join(cell["source"]) for cell in json.loads(STUDY.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    names = {"np": np, "pd": pd, "gzip": gzip, "io": __import__("io"), "zipfile": zipfile}
    for start in ("ACS_COLUMNS", "def load_classified"): exec(next(cell for cell in cells if cell.startswith(start)), names)
    return names


def households(n=N, seed=1):
    "A state's file as published: text and numbers, blanks, codes with leading zeros, negative incomes and replicate weights."
    rng = np.random.default_rng(seed)
    weight = rng.integers(0, 300, n)
    table = pd.DataFrame({"RT": "H", "SERIALNO": [f"2019HU{k:07d}" for k in range(n)], "DIVISION": 9, "PUMA": [f"{code:05d}" for code in np.repeat([101, 6101, 7501], [n // 2, n // 4, n - n // 2 - n // 4])],
                          "REGION": 4, "ST": "06", "ADJHSG": 1000000, "ADJINC": 1010145, "WGTP": weight, "NP": rng.integers(0, 7, n), "HINCP": rng.integers(-9, 300, n) * 1000.0,
                          "LNGI": rng.choice([1.0, 2.0, np.nan], n, p=[0.85, 0.1, 0.05])})
    replicates = np.round(weight[:, None] * rng.normal(1, 0.5, (n, 80))).astype(int)
    return pd.concat([table, pd.DataFrame(replicates, columns=[f"WGTP{k}" for k in range(1, 81)])], axis=1)


def test_households_of_the_published_layout_are_read_as_written(loaders, tmp_path):
    table = households()
    with zipfile.ZipFile(tmp_path / "csv_hca.zip", "w") as archive:
        archive.writestr("psam_h06.csv", table.to_csv(index=False))
        archive.writestr("ACS2019_PUMS_README.pdf", "not a table")
    read = loaders["load_households"](tmp_path / "csv_hca.zip")
    kept = table[(table["WGTP"] > 0) & (table["HINCP"] > 0) & table["LNGI"].notna()]
    assert len(read) == len(kept) and len(read) > 0.7 * N and (table[[f"WGTP{k}" for k in range(1, 81)]] < 0).any(axis=None)
    np.testing.assert_allclose(10**read["score"], kept["HINCP"] * 1.010145)
    np.testing.assert_array_equal(read["weight"], kept["WGTP"])
    np.testing.assert_array_equal(read["response"], kept["LNGI"] == 2)
    np.testing.assert_array_equal(read["county"], kept["PUMA"].str[:3].astype(int))
    np.testing.assert_array_equal(read[[f"WGTP{k}" for k in range(1, 81)]], kept[[f"WGTP{k}" for k in range(1, 81)]])
    assert all(kind.kind == "f" for kind in read.dtypes.drop("county")) and sorted(read["county"].unique()) == [1, 61, 75]


def test_a_county_read_from_the_file_is_compared_with_its_replicate_weights(loaders, tmp_path):
    households(3000).to_csv(tmp_path / "psam_h06.csv", index=False)
    read = loaders["load_households"](tmp_path / "psam_h06.csv")
    a, b = (read[read["county"] == code] for code in (1, 61))
    columns = [f"WGTP{k}" for k in range(1, 81)]
    graph = comparison_graph(a["response"], a["score"], b["response"], b["score"], sample_weight_a=a["weight"], sample_weight_b=b["weight"],
                             replicate_weights=(a[columns], b[columns]), n_resamples=99, rng=1)
    assert graph.method == "replicates" and 0 < graph.null_scale < 0.1 and graph.n == len(a) + len(b)


def test_files_without_replicates_or_compressed_are_read_and_others_refused(loaders, tmp_path):
    table = households(200).drop(columns=[f"WGTP{k}" for k in range(1, 81)])
    table.to_csv(tmp_path / "plain.csv", index=False)
    table.to_csv(tmp_path / "packed.csv.gz", index=False)
    one, other = (loaders["load_households"](tmp_path / name) for name in ("plain.csv", "packed.csv.gz"))
    pd.testing.assert_frame_equal(one, other)
    assert one.columns.tolist() == ["score", "response", "weight", "county"]
    table.drop(columns="LNGI").to_csv(tmp_path / "short.csv", index=False)
    with pytest.raises(ValueError, match="must have the columns LNGI"): loaders["load_households"](tmp_path / "short.csv")
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        for name in ("psam_h06a.csv", "psam_h06b.csv"): archive.writestr(name, "x\n1\n")
    with pytest.raises(ValueError, match="must hold one CSV file, it holds 2"): loaders["load_households"](tmp_path / "two.zip")


def test_classifier_scores_are_read_as_written(loaders, tmp_path):
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"image": [f"n{k}.JPEG" for k in range(2600)], "true": np.repeat([248, 293], 1300), "predicted": rng.integers(247, 295, 2600),
                          "probability": np.float32(rng.beta(5, 1, 2600)).clip(1e-6, 1)})
    table.to_csv(tmp_path / "images.csv.gz", index=False)
    read = loaders["load_classified"](tmp_path / "images.csv.gz")
    np.testing.assert_allclose(np.exp(-read["score"]), table["probability"], rtol=1e-5)
    np.testing.assert_array_equal(read["response"], table["true"] == table["predicted"])
    table.loc[5, "probability"] = 0.0
    table.to_csv(tmp_path / "wrong.csv", index=False)
    with pytest.raises(ValueError, match="probability must lie in"): loaders["load_classified"](tmp_path / "wrong.csv")
