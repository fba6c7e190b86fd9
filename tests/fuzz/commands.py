"""A command in this process, with its streams as bytes, and the rule that all of them keep."""
import contextlib
import io
import json
import sys
import warnings
from typing import NamedTuple
from unittest import mock

import hostile
import typer

from uqcal._command.cli import app, main

COMMAND = typer.main.get_group(app)  # made once: it takes longer than many a case

ERRORS, SCORES = ["--error", "error", "--std", "uncertainty"], ["--observed", "outcome", "--prob", "score"]
QUICK = {"validate": [*ERRORS, "--n-boot", "19", "--n-resamples", "19", "--n-mc", "19", "--n-bins", "4", "--statistics", "zms,ence", "--jobs", "1"],
         "validate scores": [*SCORES, "--n-boot", "19", "--n-resamples", "19", "--jobs", "1"], "compare-groups": ["--observed", "response", "--score", "score", "--by", "group", "--jobs", "1"],
         "monitor": ["--observed", "outcome", "--prob", "score", "--out", "-"],
         "recalibrate": [*ERRORS, "--n-boot", "19", "--n-resamples", "19", "--jobs", "1"]}


class Said(NamedTuple):
    code: int
    out: bytes
    err: str


def run(*args, given=b""):
    "Exit code, standard output and standard error of a command."
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="", write_through=True) for _ in range(2))
    with mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(given), encoding="utf-8")), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), hostile.within(60), \
            warnings.catch_warnings(), mock.patch.object(typer.main, "get_group", lambda _: COMMAND):
        warnings.simplefilter("error")
        try: main(list(args))
        except SystemExit as ended: code = ended.code
    return Said(code, out.buffer.getvalue(), err.buffer.getvalue().decode())


def broken_rule(said, streams=False):
    "What a command did that none may do: another exit code than 0 and 2, a traceback, more than a line of complaint, a control character, a table beside a refusal."
    if said.code not in (0, 2): return f"ended with {said.code}: {said.err[-300:]}"
    if said.code == 2 and not (said.err.startswith("uqcal: ") and said.err.count("\n") == 1 and said.err.endswith("\n")): return f"refused in other words: {said.err!r:.300}"
    if said.code == 2 and len(said.err) > 3000: return f"refused in {len(said.err)} characters"
    if said.code == 2 and said.out and not streams: return f"refused and printed: {said.out!r:.200}"
    if said.code == 0 and not streams and said.err: return f"done and complained: {said.err!r:.300}"
    if any(one < " " and one != "\n" or "\x7f" <= one < "\xa0" for one in said.err + ("" if streams else said.out.decode())): return f"steers the terminal: {said.err!r:.200}"
    return None


def numbers(said):
    "What `--json -` wrote, without the name of the file."
    found = json.loads(said.out)
    found.pop("data")
    return found
