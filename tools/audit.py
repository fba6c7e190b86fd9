"""Hold every measured rate against its promise, and draw the rates again.

    python tools/audit.py            what is stored: how many rows, which lie outside their promise, and what is said there
    python tools/audit.py 26 52      the tables of these pages drawn afresh, at full size, in a copy, and held against what is stored
    python tools/audit.py all        all of them: hours

Fails where a row is outside its promise and further off than an answer states, or where a fresh rate differs from the stored one by more
than chance. What is promised, and by which words an answer says that it may fail, and how often, stands in `nbs/studies/promises.ipynb`, which this reads.
"""
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from nbformat.v4 import new_code_cell
from scipy import stats

ROOT = Path(__file__).resolve().parent.parent
PROMISES = Path("studies") / "promises.ipynb"


def gathered(folder):
    "The rates that the page on promises gathers from the tables of a folder, and what answers say where they fail."
    from notebooks import execute, read

    page = read(folder / PROMISES)
    last = next((place for place, cell in enumerate(page.cells) if 'rates["unsaid"] = ' in cell.source), None)
    if last is None: raise SystemExit(f"{PROMISES} marks no rates as unsaid")
    page.cells[last].source = page.cells[last].source.replace('\nassert not rates["unsaid"].any()', "")  # here they are listed
    with tempfile.TemporaryDirectory() as place:
        kept = Path(place)
        page.cells[last + 1:] = [new_code_cell(f"rates.to_pickle({str(kept / 'rates')!r})\npd.Series(SAID).to_pickle({str(kept / 'said')!r})")]
        execute(page, folder / PROMISES.parent)
        return pd.read_pickle(kept / "rates"), pd.read_pickle(kept / "said").to_dict()


def redrawn(names, folder):
    "Tables of the pages with these names, drawn afresh in a folder; all pages where none is named."
    import tables

    shutil.copytree(ROOT / "nbs", folder, dirs_exist_ok=True)
    found = tables.pages(folder.parent, names)
    if not found: sys.exit(f"no page that begins with {' or '.join(names)} stores a table")
    for path in found:
        print(f"{path.relative_to(folder)} ...", flush=True)
        for table in tables.remake(path): yield table.stem


def moved(stored, fresh):
    "Rows whose rates differ by more than chance, after Holm's correction, at 1 %."
    from uqcal._chance.resampling import holm

    both = stored.merge(fresh, on=["table", "case"], suffixes=("", "_fresh"))
    if not len(both): return both
    share = (both["rate"] * both["sets"] + both["rate_fresh"] * both["sets_fresh"]) / (both["sets"] + both["sets_fresh"])
    noise = np.sqrt(share * (1 - share) * (1 / both["sets"] + 1 / both["sets_fresh"]))
    apart = (both["rate_fresh"] - both["rate"]).abs()
    pvalue = np.where(apart == 0, 1.0, 2 * stats.norm.sf(apart / noise.where(noise > 0, np.inf)))
    return both[holm(pvalue) <= 0.01]


def summary(rates, said):
    "A line for each function: rows, range, rows outside, and what is said there; and the functions that are silent."
    lines, silent = [], []
    for function, part in rates.groupby("function", sort=False):
        outside = part[part["outside"]]
        words, _ = said.get(function, (None, None))
        note = "" if outside.empty else f"says {words!r}" if words else "NOTHING IS SAID"
        if part["unsaid"].any(): silent.append(function)
        lines.append({"function": function, "promise": part["promise"].iloc[0], "rows": len(part), "lowest": part["rate"].min(),
                      "highest": part["rate"].max(), "outside": len(outside), "": note})
    return pd.DataFrame(lines).set_index("function"), silent


def main(names):
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tools")]
    pd.set_option("display.width", 200, "display.max_colwidth", 60, "display.max_columns", 20)
    rates, said = gathered(ROOT / "nbs")
    changed = rates[:0]
    if names:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "nbs"
            drawn = set(redrawn([] if names == ["all"] else names, folder))
            fresh, _ = gathered(folder)
        stored, rates = rates[rates["table"].isin(drawn)], fresh[fresh["table"].isin(drawn)]
        changed = moved(stored, rates)
        if rates.empty: print(f"drawn again, without a promise: {', '.join(sorted(drawn)) or 'nothing'}")
    table, silent = summary(rates, said)
    if len(table): print(table.to_string(float_format=lambda x: f"{100 * x:.1f} %"))
    for row in rates[rates["outside"]].itertuples(): print(f"outside: {row.function}, {100 * row.rate:.1f} % of {row.sets:,} ({row.case})")
    for row in changed.itertuples(): print(f"moved: {row.function}, {100 * row.rate:.1f} % to {100 * row.rate_fresh:.1f} % ({row.case})")
    print(f"{len(rates)} rates, {int(rates['outside'].sum())} outside, {len(silent)} functions that say less than that, {len(changed)} moved"
          + (f"; draw them again: make audit PAGE={' '.join(names)}" if names else "; draw a page's again: make audit PAGE=26"))
    return 1 if silent or len(changed) else 0


if __name__ == "__main__": sys.exit(main(sys.argv[1:]))
