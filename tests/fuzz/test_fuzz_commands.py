"""Mutated tables through the commands: what says the same gives the same numbers, what can't be used is refused in one line, and no row is dropped or swallowed in silence."""
import os
import re
import sys

import commands
import damage
import numpy as np
import pandas as pd
import pytest
from cases import blocks

NAMES = sorted(damage.ROLES)
OPTIONS = [["--decimal", ","], ["--decimal", "."], ["--thousands", ","], ["--thousands", " "], ["--encoding", "latin-1"], ["--encoding", "utf-16"], ["--drop-missing"], ["--where", "score > 0.5"],
           ["--where", "score >"], ["--where", "note == 'é'"], ["--where", "group.str.len() > 1"], ["--seed", "7"]]


def written(folder, form, content=None, suffix=None):
    "The table in a file; a new name for each form."
    path = os.path.join(folder, "made" + (suffix or form.suffix))
    with open(path, "wb") as file: file.write(form.bytes() if content is None else content)
    return path


def asked(command, path, *more): return [command.split()[0], path, *commands.QUICK[command], *more]


def judged(command, path, form, *more):
    "The numbers of a command that is to succeed; the rows that it wrote where it writes rows."
    streams, recalibrated = command == "monitor", os.path.join(os.path.dirname(path), "recalibrated.csv")
    if os.path.exists(recalibrated): os.remove(recalibrated)
    output = {"monitor": [], "recalibrate": ["--out", recalibrated]}.get(command, ["--json", "-"])
    said = commands.run(*asked(command, path, *output, *more))
    if fault := commands.broken_rule(said, streams): return None, fault
    if said.code and os.path.exists(recalibrated): return None, "refused, and left a file"
    if said.code: return None, f"refused: {said.err.strip()}"
    if command == "recalibrate":  # which keeps the marks of the file
        how = dict(sep=form.delimiter, decimal=form.decimal, encoding="utf-8-sig" if form.encoding == "utf-8" else form.encoding)
        return pd.read_csv(recalibrated, **how)[["recalibrated_error", "recalibrated_std"]].to_numpy().tolist(), None
    if not streams: return commands.numbers(said), None
    return [row.rsplit(form.delimiter, 1)[-1].replace(",", ".") for row in re.split("\r?\n", said.out.decode(form.encoding)) if row.strip()], None


def same_numbers(rng, command, folder):
    "The same table, written in another way."
    form, frame = damage.Form(frame := damage.healthy(rng, int(rng.integers(40, 90)))), frame
    plain = written(folder, form)
    expected, fault = judged(command, plain, form)
    if fault: return fault if "refused" not in fault else None  # too little of a group
    if command != "monitor" and rng.random() < 0.15:
        found, fault = judged(command, written(folder, None, damage.as_parquet(frame), ".parquet"), form)
        return fault or (None if found == expected else "parquet: other numbers")
    changes = [damage.SAME[k] for k in rng.permutation(len(damage.SAME))[:rng.choice([1, 1, 2, 3])]]
    if damage.compressed in changes and rng.random() < 0.8: changes.remove(damage.compressed)
    for change in sorted(changes, key=lambda change: change is damage.blanks): change(form, rng)
    if form.encoding == "utf-16": form.mark = b""
    found, fault = judged(command, written(folder, form), form, *form.options)
    what = ", ".join(change.__name__ for change in changes)
    return f"{what}: {fault}" if fault else None if found == expected else f"{what}: other numbers"


def refused(rng, command, folder):
    "A table with one thing wrong in a column that is read."
    form = damage.Form(damage.healthy(rng, int(rng.integers(5, 60))))
    role = damage.ROLES[command][rng.integers(len(damage.ROLES[command]))]
    change = damage.REFUSED[rng.integers(len(damage.REFUSED))] if rng.random() < 0.99 else damage.endless_line
    if role == "group" and change in (damage.infinite, damage.text): change = damage.no_value
    if command == "monitor" and (role == "outcome" and change is damage.no_value or change is damage.header_only): change = damage.text
    change(form, rng, role)
    if rng.random() < 0.3: damage.SAME[rng.integers(6)](form, rng)
    if form.encoding == "utf-16": form.mark = b""
    path = written(folder, form)
    said = commands.run(*asked(command, path))
    fault = commands.broken_rule(said, command == "monitor")
    return f"{change.__name__} {role}: {fault or 'taken'}" if fault or said.code == 0 else None


def either(rng, command, folder):
    "A table with bytes changed at random: used or refused, and where it is used every line counts."
    form = damage.Form(frame := damage.healthy(rng, int(rng.integers(5, 40))))
    for change in rng.permutation(damage.SAME)[:rng.integers(0, 3)]: change(form, rng)
    suffix = form.suffix
    content = form.bytes()
    if rng.random() < 0.1: content, suffix = damage.as_parquet(frame), str(rng.choice([".parquet", ".feather", ".xlsx"]))
    content = damage.bytes_changed(rng, content)
    more = [option for k in rng.permutation(len(OPTIONS))[:rng.choice([0, 0, 1, 2])] for option in OPTIONS[k]]
    given, path = (content, "-") if rng.random() < 0.1 else (b"", written(folder, form, content, suffix))
    said = commands.run(*asked(command, path, *more), given=given)
    if fault := commands.broken_rule(said, command == "monitor"): return f"{' '.join(more)}: {fault}"
    if said.code or suffix != ".csv" or b'"' in content or command == "monitor": return None
    head = " ".join(re.sub(r"\[[^][]*95 %[^][]*\]", "", said.out.decode().split("\n\n")[0]).split())
    points, *left = (int(one.replace(",", "")) for one in re.findall(r"([\d,]+) (?:points?|rows?|for which|without)", head))
    try: lines = content.decode("utf-8-sig")
    except UnicodeError: return None
    lines = [line for line in re.split("\r\n|\n|\r", lines) if line.strip()]
    return None if points + sum(left) == len(lines) - 1 else f"{points} points and {left} left out of {len(lines) - 1} lines"


KINDS = [same_numbers, refused, refused, either, either, either]


def case(number, folder):
    "What is wrong with a case; nothing as a rule."
    rng = np.random.default_rng([2, number])
    kind, command = KINDS[number % len(KINDS)], NAMES[number // len(KINDS) % len(NAMES)]
    fault = kind(rng, command, folder)
    return f"{number} {kind.__name__} {command} {fault}" if fault else None


@pytest.mark.parametrize("numbers", blocks(60, 30_000))
def test_tables(numbers, tmp_path):
    faults = [fault for number in numbers if (fault := case(number, tmp_path))]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("number", [0, 1, *(pytest.param(number, marks=pytest.mark.slow) for number in (2, 3))])
def test_a_process_says_the_same(number, tmp_path):
    "In this process and in one of its own: the same bytes, the same end."
    import subprocess
    rng = np.random.default_rng([3, number])
    content = damage.bytes_changed(rng, damage.Form(damage.healthy(rng, 30)).bytes()) if number else damage.Form(damage.healthy(rng, 30)).bytes()
    path = written(tmp_path, None, content, ".csv")
    args = asked(NAMES[number], path)
    done = subprocess.run([sys.executable, "-c", "from uqcal._command.cli import main; main()", *args], capture_output=True, timeout=300, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stdout, done.stderr.decode()) == tuple(commands.run(*args))
