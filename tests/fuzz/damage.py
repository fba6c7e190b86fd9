"""Tables as people write them, and damage done to them: what says the same, what must be refused, and what may be either."""
import gzip
import io
from itertools import zip_longest

import numpy as np
import pandas as pd


def healthy(rng, n):
    "Columns for every command, in text that reads back as the same numbers."
    u = rng.uniform(0.5, 2, n)
    p = rng.uniform(0.02, 0.98, n)
    return pd.DataFrame({
        "error": (u * rng.standard_normal(n)).round(4), "uncertainty": u.round(4), "outcome": (rng.random(n) < p).astype(int), "score": p.round(4),
        "response": rng.integers(0, 2, n), "weight": rng.integers(1, 9, n), "group": rng.choice(["007", "7", "日 本"], n), "note": rng.choice(["", "x y", "$", "é"], n)})


ROLES = {"validate": ("error", "uncertainty"), "validate scores": ("outcome", "score"), "compare-groups": ("response", "score", "group"), "monitor": ("outcome", "score"), "recalibrate": ("error", "uncertainty")}


class Form:
    "A table of text, and how it is written: the marks, the line ends, the encoding."

    def __init__(self, frame):
        self.rows = [list(frame.columns), *([str(cell) for cell in row] for row in frame.itertuples(index=False))]
        self.numeric = [not isinstance(frame[name].iloc[0], str) for name in frame]
        self.delimiter, self.end, self.encoding, self.mark, self.quoted, self.decimal, self.last = ",", "\n", "utf-8", b"", False, ".", True
        self.suffix, self.options = ".csv", []

    def bytes(self):
        quote = '"{}"'.format if self.quoted else str
        lines = [self.delimiter.join(quote(cell.replace(".", self.decimal) if k and numeric else cell) for cell, numeric in zip_longest(row, self.numeric[:len(row)], fillvalue=False))
                 for k, row in enumerate(self.rows)]
        data = self.mark + (self.end.join(lines) + self.end * self.last).encode(self.encoding)
        return gzip.compress(data, mtime=0) if self.suffix.endswith(".gz") else data

    def column(self, name): return self.rows[0].index(name)
    def cell(self, rng): return int(rng.integers(1, len(self.rows)))


# --- what says the same

def semicolons(form, rng): form.delimiter = ";"
def tabs(form, rng): form.delimiter = "\t"
def european(form, rng): form.delimiter, form.decimal = ";", ","
def windows_lines(form, rng): form.end = "\r\n"
def byte_order_mark(form, rng): form.mark = b"\xef\xbb\xbf"
def utf_16(form, rng): form.encoding = "utf-16"
def no_last_line_end(form, rng): form.last = False
def in_quotes(form, rng): form.quoted = True
def compressed(form, rng): form.suffix = ".csv.gz"


def western(form, rng):
    for row in form.rows: row[:] = [cell.replace("日 本", "zz") for cell in row]
    form.encoding, form.options = "cp1252", ["--encoding", "cp1252"]


def blanks(form, rng):
    for row in form.rows: row[:] = [f" {cell} " for cell in row]


def other_order(form, rng):
    order = rng.permutation(len(form.rows[0]))
    form.rows = [[row[k] for k in order] for row in form.rows]
    form.numeric = [form.numeric[k] for k in order]


def signs_and_powers(form, rng):
    for row in form.rows[1:]: row[:] = [f"{cell}E+00" if numeric and "." in cell else cell for cell, numeric in zip(row, form.numeric)]


def more_columns(form, rng):
    for row in form.rows: row.append("$日 {}#" if row is form.rows[0] else "")
    form.numeric.append(False)


def empty_lines(form, rng): form.end *= 2


SAME = [semicolons, tabs, european, windows_lines, byte_order_mark, utf_16, no_last_line_end, in_quotes, compressed, blanks, other_order, signs_and_powers, more_columns, empty_lines]


def as_parquet(frame):
    buffer = io.BytesIO()
    frame.to_parquet(buffer)
    return buffer.getvalue()


# --- what must be refused: each spoils one of the columns that the command reads

def _one(rng, texts): return texts[rng.integers(len(texts))]  # numpy would cut NUL at the end
def _put(form, rng, role, text): form.rows[form.cell(rng)][form.column(role)] = text
def no_value(form, rng, role): _put(form, rng, role, _one(rng, ["", "NA", "nan", "null", " "]))
def infinite(form, rng, role): _put(form, rng, role, _one(rng, ["inf", "-inf", "1e400", "Infinity"]))
def text(form, rng, role): _put(form, rng, role, _one(rng, ["?", "abc", "1.2.3", "0x1", "1_0", "--1", "1 2", "−1", "1\x00", "\x00", "½", "TRUE!", "=1+1"]))
def short_row(form, rng, role): form.rows[form.cell(rng)].pop()
def long_row(form, rng, role): form.rows[form.cell(rng)].append("1")
def twice(form, rng, role): form.rows[0][form.column("note")] = role
def renamed(form, rng, role): form.rows[0][form.column(role)] = role + "s"
def header_only(form, rng, role): del form.rows[1:]
def stray_quote(form, rng, role): _put(form, rng, "note", '"5 inch')
def endless_line(form, rng, role): _put(form, rng, "note", "x" * (1 << 20))


def impossible(form, rng, role):
    _put(form, rng, role, {"uncertainty": rng.choice(["0", "-1", "1e200"]), "error": rng.choice(["1e200", "-1e151"]), "outcome": rng.choice(["2", "0.5", "-1"]),
                           "score": rng.choice(["1e999", "-inf"]), "response": "inf", "group": ""}[role])


REFUSED = [no_value, infinite, text, short_row, long_row, twice, renamed, header_only, stray_quote, impossible]

# --- what may be either: bytes changed at random

PIECES = [b"\x00", b'"', b'""', b"\n", b"\r", b",", b";", b"\t", b"\xff\xfe", b"\xef\xbb\xbf", b"\xff", b"1e309", b"-", b" ", b"nan", b"NA", b"\x1b[2J", "日".encode(), b"'", b".", b"e", b"=", b"9" * 400,
          b"\xe2\x80\xa8", b"\x0b", b"\x0c", b"\x1c", b"\x85", b"," * 50, b"\n\n\n", b"#", b"\\", b"_", b"\xed\xa0\x80"]


def bytes_changed(rng, data):
    "A few bytes replaced, left out, doubled, moved, or something put between."
    for _ in range(rng.choice([1, 1, 2, 5])):
        at, length = int(rng.integers(len(data) + 1)), int(rng.choice([1, 1, 3, 20, 200]))
        kind = rng.integers(6)
        if kind == 0: data = data[:at] + PIECES[rng.integers(len(PIECES))] + data[at:]
        elif kind == 1: data = data[:at] + PIECES[rng.integers(len(PIECES))] + data[at + 1:]
        elif kind == 2: data = data[:at] + data[at + length:]
        elif kind == 3: data = data[:at] + data[at:at + length] * 2 + data[at + length:]
        elif kind == 4: data = data[:at] if rng.random() < 0.3 else data[:at] + bytes(rng.integers(256, size=length, dtype=np.uint8)) + data[at:]
        elif at < len(data): data = data[:at] + bytes([data[at] ^ 1 << int(rng.integers(8))]) + data[at + 1:]
    return data
