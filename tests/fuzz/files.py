"""Tables of every kind and form, damaged: they are read as they stand, or refused in one line that names the file. A script draws as many as it is told and counts what came of them."""
import bz2
import collections
import contextlib
import copy
import csv
import functools
import gzip
import io
import json
import lzma
import os
import re
import sys
import warnings
import zipfile
from pathlib import Path
from unittest import mock

import commands
import damage
import hostile
import numpy as np
import pandas as pd

from uqcal._base.tables import read_table
from uqcal._command import cli_statements

CELLS = ["", " ", "NA", "nan", "NaN", "None", "null", "-", "?", "inf", "-inf", "Infinity", "1e400", "-1e400", "1e-400", "5e-324", "1e308", "−1.5", "5%", "1,5", "1.234,5", "1,234.5", "1,234", "1.234",
         "1 234", "1'234", "1_000", "0x10", "1D5", "+.5", "1.", ".", "2024-01-01", "TRUE", "no", "True", "١٢", "１２", "#N/A", "#DIV/0!", "=1+1", "'1", "\"1", "\"\"", "a\x00b", "\x1b[31m", "1\u00a0000",
         "\u200b1", "NULL", "<b>", "{}", "[]", "[\"a\", \"b\"]", "['a', 'b']", "['a' 'b']", "[a b]", "{'a'}", "1e5", "1.0", "-0", "007", "x" * 5000, "9" * 400, "0." + "1" * 400, "[" * 3000, "a;b", "日", "\ud83d\ude00".encode(
             "utf-16", "surrogatepass").decode("utf-16"), "\u202e1", "1;2", "12:30", "$5", "1/2", "1e", "e", "--1", "1 2", "\t1", "0.5\x0b"]


def sound(rng, n):
    "A table with the columns of every statement, as text that reads back as the same numbers."
    y, std = rng.standard_normal((2, n)).round(3)
    std, p = np.abs(std) + 0.25, rng.uniform(0.05, 0.95, n).round(3)
    frame = pd.DataFrame({"y": y, "mean": (y + std * rng.standard_normal(n)).round(3), "std": std.round(3), "lo": (y - std).round(3), "hi": (y + std * rng.uniform(-0.2, 2, n)).round(3),
                          "outcome": (rng.random(n) < p).astype(int), "prob": p, "p_a": p, "p_b": (1 - p).round(3), "label": rng.choice(["a", "b"], n), "sets": rng.choice(["a", "b", "a;b", '["a"]'], n),
                          "y_a": rng.integers(0, 2, n), "y_b": rng.integers(0, 2, n)})
    for k, name in enumerate(("q05", "q50", "q95")): frame[name] = (y + (k - 1) * std).round(3)
    for k in range(3): frame[f"m{k}"] = (y + rng.standard_normal(n)).round(3)
    return frame.assign(group=rng.choice(["7", "007", "日"], n), key=[f"k{k}" for k in range(n)], w=rng.integers(1, 5, n), note="")


@functools.cache
def _form(number):
    rng = np.random.default_rng([7, number])
    return damage.Form(sound(rng, int(rng.choice([1, 2, 3, 5, 8]))))


def copied(number):
    "One of sixty tables, to be spoilt."
    form = copy.copy(_form(number))
    form.rows, form.numeric, form.options = [list(row) for row in form.rows], list(form.numeric), []
    return form


FEW = ["--n-resamples", "19", "--jobs", "1"]
STATED = {"error": "--error y --std std", "pair": "--observed y --predicted mean --std std", "variance": "--observed y --predicted mean --variance std", "bounds": "--observed y --lower lo --upper hi --level 0.9",
          "sets": "--observed label --sets sets --level 0.9", "prob": "--observed outcome --prob prob", "positive": "--observed label --prob prob --positive a", "classes": "--observed label --probs p_*",
          "labels": "--observed y_* --probs p_* --multilabel", "quantiles": "--observed y --quantiles q*", "named": "--observed y --quantile 0.05=q05 --quantile 0.95=q95", "members": "--observed y --samples m*"}
MORE = ["", "", "--by group", "--by w", "--groups group", "--drop-missing"]
COMMANDS = [("validate", name, f"{words} {more}") for name, words in STATED.items() for more in MORE]
COMMANDS += [("recalibrate", name, f"{STATED[name]} {more} --out out.csv") for name in ("error", "pair", "prob", "classes", "labels", "bounds", "quantiles", "members") for more in MORE]
COMMANDS += [("conformalize", name, f"{STATED[name]} {more} --out out.csv") for name in ("pair", "bounds", "classes", "quantiles", "members") for more in MORE[1:]]
COMMANDS += [("monitor", name, f"{STATED[name]} {more} --out -") for name in ("error", "pair", "prob", "bounds", "classes", "quantiles", "members") for more in ("", "--key key", "--state state.json", "--on-error skip", "--drop-missing")]
COMMANDS += [("compare-models", name, f"{words} --n-boot 50 --jobs 1") for name, words in {
    "pair": "--observed y --model a=mean-std:mean,std --model b=mean-std:lo,std", "prob": "--observed outcome --model a=prob:prob --model b=prob:p_b", "classes": "--observed label --model a=probs:p_* --model b=probs:p_*",
    "bounds": "--observed y --level 0.9 --model a=intervals:lo,hi --model b=quantiles:q*", "members": "--observed y --model a=samples:m* --model b=quantiles:q*"}.items()]
COMMANDS += [("compare-groups", "", f"--observed outcome --score prob --by group --jobs 1 {more}") for more in ("", "--weight w", "--groups key", "--only 7", "--drop-missing")]


def spoilt(rng, form):
    "A few cells, rows or names changed for what people and programs write."
    for _ in range(rng.choice([0, 1, 1, 2, 4])):
        row = form.rows[rng.integers(len(form.rows))]
        kind = rng.integers(12)
        if kind < 6 and row: row[rng.integers(len(row))] = CELLS[rng.integers(len(CELLS))]
        elif kind == 6 and row: row.pop(rng.integers(len(row)))
        elif kind == 7: row.insert(rng.integers(len(row) + 1), CELLS[rng.integers(len(CELLS))])
        elif kind == 8: form.rows.insert(rng.integers(len(form.rows) + 1), [str(rng.choice(["", "# made by a machine", "-----", "[eV]", "sep=;"]))])
        elif kind == 9: form.rows[rng.integers(len(form.rows))] = list(row)
        elif kind == 10 and len(form.rows) > 1: form.rows.pop(rng.integers(len(form.rows)))
        else:
            name = form.rows[0]
            if len(name) > 1: name[rng.integers(len(name))] = str(rng.choice([name[0], "", "Y", " y", "y", "\ufeffy"]))


PACKED = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def packed(data, ending, inside):
    "Bytes in a compressed file."
    if ending in PACKED: return PACKED[ending](data)
    if ending == ".zst":
        import pyarrow
        return pyarrow.compress(data, "zstd", asbytes=True)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive: archive.writestr(f"made{inside}", data)
    return made.getvalue()


def typed(cell):
    "A cell as a program that knows types keeps it."
    try: return json.loads(cell) if re.fullmatch(r"-?\d{1,15}(\.\d+)?", cell) and cell[:1] != "0" else cell
    except ValueError: return cell


def as_columns(rng, form, ending):
    "The cells of a table in a file that knows types."
    header, *rows = form.rows
    rows = [row[:len(header)] + [""] * (len(header) - len(row)) for row in rows]
    if ending == ".jsonl":
        lines = [json.dumps({name: typed(cell) for name, cell in zip(header, row) if rng.random() < 0.99}, ensure_ascii=bool(rng.integers(2))) for row in rows]
        return "\n".join(lines).encode("utf-8", "replace")
    if ending == ".xlsx":
        import openpyxl
        book, made = openpyxl.Workbook(), io.BytesIO()
        for row in (header, *rows): book.active.append([typed(re.sub(r"[\x00-\x1f\ud800-\udfff]", "", cell)[:30000]) for cell in row])
        book.save(made)
        return made.getvalue()
    import pyarrow
    from pyarrow import feather, parquet
    arrays = []
    for cells in zip(*rows) if rows else ():
        values = [typed(cell) for cell in cells]
        numeric = all(isinstance(one, (int, float)) for one in values)
        arrays.append(pyarrow.array([float(one) for one in values] if numeric and rng.random() < 0.9 else list(map(str, values))))
        if not numeric and rng.random() < 0.2: arrays[-1] = arrays[-1].dictionary_encode()
        if rng.random() < 0.02: arrays[-1] = pyarrow.array([[1.0]] * len(cells))
    table, made = pyarrow.Table.from_arrays(arrays, names=header[:len(arrays)]), io.BytesIO()
    if ending == ".parquet": parquet.write_table(table, made, compression=str(rng.choice(["none", "snappy"])))
    else: feather.write_feather(table, made, compression="uncompressed") if len(set(header)) == len(header) else made.write(b"")
    return made.getvalue()


def drawn(rng):
    "Bytes of a file, its ending, and whether they are still what they were made to be."
    form = copied(int(rng.integers(60)))
    for change in rng.permutation(damage.SAME)[:rng.choice([0, 0, 1, 2])]: change(form, rng)
    if form.encoding == "utf-16": form.mark = b""
    form.suffix = ".csv"
    if rng.random() < 0.75: spoilt(rng, form)
    ending = str(rng.choice([".csv"] * 12 + [".tsv", ".txt", ".jsonl", ".jsonl", ".parquet", ".feather", ".arrow", ".xlsx"]))
    if ending in (".jsonl", ".parquet", ".feather", ".arrow", ".xlsx"): data = as_columns(rng, form, ending)
    else:
        try: data = form.bytes()
        except UnicodeError: data = "\n".join(map(",".join, form.rows)).encode("utf-8", "replace")
        if rng.random() < 0.05: data = data.replace(b"\n", b"\r")
        if rng.random() < 0.03: data = data.decode("utf-8", "replace").encode(str(rng.choice(["utf-16-le", "latin-1", "utf-32"])), "replace")
    whole = rng.random() < 0.55
    if not whole: data = damage.bytes_changed(rng, data)
    if rng.random() < 0.1:
        outer = str(rng.choice([".gz", ".bz2", ".xz", ".zst", ".zip"]))
        data, ending = packed(data, outer, ending), ending + outer
        if rng.random() < 0.3: data, whole = damage.bytes_changed(rng, data), False
    return data, ending


READ_AS = [{}, {}, {}, {}, {"decimal": ","}, {"decimal": "."}, {"thousands": ","}, {"thousands": " "}, {"thousands": "."}, {"encoding": "latin-1"}, {"encoding": "utf-8"}, {"encoding": "utf-16-le"}, {"drop_missing": True},
           {"drop_missing": True}, {"where": "prob > 0.5"}, {"where": "note == ''"}]


def as_read(text, decimal, thousands):
    "The number in a cell, by a reader that knows no shortcuts; None for a cell that says that there is none."
    cell = text.strip()
    if thousands: cell = re.sub({" ": "[ \u00a0\u202f\u2009]", "'": "['’]"}.get(thousands, re.escape(thousands)), "", cell)
    cell = cell.replace(",", ".") if decimal == "," else cell
    try: return float(cell)
    except ValueError: return None


def misread(data, ending, table, names, how):
    "What was read otherwise than it stands; nothing where the file is no plain text or has cells of several lines."
    if ending not in (".csv", ".tsv", ".txt"): return None
    marks = ((b"\xff\xfe\0\0", "utf-32"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
    text = data.decode(how.get("encoding") or next((code for mark, code in marks if data.startswith(mark)), "utf-8-sig")).removeprefix("\ufeff")
    lines = re.split("\r\n|\n|\r", text)
    if '"' in text: return None  # cells may go on in the next line
    rows = [number for number, line in enumerate(lines, 1) if line.strip()]
    head = lines[rows[0] - 1]
    if not head.strip(",;\t ") or re.fullmatch('sep=.', head.strip()): return None
    delimiter = max(",;\t", key=head.count)
    left = sum(table.left_out.values())
    if len(rows) - 1 != table.places.size + left: return f"{len(rows) - 1} lines, {table.places.size} read, {left} left out"
    header = [cell.strip() for cell in head.split(delimiter)]
    for name in names:
        for place, value in zip(table.places.tolist(), table.columns[name].tolist()):
            cell = lines[place - 1].split(delimiter)[header.index(name)]
            found = as_read(cell, table.decimal, how.get("thousands"))
            truth = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}.get(cell.strip().casefold())
            if found is None and name == "outcome" and truth == value: continue
            if found is None and not (value != value and cell.strip().casefold() in MISSING): return f"line {place}: {cell!r:.60} was read as {value}"
            if found is not None and not (found == value or found != found and value != value): return f"line {place}: {cell!r:.60} was read as {value}"
    return None


MISSING = {"", "na", "n/a", "nan", "-nan", "none", "null", "<na>", "-", "–", "—", ".", "?", "#n/a", "#na"}


def read_case(rng, folder):
    "What came of a file that is read, and what is wrong with that."
    data, ending = drawn(rng)
    names = [str(one) for one in rng.permutation(["y", "std", "prob", "outcome", "mean"])[:rng.integers(1, 4)]]
    how = dict(READ_AS[rng.integers(len(READ_AS))])
    kinds = {"y": "error", "std": "uncertainty", "prob": "probability", "outcome": "outcome", "mean": "error"} if rng.random() < 0.5 else {"outcome": "outcome"}
    labels = {"by": ["group"]} if rng.random() < 0.3 else {"groups": ["group"]} if rng.random() < 0.3 else {}
    path = os.path.join(folder, "made" + ending)
    Path(path).write_bytes(data)
    stream = rng.random() < 0.05 and ending == ".csv"
    try:
        with warnings.catch_warnings(), hostile.within(30):
            warnings.simplefilter("error")
            table = read_table(data if stream else path, names, kinds=kinds, **labels, **how)
    except (ValueError, OSError) as error:
        said = str(error)
        is_told = "made" in said or "standard input" in said or said.startswith(("where", "encoding", "thousands", "decimal"))
        if not is_told: return "refused", f"names no file: {type(error).__name__} {said:.200}"
        return "refused", f"says {len(said)} characters" if len(said) > 3000 else None
    except BaseException as error: return "failed", f"{type(error).__name__}: {error!s:.200}"
    try: return "read", misread(data, ending, table, names, how)
    except (UnicodeError, csv.Error): return "read", None


class _Read(ValueError):
    "All that a command reads has been read."


def _stop(*args, **options): raise _Read("made: read")


def command_case(rng, folder):
    "What came of a command, and what is wrong with that."
    command, _, words = COMMANDS[rng.integers(len(COMMANDS))]
    data, ending = drawn(rng)
    if command in ("recalibrate", "conformalize", "validate") and rng.random() < 0.02: stops = contextlib.nullcontext()
    else: stops = mock.patch.object(cli_statements.Asked, "given", _stop)
    args, streams = words.replace("out.csv", os.path.join(folder, "out.csv")).replace("state.json", os.path.join(folder, "state.json")).split(), command == "monitor"
    if command == "validate": args += FEW
    if command == "validate" and rng.random() < 0.1: args += ["--decimal", ","]
    for name in ("out.csv", "state.json"): Path(folder, name).unlink(missing_ok=True)
    path, given = os.path.join(folder, "made" + ending), b""
    Path(path).write_bytes(data)
    if rng.random() < 0.05: path, given = "-", data
    with stops: said = commands.run(command, path, *args, given=given)
    fault = commands.broken_rule(said, streams)
    if fault and fault.startswith("refused in other words") and "skip" in words and all(line.startswith("uqcal: ") for line in said.err.splitlines()): fault = None  # a line for each row left out
    if said.code == 2 and Path(folder, "out.csv").exists(): fault = "refused, and left a file"
    left = [one for one in os.listdir(folder) if one.endswith((".part", ".lock"))]
    return ("done" if said.code == 0 or "made: read" in said.err else "refused"), fault or (f"left {left}" if left else None)


def case(number, folder):
    "What came of a case, its kind and its fault."
    rng = np.random.default_rng([6, number])
    kind = command_case if number % 4 == 0 else read_case
    came, fault = kind(rng, folder)
    return f"{kind.__name__}: {came}", None if fault is None else f"{number} {kind.__name__} {fault}"


if __name__ == "__main__":  # python tests/fuzz/files.py 0 100000
    import faulthandler
    import tempfile
    faulthandler.enable()
    sys.path.insert(0, str(Path(__file__).parents[1]))
    counts = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(*map(int, sys.argv[1:3])):
            if len(sys.argv) > 3: print(number, file=sys.stderr)
            came, fault = case(number, folder)
            counts[came] += 1
            counts["faults"] += fault is not None
            if fault: print(fault, flush=True)
            if number % 2000 == 1999: print(number + 1, dict(counts), flush=True)
    print(dict(counts))
