"""Rows of a stream that are longer than a line, and bytes that are packed: read as pandas and csv read them."""
import bz2
import csv
import gzip
import io
import json
import lzma
import os
import zipfile

import numpy as np
import pandas as pd
import pytest

from uqcal.adapters.error_streams import recalibrate_bound_rows, recalibrate_error_rows
from uqcal.adapters.rows import recalibrate_rows
from uqcal._command.cli import main

NOTES = ["plain", "first\nsecond", 'a "quoted" word,\nthen a, b, c\n\nand more', "ends with a return\r\nof old", ""]


def table(n=40, seed=0, place=0, head="a note"):
    "Cells of a table whose notes stand in this column."
    rng = np.random.default_rng(seed)
    rows = [[head, "p", "y"]] + [[NOTES[k % 5], f"{rng.random():.3f}", str(rng.integers(0, 2))] for k in range(n)]
    return [row[1:1 + place] + row[:1] + row[1 + place:] for row in rows]


def written(rows, end="\r\n", delimiter=","):
    "The table as `csv` writes it."
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator=end, delimiter=delimiter).writerows(rows)
    return text.getvalue()


def cells(text, delimiter=","): return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))


def through(text, take=recalibrate_rows, source=io.BytesIO, **options):
    "What is written for a table, and the summary."
    out = []
    summary = take(source(text.encode()), out.append, **(options or {"score": "p", "y_true": "y"}))
    return "".join(out), summary


class Drops(io.BytesIO):
    "Bytes that come a few at a time."
    def read1(self, size=-1): return self.read(7)


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("end, delimiter, source", [("\r\n", ",", io.BytesIO), ("\n", ";", Drops), ("\n", "\t", io.BytesIO)])
def test_a_line_break_in_a_cell_is_read_as_csv_reads_it(place, end, delimiter, source):
    rows = table(place=place, head="a note\nin two lines")
    text = written(rows, end, delimiter)
    out, summary = through(text, source=source)
    found = cells(out, delimiter)
    assert [row[:-1] for row in found] == cells(text, delimiter) == rows and summary.rows == 40
    assert pd.read_csv(io.StringIO(out), sep=delimiter).shape == (40, 4)
    plain = through(written([[one for k, one in enumerate(row) if k != place] for row in rows]))[0]
    assert [row[-1] for row in found] == [row[-1] for row in cells(plain)]


@pytest.mark.parametrize("take, options, added", [(recalibrate_error_rows, {"uncertainty": "p", "error": "y"}, 1),
                                                  (recalibrate_bound_rows, {"lower": "p", "upper": "q", "y_true": "y", "level": 0.9}, 2)])
def test_so_are_rows_that_state_other_things(take, options, added):
    rows = [[*row, row[1] if row[1] == "p" else str(float(row[1]) + 1)] for row in table()]
    rows[0][-1] = "q"
    out, summary = through(written(rows), take, **options)
    assert [row[:-added] for row in cells(out)] == rows and summary.rows == 40


@pytest.mark.parametrize("cut", [1, 2, 3, 17, 39])
def test_a_state_in_mid_file_counts_rows_and_not_lines(tmp_path, cut):
    rows = [["id", *row] for row in table(1)[:1]] + [[f"{NOTES[k % 5]} {k}", *row] for k, row in enumerate(table()[1:])]
    options = {"score": "p", "y_true": "y", "key": "id", "method": "tops"}
    whole = cells(through(written(rows), **options)[0])
    state = tmp_path / "s.json"
    torn = written(rows[:cut + 1]) + written([["a cell\nthat goes on", "0.5\n", "1"]])[:-12]  # the file as it is while a row is written
    with pytest.raises(ValueError, match="^line [0-9]+: a quotation mark opens a cell"): through(torn, state=state, every=2, **options)
    assert json.loads(state.read_text())["content"]["state"]["taken_"] == cut
    rest, summary = through(written(rows), state=state, resume=True, **options)
    assert cells(rest)[1:] == whole[cut + 1:] and summary.rows == 40


@pytest.mark.parametrize("stray, line", [(2, 2), (5, 5), (30, 30)])
@pytest.mark.parametrize("on_error", ["stop", "skip"])
def test_a_mark_that_nothing_closes_swallows_no_rows(tmp_path, stray, line, on_error):
    lines = ["p,y,n", *(f"0.{k},1,b" for k in range(100, 160))]
    lines[stray - 1] = '0.5,1,"b'
    state = tmp_path / "s.json"
    with pytest.raises(ValueError, match=f"^line {line}: a quotation mark opens a cell and nothing closes it before the next rows"):
        through("\n".join(lines), score="p", y_true="y", state=state, on_error=on_error)
    again, summary = through("\n".join(lines[:stray - 1]), score="p", y_true="y", state=tmp_path / "t.json") if stray > 2 else ("", None)
    if summary is not None:
        first, second = (json.loads(path.read_text())["content"]["state"] for path in (state, tmp_path / "t.json"))
        assert (first.pop("ended_"), second.pop("ended_")) == (False, True) and first == second


def test_a_broken_row_of_several_lines_is_named_and_left_out_as_a_whole():
    text = 'p,y,n\n0.3,1,"a\nb" c\n0.4,0,b\n0.4,0,"b\nc"\n1.5,0,"b\nc"\n'
    with pytest.raises(ValueError, match="^lines 2 to 3: can't be read as CSV"): through(text)
    told = []
    out, summary = through(text, score="p", y_true="y", on_error="skip", complain=told.append)
    assert [row[2] for row in cells(out)] == ["n", "b", "b\nc"] and summary.skipped == 2 and told[1].startswith("lines 7 to 8: column 'p' must lie in")


def test_a_cell_of_many_short_lines_is_refused_in_good_time():
    "Mutation: the length of what is held is added up at each line."
    with pytest.raises(ValueError, match="^line 2: a quotation mark"): through('p,y,n\n0.3,1,"' + "a\n" * 600_000)


# --- the command -----------------------------------------------------------------------------------------------------------------------

@pytest.fixture
def stream(tmp_path, monkeypatch, capsys):
    "A function that recalibrates a file of this folder, and returns what was said."
    monkeypatch.chdir(tmp_path)

    def stream(name, *options, code=0):
        with pytest.raises(SystemExit) as ended: main(["monitor", name, "--observed", "y", "--prob", "p", *options])
        said, err = capsys.readouterr()
        assert ended.value.code == code, err
        return err if code else said
    return stream


@pytest.mark.parametrize("left", ["cell", "line", "row", "nothing", "header"])
def test_an_output_that_was_cut_short_goes_on_behind_its_last_whole_row(stream, left):
    text = written(table(), "\n")
    for name, rows in (("all.csv", table()), ("half.csv", table()[:24])):
        with open(name, "w", newline="") as file: file.write(written(rows, "\n"))
    stream("all.csv", "--state", "whole.json", "--out", "whole.csv")
    if left != "header": stream("half.csv", "--state", "s.json", "--out", "parts.csv")
    with open("parts.csv", "a", newline="") as file:
        file.write({"cell": '"first\nsec', "line": '"first\nsecond\n', "row": '"first\nsecond",0.3,1', "nothing": "", "header": "a note,p"}[left])
    stream("all.csv", "--state", "s.json", "--resume", "--out", "parts.csv")
    with open("parts.csv", newline="") as file: found = file.read()
    with open("whole.csv", newline="") as file: assert found == file.read()
    assert [row[:-1] for row in cells(found)] == cells(text)


@pytest.mark.parametrize("there", ["a diary without an end of line", "other,names\n1,2", ""])
def test_a_file_of_other_columns_stays_as_it_is(stream, there):
    with open("t.csv", "w", newline="") as file: file.write(written(table(), "\n"))
    with open("out.csv", "w") as file: file.write(there)
    said = stream("t.csv", "--state", "s.json", "--out", "out.csv", code=2 if there else 0)
    assert not there or "begins with other column names" in said and open("out.csv").read() == there


def packed(data, ending):
    "Bytes packed in this way."
    if ending == ".zip":
        held = io.BytesIO()
        with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive: archive.writestr("inside.csv", data)
        return held.getvalue()
    if ending == ".zst": return pytest.importorskip("pyarrow").compress(data, codec="zstd", asbytes=True)
    return {".gz": gzip, ".bz2": bz2, ".xz": lzma}[ending].compress(data)


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz", ".zst", ".zip"])
def test_a_stream_may_be_packed_in_each_way_that_tables_are(stream, ending):
    data = written(table(400)).encode()
    with open("t.csv", "wb") as file: file.write(data)
    with open(f"t.csv{ending}", "wb") as file: file.write(packed(data, ending))
    stream("t.csv", "--out", "plain.csv")
    stream(f"t.csv{ending}", "--out", "made.csv")
    assert open("made.csv", "rb").read() == open("plain.csv", "rb").read()
    with open(f"cut.csv{ending}", "wb") as file: file.write(packed(data, ending)[:-40])
    assert f"cut.csv{ending} can't be read as" in stream(f"cut.csv{ending}", "--out", "cut.csv", code=2) and not os.path.exists("cut.csv")


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz", ".zst", ".zip", ".jsonl", ".ndjson", ".arrow", ".ipc", ".parquet", ".pq", ".feather", ".xlsx", ".xlsm", ".csv.XZ"])
def test_no_output_of_csv_gets_the_name_of_another_format(stream, ending):
    with open("t.csv", "w") as file: file.write("p,y,E,u\n" + "0.5,1,0.1,1\n0.25,0,-0.1,1\n" * 9)
    assert "--out writes CSV as plain text" in stream("t.csv", "--out", f"made{ending}", code=2)
    with pytest.raises(SystemExit) as ended: main(["mend", "t.csv", "--error", "E", "--uncertainty", "u", "--out", f"made{ending}"])
    assert ended.value.code == 2 and os.listdir() == ["t.csv"]


def test_what_is_no_csv_is_not_read_row_by_row(stream):
    frame = pd.DataFrame({"p": [0.5], "y": [1]})
    frame.to_json("t.jsonl", orient="records", lines=True)
    with open("t.jsonl.gz", "wb") as file: file.write(gzip.compress(open("t.jsonl", "rb").read()))
    for name in ("t.jsonl", "t.jsonl.gz"): assert f"{name} is not read row by row" in stream(name, code=2)
