"""Files as people have them: several forms, compressed or not, cells of several lines, thousands, and every word for what is missing."""
import bz2
import csv
import gzip
import json
import lzma
import zipfile

import numpy as np
import pandas as pd
from every_case import every_case
import pytest

from uqcal._base.rows_again import exact_encoding, rows_again
from uqcal._base.tables import read_errors, read_intervals, read_probabilities, read_table

pyarrow = pytest.importorskip("pyarrow")
VALUES = np.array([[0.1, 1.0], [-0.3, 0.2], [np.nan, 0.7], [1 / 3, 12345678.125]])
FRAME = pd.DataFrame(VALUES, columns=["error", "uncertainty"]).assign(kind=["a", None, "b", "c"], n=[1, 2**53 + 1, 3, 4])


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch): monkeypatch.chdir(tmp_path)


def arrow_stream(frame, name):
    table = pyarrow.Table.from_pandas(frame)
    with pyarrow.OSFile(name, "wb") as file, pyarrow.ipc.new_stream(file, table.schema) as out: out.write_table(table)


def json_lines(frame, name):
    rows = frame.astype(object).to_dict("records")
    with open(name, "w") as file: file.write("\n".join(json.dumps({key: value for key, value in row.items() if not pd.isna(value)}) for row in rows))


FORMS = {"csv": lambda frame, name: frame.to_csv(name, index=False), "tsv": lambda frame, name: frame.to_csv(name, index=False, sep="\t"),
         "jsonl": json_lines, "ndjson": json_lines,
         "parquet": lambda frame, name: frame.to_parquet(name), "feather": lambda frame, name: frame.to_feather(name), "arrow": lambda frame, name: frame.to_feather(name),
         "ipc": arrow_stream}


def pack_zip(content, name, inner):
    with zipfile.ZipFile(name, "w") as archive:
        archive.writestr("__MACOSX/._" + inner, b"x")
        archive.writestr("folder/" + inner, content)


PACKED = {"": lambda content, name, inner: open(name, "wb").write(content), ".gz": lambda content, name, inner: open(name, "wb").write(gzip.compress(content)),
          ".bz2": lambda content, name, inner: open(name, "wb").write(bz2.compress(content)), ".xz": lambda content, name, inner: open(name, "wb").write(lzma.compress(content)),
          ".zst": lambda content, name, inner: open(name, "wb").write(pyarrow.compress(content, codec="zstd", asbytes=True)), ".zip": pack_zip}


def written(form, packed, frame=FRAME):
    FORMS[form](frame, f"plain.{form}")
    with open(f"plain.{form}", "rb") as file: content = file.read()
    PACKED[packed](content, f"made.{form}{packed}", f"inside.{form}")
    return f"made.{form}{packed}"


@pytest.mark.parametrize("packed", PACKED)
@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_read_as_csv_is(form, packed):
    name = written(form, packed)
    table = read_table(name, ["error", "uncertainty"], by=["kind"], groups=["n"])
    np.testing.assert_array_equal(np.column_stack([table.columns["error"], table.columns["uncertainty"]]), VALUES)
    assert table.columns["kind"].tolist() == ["a", None, "b", "c"] and table.columns["n"].tolist() == ["1", str(2**53 + 1), "3", "4"]
    assert table.source == name and table.places.tolist() == ([2, 3, 4, 5] if form in ("csv", "tsv") else [1, 2, 3, 4])
    assert read_table(name, ["error"], drop_missing=True).left_out == {"missing": 1}


@pytest.mark.parametrize("packed", PACKED)
@pytest.mark.parametrize("form", ["csv", "jsonl", "arrow", "ipc"])
def test_rows_go_out_again_whatever_the_form(form, packed):
    name = written(form, packed)
    table = read_table(name, ["error", "uncertainty"], drop_missing=True)
    assert exact_encoding(name) == "utf-8"
    rows = list(csv.DictReader("".join(rows_again(name, table, {"twice": 2 * table.columns["uncertainty"]})).splitlines()))
    assert [float(row["twice"]) for row in rows] == [2.0, 0.4, 24691356.25] and [row["kind"] for row in rows] == ["a", "", "c"]


def test_single_precision_of_parquet_is_read_as_it_is_written():
    FRAME.assign(error=np.float32([0.1, 0.2, np.nan, 0.7]), uncertainty=np.float16([0.1, 0.2, 0.3, 0.4]), n=np.float32([0.1, 0.2, 0.3, 4])).to_parquet("made.parquet")
    table = read_table("made.parquet", ["error", "uncertainty"], by=["n"])
    np.testing.assert_array_equal(table.columns["error"], [0.1, 0.2, np.nan, 0.7])
    np.testing.assert_array_equal(table.columns["uncertainty"], [0.1, 0.2, 0.3, 0.4])
    np.testing.assert_array_equal(table.columns["n"], [0.1, 0.2, 0.3, 4])
    assert read_table("made.parquet", ["error"], groups=["n"]).columns["n"].tolist() == ["0.1", "0.2", "0.3", "4"]


@pytest.mark.parametrize(("name", "content", "says"), [
    ("made.csv.bz2", b"no bz2", "made.csv.bz2 can't be read as bzip2"), ("made.csv.xz", b"no xz", "can't be read as xz"), ("made.csv.zst", b"no zstd", "can't be read as zstd"),
    ("made.zip", b"no zip", "can't be read as zip"), ("made.csv.gz", gzip.compress(b"E\n1\n" * 999, mtime=0)[:-9], "can't be read as gzip"), ("made.csv.xz", lzma.compress(b"E\n1\n" * 999)[:-20], "can't be read as xz"),
    ("made.jsonl", b'{"E": 1}\n{"E": 2\n', "made.jsonl, line 2: can't be read as JSON"), ("made.jsonl", b'{"E": 1}\n[2]\n', "line 2: each line must hold an object"),
    ("made.jsonl", b'{"E": 1}\n\n{"E": "x"}\n', "made.jsonl, line 3: column 'E' must hold numbers, got 'x'"), ("made.jsonl", b'{"e": 1, "u": 2}', "has no column 'E'.*did you mean 'e'"),
    ("made.jsonl", b"", "is empty"), ("made.arrow", b"no arrow at all, and long enough", "can't be read as arrow"),
])
def test_what_is_not_what_its_name_says_is_refused(name, content, says):
    with open(name, "wb") as file: file.write(content)
    with pytest.raises(ValueError, match=says): read_table(name, ["E"]).numbers("E")


def test_an_archive_holds_one_file():
    with zipfile.ZipFile("made.zip", "w") as archive:
        for name in ("a.csv", "b.csv"): archive.writestr(name, "E\n1\n")
    with pytest.raises(ValueError, match=r"made.zip must hold one file, it holds 2: 'a.csv', 'b.csv'"): read_table("made.zip", ["E"])


# --- cells of several lines

CELLS = {"in the first column": ["sample\nsecond run", "0.5", "1"], "with separators": ["first\nthen, b, c", "0.5", "1"], "with separators and more lines": ["a, b, c\nd, e, f\n,,\ng, h, i\nend", "0.5", "1"],
         "with doubled marks": ['say "so"\n"then" go', "0.5", "1"], "in the last column": ["0.5", "1", "first\nthen a, b, c"], "in two columns": ["a\nb", "0.5", "c\nd"], "of numbers": ["1, 2, 3\n4, 5, 6", "0.5", "1"],
         "empty lines": ["a\n\n\nb", "0.5", "1"], "Windows": ["a\r\nb", "0.5", "1"], "a line of marks": ['\n"\n', "0.5", "1"]}


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("where", CELLS)
def test_a_cell_of_several_lines_is_read_as_csv_and_pandas_read_it(where, delimiter):
    row = CELLS[where]
    names = [f"x{k}" if cell not in ("0.5", "1") else "E" if cell == "0.5" else "uE" for k, cell in enumerate(row)]
    with open("made.csv", "w", newline="") as file:
        out = csv.writer(file, delimiter=delimiter)
        out.writerow(names)
        for _ in range(30): out.writerow(row)
    texts = [name for name in names if name.startswith("x")]
    table = read_table("made.csv", ["E"], groups=texts)
    with open("made.csv", newline="") as file: rows = list(csv.DictReader(file, delimiter=delimiter))
    assert table.places.size == len(rows) == len(pd.read_csv("made.csv", sep=delimiter)) == 30 and (table.columns["E"] == 0.5).all()
    for name in texts: assert table.columns[name].tolist() == [one[name].strip() for one in rows]
    lines = sum(cell.count("\n") for cell in row) + 1
    assert table.places.tolist() == list(range(2, 2 + 30 * lines, lines))
    again = "".join(rows_again("made.csv", table, {"new": table.columns["E"]}))
    assert [one["new"] for one in csv.DictReader(again.splitlines(keepends=True), delimiter=delimiter)] == ["0.5"] * 30


@pytest.mark.parametrize("second", ["", '1,2,5"\n', '1,2,"a note"\n', '1,2,5" wide\n', '"1,2,x\n'])
def test_two_marks_that_happen_to_pair_swallow_no_rows(second):
    with open("made.csv", "w") as file: file.write("E,uE,screen\n" + "1,2,x\n" * 100 + '1,2,"5 inch\n' + "1,2,x\n" * 1899 + second + "1,2,x\n" * 3)
    with pytest.raises(ValueError, match="made.csv, line 102: a quotation mark opens a cell and nothing closes it"): read_table("made.csv", ["E"])


# --- thousands

@pytest.mark.parametrize(("delimiter", "point"), [(";", "."), ("\t", "."), (";", ","), ("\t", ",")])
@pytest.mark.parametrize("cells", [["12.635", "549", "-13.857", "32.491", "-712", "1.204"], ["549", "12.635"], ["+999", "1.000", "12"], ["7", "1.234"]])
def test_thousands_are_asked_about_where_they_can_be_either(delimiter, point, cells):
    text = f"error{delimiter}uncertainty\n" + "".join(f"{cell.replace('.', point)}{delimiter}10{point}000\n" for cell in cells * 8)
    with pytest.raises(ValueError, match="column 'error' holds .*thousands; name the marks by decimal and thousands"): read_errors(text.encode())
    decimal = "," if point == "." else "."
    np.testing.assert_array_equal(read_errors(text.encode(), decimal=decimal, thousands=point)[0][:len(cells)], [float(cell.replace(".", "")) for cell in cells])
    np.testing.assert_array_equal(read_errors(text.encode(), decimal=point)[0][:len(cells)], [float(cell) for cell in cells])


def test_other_tables_with_thousands_are_asked_about_too():
    with pytest.raises(ValueError, match="column 'value' holds '1.204'.*thousands"): read_intervals(b"value;lower;upper\n1.204;980;2.110\n850;700;1.000\n")
    with pytest.raises(ValueError, match="column 'w' holds '2.500'.*thousands"): read_probabilities(b"outcome;score;w\n1;1;2.500\n0;0;800\n", sample_weight="w")
    with pytest.raises(ValueError, match="column 'f' holds '2.500'.*thousands"): read_errors(b"error;uncertainty;f\n1;1;2.500\n2;1;800\n", by=["f"])


@every_case("content", ["0.635;1\n549;1\n", "12.63;1\n549;1\n", "12.635;0.5\n549;1\n", "12.635;1\n1549;1\n12;1\n", "12.635;1.250\n549.000;1.000\n", "1.2e3;1\n1.234;1\n549;1\n", "012.635;1\n549;1\n"])
def test_decimals_that_show_themselves_are_read(content):
    assert read_errors(("error;uncertainty\n" + content).encode())[0][0] < 1300


def test_commas_between_cells_leave_the_point_to_decimals():
    assert read_errors(b"error,uncertainty\n12.635,1\n549,1\n")[0].tolist() == [12.635, 549]


# --- what is missing

WORDS = ["", "NA", "N/A", "n/a", "null", "NULL", "NaN", "nan", "-nan", "-NaN", "None", "<NA>", "#N/A", "#NA", "#N/A N/A", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN", ".", "?", "-"]


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("delimiter", [",", ";"])
def test_each_word_for_a_missing_value_is_one(word, delimiter):
    text = delimiter.join(["error", "uncertainty", "T"]) + "\n" + "".join(delimiter.join(row) + "\n" for row in (["0.5", "1", "300"], [word, "1", "310"], ["0.25", word, "2"], ["0.1", "1", word]))
    with pytest.raises(ValueError, match="line 3: column 'error' has no value"): read_errors(text.encode())
    error, uncertainty, table = read_errors(text.encode(), by=["T"], drop_missing=True)
    assert error.tolist() == [0.5] and table.left_out == {"missing": 3} and table.columns["T"].tolist() == [300]
    table = read_table(text.encode(), ["error"], by=["T"])
    np.testing.assert_array_equal(table.columns["T"], [300, 310, 2, np.nan])


def test_what_pandas_takes_for_missing_is_missing():
    from pandas._libs.parsers import STR_NA_VALUES
    assert set(STR_NA_VALUES) <= set(WORDS)


def test_marks_that_mean_something_among_text_stay_text():
    table = read_table(b"E,charge,answer\n1,+,yes\n2,-,?\n3,+,no\n", ["E"], by=["charge", "answer"], drop_missing=True)
    assert table.columns["charge"].tolist() == ["+", "-", "+"] and table.columns["answer"].tolist() == ["yes", "?", "no"]
    assert read_table(b"E,metal\n1,Na\n2,#N/A\n", ["E"], by=["metal"]).columns["metal"].tolist() == ["Na", None]


def test_a_refusal_names_the_option_that_leaves_rows_out():
    with pytest.raises(ValueError, match="column 'error' has no value; drop_missing leaves out rows without a value$"): read_errors(b"error,uncertainty\n1,2\n,3\n")


@pytest.mark.parametrize("name", ["var", "Variance"])
def test_a_column_of_variances_is_said_to_need_its_square_roots(name):
    with pytest.raises(ValueError, match=rf"if '{name}' holds variances, write their square roots \(np.sqrt\) to a column and name that$"): read_errors(f"error,{name}\n1,2\n".encode())
