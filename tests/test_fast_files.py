"""Files are read in blocks by pandas where that gives the same, to the last bit, as reading them row by row."""
import io
import random
import time

import numpy as np
import pandas as pd
import pytest

from uqcal._base import files, tables
from uqcal._base.tables import read_errors, read_table

CLEAN = ["0.1", "-2.5", "3", "1e-3", "12.635", "-0", "7.910", "549", "1204", "0.30000000000000004", "123456789.123456789", "5e-324", "1.7976931348623157e308", ".5", "2."]
MISSING = ["", "NA", "nan", "NaN", "-nan", "#N/A", ".", "?", "-", "null", "None", "n/a", "N/A", "<NA>", "#NA", "nA", "1.#IND"]
ODD = ["x", "1_0", "inf", "-inf", "Infinity", "1e400", "True", "false", "yes", " 1.5 ", "1 2", "1,5", "1.5.2", "0x1F", "1e", "١", "\u00a01.5", '"2.5"', '"a, b"', '"two\nlines"', '5"', "--1", "+1", "1e5"]
TEXT = ["a", "b", "NA", "", "007", "1e1", "-", "true", " c ", "ö", '"d ""e"""']
SETTINGS = [(",", "."), (";", "."), (";", ","), ("\t", ".")]


def made(rng, delimiter, mark, oddness):
    "A small file, clean or not."
    def number(cells): return rng.choice(cells).replace(".", mark if rng.random() < 0.98 else ".")
    rows = []
    for _ in range(rng.randint(1, 12)):
        cells = [number(CLEAN if rng.random() > oddness else MISSING if rng.random() < 0.5 else ODD) for _ in range(2)] + [rng.choice(TEXT), number(CLEAN + MISSING[:8])]
        if rng.random() < oddness / 4: cells = cells[:rng.randint(1, 3)]
        rows.append(delimiter.join(cells))
        if rng.random() < oddness / 8: rows.append("")
    end = rng.choice(["\n", "\r\n"])
    return end.join([delimiter.join(["E", "uE", "g", "f"]), delimiter.join(["0" + mark + "5", "1", "a", "2"]), *rows]) + end * rng.randint(0, 1)


def found(content, **options):
    "What a file is read as, or the words with which it is refused."
    try: table = read_table(content.encode(), ["E", "uE"], by=["f"], groups=["g"], **options)
    except ValueError as error: return str(error)
    return {name: [None if value is None else value if isinstance(value, str) else "nan" if value != value else np.float64(value).tobytes() for value in column.tolist()]
            for name, column in table.columns.items()}, table.places.tolist(), table.left_out


@pytest.mark.parametrize("oddness", [0.0, 0.03, 0.3])
@pytest.mark.parametrize(("delimiter", "mark"), SETTINGS)
def test_blocks_are_read_as_rows_one_by_one_are(monkeypatch, delimiter, mark, oddness):
    rng, taken, parse = random.Random(f"{delimiter}{mark}{oddness}"), [], files.Block.columns
    def noted(self, *given):
        read = parse(self, *given)
        taken.append(read is not None)
        return read
    for k in range(50):
        content, options = made(rng, delimiter, mark, oddness), {"drop_missing": k % 2 == 1, "decimal": mark if k % 3 else None}
        monkeypatch.setattr(files.Block, "columns", noted)
        at_once = found(content, **options)
        monkeypatch.setattr(files.Block, "columns", lambda *given: None)
        monkeypatch.setattr(tables, "numbers_at_once", lambda *given: None)
        assert at_once == found(content, **options), content
        monkeypatch.undo()
    if oddness == 0: assert sum(taken) > 15  # the fast way is taken where files are clean


@pytest.mark.parametrize("word", ["True", "FALSE", "true"])
def test_a_block_of_truth_values_holds_no_numbers(word):
    with pytest.raises(ValueError, match=f"column 'E' must hold numbers, got '{word}'"): read_table(f"E,uE\n{word},1\n{word},2\n".encode(), ["E", "uE"])


@pytest.mark.parametrize(("delimiter", "mark"), SETTINGS)
def test_long_decimals_are_read_to_the_last_bit(delimiter, mark):
    rng = random.Random(3)
    cells = [f"{rng.choice('+-')}{rng.random():.{rng.randint(1, 40)}f}e{rng.randint(-300, 300)}".lstrip("+") for _ in range(20_000)]
    text = f"E{delimiter}uE\n0{mark}5{delimiter}1\n" + "".join(f"{cell.replace('.', mark)}{delimiter}1\n" for cell in cells)
    np.testing.assert_array_equal(read_table(text.encode(), ["E"], decimal=mark).columns["E"][1:], [float(cell) for cell in cells])


def test_files_with_names_of_rows_in_quotation_marks_are_read_in_blocks(monkeypatch):
    "What R's write.csv writes."
    monkeypatch.setattr(files, "quoted_row", lambda *given: pytest.fail("a row was read alone") if given[0] > 1 else quoted(*given))
    values = np.random.default_rng(0).random((5000, 2))
    text = '"","E","uE","kind"\n' + "".join(f'"{k}",{a!r},{b!r},"a ""b"", c"\n' for k, (a, b) in enumerate(values.tolist()))
    table = read_table(text.encode(), ["E", "uE"], groups=["kind"])
    np.testing.assert_array_equal(np.column_stack([table.columns["E"], table.columns["uE"]]), values)
    assert set(table.columns["kind"]) == {'a "b", c'} and table.places[-1] == 5001


quoted = files.quoted_row


def test_a_clean_file_takes_a_few_times_what_pandas_takes(tmp_path):
    "Fails where rows are visited one by one, which takes some ten to fifteen times as long as pandas."
    values = np.random.default_rng(0).normal(size=(200_000, 3)).round(6)
    frame = pd.DataFrame(values, columns=["error", "uncertainty", "x"]).abs() + 0.1
    frame.to_csv(tmp_path / "made.csv", index=False)
    def took(read):
        start = time.process_time()
        read()
        return time.process_time() - start
    ours = min(took(lambda: read_errors(tmp_path / "made.csv")) for _ in range(3))
    theirs = min(took(lambda: pd.read_csv(io.BytesIO((tmp_path / "made.csv").read_bytes()))) for _ in range(3))
    assert ours < 8 * theirs, (ours, theirs)
