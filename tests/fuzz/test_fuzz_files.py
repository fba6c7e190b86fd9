"""Damaged files through every reader and command, and what was found in them: each is read as it stands or refused in one line; none is read as something else."""
import json
import random
from pathlib import Path
from unittest import mock

import commands
import files
import numpy as np
import pytest
import uqcal
from cases import blocks

from uqcal._adapters.lines import _StateFile
from uqcal._base.files import sheet_records
from uqcal._base.tables import read_table
from uqcal._command import cli_statements

SETS = ["validate", "made.csv", "--observed", "label", "--sets", "sets", "--level", "0.9", "--json", "-", *files.FEW]


@pytest.mark.parametrize("numbers", blocks(60, 100_000))
def test_files(numbers, tmp_path):
    faults = [fault for number in numbers if (fault := files.case(number, tmp_path)[1])]
    assert not faults, "\n".join(faults)


def test_forms_that_were_read_wrongly_or_ended_in_a_traceback(tmp_path, monkeypatch):
    "By file: what is said, or the numbers of column e."
    monkeypatch.chdir(tmp_path)
    cases = [("a.jsonl", b'{"e": ' + b"[" * 100_000, "can't be read as JSON: lists within lists"), ("a.jsonl", b'{"e": 1, "e": 5}', "line 1: can't be read as JSON: it holds 'e' twice"),
             ("a.csv", b"\xef\xbb\xbfe,u\n1,2\n", [1.0]), ("a.csv", "e,u\n1,2\n".encode("utf-16-le"), "utf-16-le"),
             ("a.csv", b"# made by hand\ne,u\n1,2\n", "take out the lines of comment"), ("a.csv", b"x" * 9000 + b",u\n1,2\n", "a.csv has no column 'e'")]
    faults = []
    for name, content, expected in cases:
        Path(name).write_bytes(content)
        for how in ({}, {"encoding": "utf-8"}):
            try: found = read_table(name, ["e"], **how).columns["e"].tolist()
            except ValueError as error: found = str(error)
            if not (found == expected or isinstance(expected, str) and isinstance(found, str) and expected in found and len(found) < 1000): faults.append((content[:40], how, found))
    assert not faults, faults


def test_a_sheet_is_read_refused_or_damaged_in_words(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    import io
    import zipfile

    def sheet(*rows):
        book, made = openpyxl.Workbook(), io.BytesIO()
        for row in rows: book.active.append(row)
        book.save(made)
        return made.getvalue()
    path, whole = tmp_path / "a.xlsx", sheet(["e"], [1.5], [2])
    path.write_bytes(sheet(["e"], ["12,635"], [549], ["1,857"]))
    with pytest.raises(ValueError, match="'12,635', beside whole numbers below a thousand"): read_table(path, ["e"])
    path.write_bytes(sheet(["e"], [12.635], [549], [1.857]))
    assert read_table(path, ["e"]).columns["e"].tolist() == [12.635, 549.0, 1.857]
    with zipfile.ZipFile(io.BytesIO(whole)) as archive: parts = {name: archive.read(name) for name in archive.namelist()}
    for spoilt in ("[Content_Types].xml", "docProps/core.xml", "xl/workbook.xml", "xl/worksheets/sheet1.xml", "xl/styles.xml"):
        for left in (b"", parts[spoilt][:len(parts[spoilt]) // 2], None):
            made = io.BytesIO()
            with zipfile.ZipFile(made, "w") as archive:
                for name, content in (parts | {spoilt: left}).items():
                    if content is not None: archive.writestr(name, content)
            made.seek(0)
            try: list(sheet_records(made, "a.xlsx"))
            except ValueError as error: assert str(error).startswith("a.xlsx can't be read as a spreadsheet: "), (spoilt, error)


def test_sets_are_the_labels_that_are_written(tmp_path, monkeypatch):
    "By label and cell of a first row: whether it is covered, or what is said."
    monkeypatch.chdir(tmp_path)
    cases = [("true", "true", True), ("1.0", "1.0", True), ("1.0", "[1, 2]", True), ("3", "[3.0]", True), ("a", "['a', 'b']", True), ("a", "{'a'}", True), ("a", '["a"]', True), ("a", '"a";"b"', True), ("a", "[]", False),
             ("a", "1e400", False), ("a", "[1e400]", False), ("(0, 1]", "(0, 1]", True), ("a", "['b' 'a']", "no set of labels"), ("a", "[[1]]", "no set of labels"), ("a", "[" * 5000 + "]" * 5000, "no set of labels"),
             ("a", "a,b", "--separator ,"), ("a", "a b", "--separator ' '")]
    faults = []
    for label, cell, expected in cases:
        quoted = ['"{}"'.format(one.replace('"', '""')) for one in (label, cell)]
        Path("made.csv").write_text(f"label,sets\n{','.join(quoted)}\nb,a;b\nb,b\n", encoding="utf-8")
        said = commands.run(*SETS)
        found = f"{3 if expected is True else 2} of 3 rows" in " ".join(said.out.decode().split()) or json.loads(said.out) if said.code == 0 else said.err
        if isinstance(expected, str) == (said.code == 0) or isinstance(expected, str) and expected not in said.err: faults.append((label, cell[:20], said))
        elif said.code == 0 and found is not True and f'"covered": {2 + expected}' not in said.out.decode(): faults.append((label, cell[:20], said.out[:400]))
    assert not faults, faults


def test_patterns_name_columns_of_a_pipe_and_of_a_long_first_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = b"label,p_a,p_b\na,0.6,0.4\nb,0.3,0.7\na,0.6,0.4\nb,0.3,0.7\n"
    for args in (["validate", "-", "--observed", "label", "--probs", "p_*"], ["conformalize", "-", "--observed", "label", "--probs", "p_*", "--level", "0.9"]):
        with mock.patch.object(cli_statements.Asked, "given", files._stop): assert "made: read" in commands.run(*args, given=rows).err, args
    assert commands.run("compare-models", "-", "--observed", "label", "--model", "a=probs:p_*", "--model", "b=probs:p_*", "--jobs", "1", "--n-boot", "50", given=rows).code == 0
    names = [f"m_{k:0500}" for k in range(40)]
    table = "\n\n" + "\n".join(",".join(row) for row in (["y", *names], *[["0.5", *["0.25"] * 40]] * 2))
    said = commands.run("monitor", "-", "--observed", "y", "--samples", "m*", "--out", "-", given=table.encode())
    assert said.code == 0 and said.out.split(b"\n")[0].count(b",recalibrated_m_") == 40
    said = commands.run("monitor", "-", "--observed", "y", "--prob", "p", "--out", "-", "--decimal", ",", given=b'y,p\n1,"0,5"\n0,"0,25"\n')
    assert said.out.splitlines()[1:] == [b'1,"0,5","0,4995"', b'0,"0,25","0,257589"']
    said = commands.run("monitor", "-", "--observed", "y", "--samples", "m*", "--out", "-", given=b"y,m1,m2\r1,2,3\r")
    assert said.code == 2 and "carriage return" in said.err
    said = commands.run("compare-models", "-", "--observed", "y", "--model", "a=samples:m*", "--model", "b=quantiles:q*", "--jobs", "1", given=b"y,m1,m2,q25,q75\n1,1,2,0,3\n2,1,2,0,3\n")
    assert said.code == 2 and "at least three rows" in said.err


def test_a_saved_file_with_a_bit_changed_is_the_same_or_is_refused(tmp_path):
    "Every part of a recalibration counts, also what stands beside the map."
    rng = np.random.default_rng(1)
    u = rng.uniform(1, 2, 200)
    uqcal.recalibrate(3 * u * rng.standard_normal(200), uqcal.MeanStd(0, u), rng=1).save(tmp_path / "model.json")
    whole = (tmp_path / "model.json").read_bytes()
    state = (Path(__file__).parents[1] / "states" / "StreamTally.json").read_bytes()
    spoilt, faults = tmp_path / "spoilt.json", []
    for content, load in ((whole, uqcal.load), (state, lambda path: _StateFile(path).read())):
        changed = [content[:at // 8] + bytes([content[at // 8] ^ 1 << at % 8]) + content[at // 8 + 1:] for at in random.Random(2).sample(range(8 * len(content)), 250)]
        for one in [*changed, content[:-9], b"[" * 100_000, content + content, b"null", b'{"format": "uqcal recalibration 1"}', b'{"format": "uqcal state 2"}', content.replace(b'"n_calibration": 200', b'"n_calibration": 900')]:
            spoilt.write_bytes(one)
            try:
                load(spoilt)
                if json.loads(one) != json.loads(content): faults.append(one[:80])
            except ValueError as error:
                if "spoilt.json" not in str(error): faults.append(error)
    assert not faults, faults[:5]
