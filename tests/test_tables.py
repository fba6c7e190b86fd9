"""Reading tables: what people have is read, what is faulty is refused with its place, nothing is swallowed, merged or guessed."""
import gzip
import io
import os
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

import uqcal
from uqcal._base.files import display_name
from uqcal._base.tables import read_errors, read_intervals, read_probabilities, read_table
from uqcal._base.rows_again import rows_again


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fault(content, names=("E", "uE"), name="made.csv", read=read_table, **options):
    "The message with which a file is refused."
    with open(name, "wb") as file: file.write(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError) as refused: read(name, *([list(names)] if read is read_table else []), **options)
    assert "\n" not in str(refused.value)
    return str(refused.value)


# --- nothing silently swallowed

@pytest.mark.parametrize("second", ["", '1,2,5" wide\n', '1,2,"a note"\n', '1,2,"7 inch"\n'])
def test_a_stray_quotation_mark_swallows_no_rows(second):
    rows = "1,2,x\n" * 100 + '1,2,"5 inch\n' + "1,2,x\n" * 1899 + second + "1,2,x\n" * 3
    assert fault("E,uE,screen\n" + rows).startswith("made.csv, line 102: a quotation mark opens a cell and nothing closes it")


def test_a_cell_of_several_lines_is_read():
    with open("made.csv", "w") as file: file.write('E,uE,note\n1,2,"two\nlines, or\nthree"\n3,4,"a ""word"""\n')
    table = read_table("made.csv", ["E"], groups=["note"])
    assert list(table.feature("note")) == ["two\nlines, or\nthree", 'a "word"'] and list(table.places) == [2, 5]


def test_an_endless_line_is_refused_at_once():
    begun = time.perf_counter()
    assert fault("E,uE\n1,2\n" + "1" * 20_000_000).startswith("made.csv, line 3: the line is longer than 1,048,576 characters")
    assert fault("x" * 20_000_000).startswith("made.csv, line 1: the line is longer")
    assert time.perf_counter() - begun < 5


# --- labels stay what they are

def test_labels_of_text_stay_text():
    with open("made.csv", "w") as file: file.write("E,g\n1,007\n1,7\n1,10\n1,1e1\n1,1234567890123456\n1,1234567890123457\n")
    assert list(read_table("made.csv", ["E"], groups=["g"]).feature("g")) == ["007", "7", "10", "1e1", "1234567890123456", "1234567890123457"]


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_labels_may_be_called_na(form):
    """Fails where NA, or None, is missing among labels, so that drop_missing leaves out a region, and where a feature that
    lacks values does not say which word it took for none."""
    if form == "parquet": pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"E": [1.0, 2, 3, 4], "g": ["EU", "NA", "None", None]})
    if form == "csv": frame.to_csv("made.csv", index=False)
    else: frame.to_parquet("made.parquet")
    table = read_table(f"made.{form}", ["E"], groups=["g"], drop_missing=True)
    assert list(table.feature("g")) == ["EU", "NA", "None"] and table.left_out == {"missing": 1}
    left = read_table(f"made.{form}", ["E"], by=["g"], drop_missing=True)
    assert (list(left.feature("g")), left.missing) == ((["EU"], {"g": "NA"}) if form == "csv" else (["EU", "NA", "None"], {})) and table.missing == {}
    assert list(read_table(f"made.{form}", ["E"], groups=["g"], where="g == 'NA'").places) == [3 if form == "csv" else 2]
    with pytest.raises(ValueError, match="column 'g' has no value; drop_missing leaves out rows without a value$"): read_table(f"made.{form}", ["E"], groups=["g"], kinds={"g": "number"})
    if form == "parquet": return
    with pytest.raises(ValueError) as refused: read_table("made.csv", ["E"], by=["g"], kinds={"g": "number"})
    assert str(refused.value) == "made.csv, line 3: column 'g' has no value ('NA' stands for none; say as_groups g if its cells are names of groups), and in 2 more lines; drop_missing leaves out rows without a value"
    assert fault("E,g\n1,a\n2,NULL\n", ["E"], groups=["g"], kinds={"g": "number"}) == "made.csv, line 3: column 'g' has no value ('NULL' stands for none); drop_missing leaves out rows without a value"


def test_whole_numbers_in_parquet_stay_whole():
    pytest.importorskip("pyarrow")
    labels = [1234567890123456, 1234567890123457, 2**62, 2**62 + 1]
    pd.DataFrame({"E": 1.0, "g": labels}).to_parquet("made.parquet")
    assert list(read_table("made.parquet", ["E"], groups=["g"]).feature("g")) == list(map(str, labels))


def test_one_word_makes_no_groups_of_numbers():
    rows = [f"1,2,{k}" for k in range(1000)]
    rows[600] = "1,2,high"
    content = "E,uE,mass\n" + "\n".join(rows)
    assert fault(content, by=["mass"]) == "made.csv, line 602: column 'mass' holds numbers, and here 'high'; say as_groups mass if its cells are names of groups"
    assert read_table("made.csv", ["E"], groups=["mass"]).feature("mass")[600] == "high"
    assert fault("E,g\n1,a\n1,b\n1,7\n1,8\n1,c\n", names=["E"], by=["g"]).startswith("made.csv, line 4: column 'g' holds text, and here '7'; say as_groups g")


# --- the tables people have

EUROPEAN = "Größe;E;uE;Zustand\n1.204,5;0,31;0,25;fertig\n1.310,0;;0,25;fertig\n1.377,5;-0,12;0,20;fertig\n0,0;?;-1;offen\n"


@pytest.mark.parametrize("encoding, given", [("latin-1", "latin-1"), ("utf-8", None), ("utf-8-sig", None), ("utf-16", None), ("utf-16-le", "utf-16-le")])
def test_a_european_file_takes_one_call(encoding, given):
    with open("labor.csv", "wb") as file: file.write(EUROPEAN.encode(encoding))
    error, uncertainty, table = uqcal._base.tables.read_errors("labor.csv", error="E", uncertainty="uE", by=["Größe"], decimal=",", thousands=".", encoding=given,
                                                  drop_missing=True, where="Zustand == 'fertig'")
    np.testing.assert_array_equal([error, uncertainty, table.feature("Größe")], [[0.31, -0.12], [0.25, 0.2], [1204.5, 1377.5]])
    assert table.left_out == {"where": 1, "missing": 1} and list(table.places) == [2, 4]


def test_all_faults_come_in_one_message():
    content = "E,uE\n1,2\nlow,2\n,-1\n1,inf\nno,0\n1,2,3\n1e200,2\n"
    assert fault(content, read=read_errors, error="E", uncertainty="uE") == (
        "made.csv, line 3: column 'E' must hold numbers, got 'low', and in 1 more line; line 4: column 'E' has no value; "
        "line 4: column 'uE' is not positive (-1), and in 1 more line; line 5: column 'uE' is infinite (inf); line 7: 3 cells where the header has 2; "
        "line 8: column 'E' is too large for its square, above 1e150 (1e+200); drop_missing leaves out rows without a value")


@pytest.mark.parametrize("content, expected", [("E;uE\n0,5;2\n1;3\n", [0.5, 1]), ("E\tuE\n-1,25e1\t2\n3\t1\n", [-12.5, 3]), ("E;uE\n0.5;2\n1;3\n", [0.5, 1])])
def test_a_decimal_comma_is_recognised_where_commas_are_free(content, expected):
    with open("made.csv", "w") as file: file.write(content)
    np.testing.assert_array_equal(read_table("made.csv", ["E", "uE"]).numbers("E"), expected)


def test_marks_are_not_mixed():
    assert fault("E;uE\n0,5;2\n0.5;2\n").startswith("made.csv, line 3: column 'E' must hold numbers, got '0.5'")
    assert fault("E;uE\n0.5;2\n0,5;2\n").startswith("made.csv, line 3: column 'E' must hold numbers, got '0,5'")
    assert fault('E,uE\n"0,5",2\n').startswith("made.csv, line 2: column 'E' must hold numbers, got '0,5'")
    assert fault("E;uE\n1.23;2\n", decimal=",", thousands=".").startswith("made.csv, line 2: column 'E' must hold numbers, got '1.23'")
    for options in ({"decimal": ";"}, {"thousands": "x"}, {"decimal": ",", "thousands": ","}, {"thousands": "."}): assert "must be" in fault("E,uE\n1,2\n", **options)


def test_thousands_are_not_taken_for_decimals_where_another_column_shows_the_mark():
    """Fails where only the cells that are read say what a point means: a file whose column y has decimal commas was read
    as if -9.997 were nearly ten. Nor are files
    refused whose numbers show their mark themselves, or where no cell shows the other."""
    content = "E;uE;y;note\n-9.997;5.741;1;a\n-4.732;6.945;7,91;b\n"
    assert fault(content) == ("made.csv, line 2: column 'E' holds '-9.997', which may be thousands, since column 'y' has a decimal comma in line 3, "
                              "'7,91'; name the marks by decimal and thousands")
    assert "column 'y' holds '7.910', which may be thousands, since column 'E' has a decimal comma in line 2, '0,5'" in fault("E;uE;y\n0,5;1;7.910\n", ["y", "E"])
    assert "'1,234', which may be thousands, since column 'y' has a decimal point" in fault("E\tuE\ty\n1,234\t2\t0.5\n")
    np.testing.assert_array_equal(read_table("made.csv", ["E"], decimal=".", thousands=",").numbers("E"), [1234])
    fault(content, by=["y"])
    assert "column 'y' has a decimal comma" in fault("E;uE;T;y\n1;2;1.204;7,91\n", by=["T"])
    with open("made.csv", "w") as file: file.write(content)
    np.testing.assert_array_equal(read_table("made.csv", ["E", "uE"], decimal=",", thousands=".").numbers("E"), [-9997, -4732])
    np.testing.assert_array_equal(read_table("made.csv", ["E", "uE"], decimal=".").numbers("E"), [-9.997, -4.732])
    for old, new in (("5.741", "0.741"), ("5.741", "5.74"), ("7,91", "7,910"), ("7,91", "1,2,3")):
        with open("made.csv", "w") as file: file.write(content.replace(old, new))
        assert read_table("made.csv", ["E", "uE"]).numbers("E")[0] == -9.997


def test_decimals_with_another_mark_make_no_names_of_groups():
    "Fails where a feature whose numbers have the other mark throughout is read as text, each number a group."
    for content in ('E,uE,T\n1,2,"20,5"\n1,2,"21,5"\n', "E;uE;T\n0.5;2;20,5\n1;2;21,5\n"):
        assert fault(content, by=["T"]) == ("made.csv, line 2: column 'T' holds '20,5', with another mark before decimals; name the marks by decimal "
                                                  "and thousands, or say as_groups T if its cells are names of groups")
        assert list(read_table("made.csv", ["E"], groups=["T"]).feature("T")) == ["20,5", "21,5"]


@pytest.mark.parametrize("mark, cell", [(" ", "1 234 567.5"), (" ", "1\u202f234\u00a0567.5"), ("'", "1’234'567.5"), (",", '"1,234,567.5"'), ("_", "1_234_567.5")])
def test_thousands_are_read_where_their_mark_is_named(mark, cell):
    with open("made.csv", "w", encoding="utf-8") as file: file.write(f"E,uE\n{cell},2\n12,3\n")
    np.testing.assert_array_equal(read_table("made.csv", ["E"], thousands=mark).numbers("E"), [1234567.5, 12])


@pytest.mark.parametrize("form", ["csv.gz", "parquet", "feather", "xlsx"])
def test_forms_of_a_table(form):
    pytest.importorskip({"parquet": "pyarrow", "feather": "pyarrow", "xlsx": "openpyxl"}.get(form, "gzip"))
    frame = pd.DataFrame({"E": [0.5, -1.0, 2.0], "uE": [1.0, 2.0, 3.0], "g": ["a", "b", "a"], "k": [7, 8, 9]})
    write = {"csv.gz": lambda name: frame.to_csv(name, index=False), "parquet": frame.to_parquet, "feather": frame.to_feather,
             "xlsx": lambda name: frame.to_excel(name, index=False)}[form]
    write(f"made.{form}")
    table = read_table(f"made.{form}", ["E", "uE"], by=["k"], groups=["g"], where="k > 7")
    np.testing.assert_array_equal([table.numbers("E"), table.feature("k")], [[-1, 2], [8, 9]])
    assert list(table.feature("g")) == ["b", "a"] and table.left_out == {"where": 1}
    assert list(table.places) == ([3, 4] if form in ("csv.gz", "xlsx") else [2, 3])


@pytest.mark.parametrize("form", ["csv.gz", "feather", "xlsx", "parquet"])
def test_a_damaged_file_is_refused_in_words(form):
    pytest.importorskip({"parquet": "pyarrow", "feather": "pyarrow", "xlsx": "openpyxl"}.get(form, "gzip"))
    assert "can't be read as" in fault(b"nonsense" * 30, name=f"made.{form}")
    if form == "csv.gz": assert "can't be read as gzip" in fault(gzip.compress(b"E,uE\n1,2\n" * 99999)[:-20], name="made.csv.gz")


def test_categories_that_a_damaged_file_does_not_have_are_refused():
    "Fails where a category is looked up only as it is read, by its place among those that are there."
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import feather
    groups = arrow.DictionaryArray.from_arrays(arrow.array([0, 191], arrow.int32()), arrow.array(["a"]), safe=False)
    feather.write_feather(arrow.table({"E": [1.0, 2.0], "uE": [1.0, 1.0], "g": groups}), "made.feather")
    with pytest.raises(ValueError, match="made.feather can't be read as feather"): read_table("made.feather", ["E", "uE"], groups=["g"])


@pytest.mark.parametrize("where, said", [("E >", "where can't be evaluated"), ("E + 1", "where must be true or false"), ("1 < 2", "speaks of no column"), ("@x > E", "without @"),
                                         ("E > 100", "where leaves no row")])
def test_conditions_that_can_not_be_used(where, said):
    assert said in fault("E,uE\n1,2\n2,3\n", where=where)


def test_a_condition_can_speak_of_any_column_and_of_missing_values():
    with open("made.csv", "w") as file: file.write("id,E,uE,T/K\n001,1,2,300\n002,oh,2,\n003,3,4,310\n")
    assert list(read_table("made.csv", ["E"], where="`T/K` > 305").places) == [4]
    assert list(read_table("made.csv", ["E"], where="`T/K`.notna() and id > 0").places) == [2, 4]


def test_a_condition_compares_labels_that_are_numbers_as_numbers():
    "Fails where a column of labels is text for the condition too, so that T > 9 can't be asked of it."
    with open("made.csv", "w") as file: file.write("E,T\n1,8\n2,10\n3,NA\n")
    assert list(read_table("made.csv", ["E"], groups=["T"], where="T > 9").feature("T")) == ["10"]


def test_encodings_that_do_not_fit():
    assert fault("E,uE\n1,2\n", encoding="utf-99") == "encoding is not known: 'utf-99'"
    assert fault("E,uE,é\n1,2,3\n", encoding="ascii") == "made.csv is not ascii text; name another encoding"


def test_probabilities_and_intervals():
    with open("made.csv", "w") as file: file.write("y,p,w,low,high\n1,0.5,2,0,1\n0,0.25,0,-1,1\n")
    y, p, w, _ = read_probabilities("made.csv", y_true="y", y_prob="p", sample_weight="w")
    values, bounds, _ = read_intervals("made.csv", y_true="y", lower="low", upper="high")
    np.testing.assert_array_equal([y, p, w, values], [[1, 0], [0.5, 0.25], [2, 0], [1, 0]])
    np.testing.assert_array_equal(bounds, [[0, 1], [-1, 1]])
    assert fault("y,p\n2,0.5\n1,60\n0,-1\n", read=read_probabilities, y_true="y", y_prob="p") == (
        "made.csv, line 2: column 'y' must hold 0 or 1, got 2; line 3: column 'p' must hold probabilities from 0 to 1, got 60, and in 1 more line")
    assert fault("value,lower,upper\n1,0,2\n1,3,2\n", read=read_intervals) == "made.csv, line 3: 'lower' is above 'upper'"


@pytest.mark.parametrize("words", [("True", "False"), ("TRUE", "FALSE"), ("yes", "No"), (True, False)])
def test_outcomes_may_be_truth_values_and_nothing_else_may(words):
    "Fails where true and false are refused as outcomes, of a CSV or a parquet file, or taken as numbers of another kind."
    if words[0] is True:
        pytest.importorskip("pyarrow")
        pd.DataFrame({"outcome": words, "score": [0.5, 1.0]}).to_parquet("made.parquet")
    else:
        with open("made.csv", "w") as file: file.write(f"outcome,score\n{words[0]},0.5\n{words[1]},1\n")
    name = "made.parquet" if words[0] is True else "made.csv"
    np.testing.assert_array_equal(read_probabilities(name)[0], [1, 0])
    with pytest.raises(ValueError, match="column 'outcome' must hold"): read_table(name, ["outcome"], kinds={"outcome": "probability"})


def test_outcomes_in_other_words_are_refused_with_advice():
    "Fails where whoever wrote pos and neg is not told what to write."
    assert fault("outcome,score\npos,0.5\nneg,1\n", read=read_probabilities) == (
        "made.csv, line 2: column 'outcome' must hold numbers, got 'pos' (1, true and yes say that it came true, 0, false and no that it did not), and in 1 more line")


@pytest.mark.parametrize("mark", [";", ",", "\t", "|"])
def test_a_first_line_that_names_the_separator_is_honoured_and_kept(mark):
    "Fails where sep=; is taken for the header, where the line numbers do not count it, or where it is lost in what is written."
    text = f"\ufeffsep={mark}\r\nE{mark}uE{mark}note\r\n1{mark}2{mark}\"a\r\nb\"\r\n3{mark}4{mark}c\r\n"
    with open("made.csv", "wb") as file: file.write(text.encode())
    table = read_table("made.csv", ["E", "uE"])
    np.testing.assert_array_equal([table.numbers("E"), table.numbers("uE")], [[1, 3], [2, 4]])
    assert list(table.places) == [3, 5]
    again = "".join(rows_again("made.csv", table, {"v": np.array([0.0, 1.0])}))
    assert again == text.replace("note\r", f"note{mark}v\r").replace('b"\r', f'b"{mark}0.0\r').replace("c\r", f"c{mark}1.0\r")


def test_infinite_bounds_are_read_and_other_infinite_numbers_refused():
    for text in ("1,-inf,inf\n1,0,2\n", "1,-Infinity,Inf\n1,0,2\n"):
        with open("made.csv", "w") as file: file.write("value,lower,upper\n" + text)
        assert read_intervals("made.csv")[1].tolist() == [[-np.inf, np.inf], [0, 2]]
    assert read_intervals("made.csv", where="lower > -inf")[1].tolist() == [[0, 2]]
    assert fault("value,lower,upper\n-inf,0,2\n1,,2\n", read=read_intervals) == "made.csv, line 2: column 'value' is infinite (-inf); line 3: column 'lower' has no value; drop_missing leaves out rows without a value"
    assert "line 2: 'lower' is above 'upper'" in fault("value,lower,upper\n1,inf,-inf\n", read=read_intervals)
    assert fault("E,uE\ninf,1\n", read=read_errors, error="E", uncertainty="uE") == "made.csv, line 2: column 'E' is infinite (inf)"


def test_standard_input_without_peek(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("E,uE\n1,2\n".encode("utf-16"))))
    assert list(read_table("-", ["E"]).numbers("E")) == [1]


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes on Linux")
def test_a_file_name_that_is_no_text_is_shown():
    name = os.fsdecode(b"a\xffb.csv")
    assert fault("E,uE\n1,x\n", name=name) == r"a\xffb.csv, line 2: column 'uE' must hold numbers, got 'x'" and display_name(name).isprintable()


def test_reading_needs_no_compiled_kernels():
    code = "import sys; from uqcal import read_table; assert 'numba' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
