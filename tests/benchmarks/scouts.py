"""Scouts in place of public files: what a release after a scout carries beside one whose draft had a public half.

    python -m tests.benchmarks.scouts LIST FOLDER [--only NAME] [--scouts 3] [--cap 2] [--delta 1e-9]

The LIST is one of `registers.py`. Each register is divided at random. The public half gives a draft (`init --from`), and the
private half is released with it, once. Then the private half is scouted and released several times, each time under one cap.
The codebook of a scout says what a publisher says of a column: all codes where there are at most 60, that it holds numbers,
without bounds, or texts.

**Carried** is the sum over all pairs of columns of what the release is nearer to the register than independent columns are
(total variation distance, in the released bins), as a share of the same sum for the draft from the public half. A column that
is left out carries nothing, and coarse bins carry little. **Kept** is that of `register_figures.py`; coarse bins and columns
that are left out raise it.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
from collections import Counter
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

import numpy as np

from synthrelease.scouting.folder import read_scout
from synthrelease.studio.drafting.public_file import PublicFile, read_public_file
from tests.benchmarks.register_figures import SEED, Compared, compared
from tests.benchmarks.registers import Register, halves, registers, run

MOST_CODES = 60
_NOT_KNOWN = ("", "NA", "?", "9999-99-99")


def codebook(whole: PublicFile, key: str | None) -> dict[str, object]:
    """What a publisher says of each column."""
    book = dict[str, object]()
    for name, texts in whole.columns.items():
        if name == key:
            continue
        plain = {text.strip() for text in texts if text is not None} - {*_NOT_KNOWN}
        missing = dict.fromkeys(_NOT_KNOWN[1:], "not known")
        if len(plain) <= MOST_CODES:
            book[name] = {"values": {**{code: f"code {code}" for code in sorted(plain)}, **missing}}
        elif all(re.fullmatch(r"-?\d+(\.\d+)?", text) for text in plain):
            kind = "integer" if all(re.fullmatch(r"-?\d+", text) for text in plain) else "number"
            book[name] = {"kind": kind, "values": missing}
        else:
            book[name] = {"kind": "text", "values": missing}
    return book


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One draft and its release: what it carries, what it keeps, its columns and bins, and its epsilon."""

    carried: float
    kept: float
    columns: int
    bins: int
    accepted: bool


def outcome(folder: Path, name: str, both: tuple[Path, Path], accepted: bool) -> Outcome:
    """Compare a release with its register; a draft without one carries nothing."""
    if not accepted:
        return Outcome(carried=0, kept=0, columns=0, bins=0, accepted=False)
    found: Compared = compared(folder, name, both, 0)
    release, _, independent = (pairs for _, pairs, _ in found.distances.values())
    from synthrelease.published import load

    schema = load(folder / "released").schema
    pairs = len(schema) * (len(schema) - 1) // 2
    return Outcome(
        carried=pairs * (independent - release),
        kept=found.kept,
        columns=len(schema),
        bins=sum(len(column.labels) for column in schema),
        accepted=True,
    )


def found_categories(folder: Path, private: PublicFile) -> tuple[Counter[str], str]:
    """How many categories above 1% there are where the noise allows to find them, and how many have a bin; what is missing."""
    document, _ = read_scout(folder)
    counted, lost = Counter[str](), list[str]()
    for drafted in document.bins():
        column = drafted.column
        if column.kind == "number":
            continue
        needs = 5.4 if column.kind == "listed" else 9.4
        which = "listed" if column.kind == "listed" else "texts"
        exact = Counter[str]()
        for text, rows in private.columns[column.name].items():
            exact["" if text is None else text.strip()] += rows
        for text, rows in exact.items():
            if rows > document.rows / 100 and text and text not in column.missing:
                told = which if document.rows / 100 >= needs * document.noise_sd else f"{which}, too much noise"
                counted[told] += 1
                if text in drafted.codes:
                    counted[f"{told}, found"] += 1
                elif told == which:
                    lost.append(f"{column.name} {rows / document.rows:.3f}")
    return counted, ", ".join(lost)


def measured(register: Register, folder: Path, scouts: int, cap: str, delta: str) -> None:
    """Draft, scout and release one register, and print a line for each draft."""
    folder.mkdir(parents=True)
    name = register.name
    both = halves(register, folder, np.random.default_rng(SEED))
    whole, private = read_public_file(register.file), read_public_file(both[1])
    (folder / "book.json").write_text(json.dumps(codebook(whole, register.key), indent=1))
    ledger = ("--ledger", "register.ledger")
    release = ("release", f"configs/{name}.toml", "--data", both[1].name, "--out", "released", *ledger)
    run(folder, "ledger", "open", "register.ledger", "--dataset", name, "--limit", "99", "--delta-limit", "1e-7")
    drafted = run(folder, "init", name, "--from", both[0].name, *register.told)
    attempts = takewhile(lambda _: not (folder / "released").exists(), range(3))
    if not drafted.code:
        for _ in attempts:
            run(folder, *release)
    of_public = outcome(folder, name, both, (folder / "released").exists())
    _print(name, "public half", of_public, of_public, drafted.processor)
    (folder / "public").mkdir()
    for part in ("configs", "acceptance", "released"):
        if (folder / part).exists():
            shutil.move(folder / part, folder / "public" / part)
    order = re.sub(":.*", "", register.unit or "row")
    told = ["--unit", order, *(["--first-by", "random"] if order != "row" else []), "--delimiter", private.input.delimiter]
    rows = private.n_rows if register.key is None else len(private.columns[register.key])
    for number in range(scouts):
        scout = f"scout{number}"
        looked = run(
            folder,
            *("scout", "book.json", "--data", both[1].name, *ledger, "--cap", cap, "--delta", delta, *told),
            *("--rows", str(rows), "--title", name, "--out", scout),
        )
        if looked.code:
            print(f"| {name} | refused | {' '.join(looked.output.split())[:160]}", flush=True)
            return
        made = run(folder, "init", name, "--scout", scout)
        if made.code:
            print(f"| {name} | no draft | {' '.join(made.output.split())[:200]}", flush=True)
            return
        released = run(folder, *release, "--unrehearsed")
        found = outcome(folder, name, both, not released.code)
        _print(name, scout, found, of_public, looked.processor)
        print(
            f"  {dict(found_categories(folder / scout, private)[0])} {found_categories(folder / scout, private)[1]}", flush=True
        )
        for part in ("configs", "acceptance", "released"):
            if (folder / part).exists():
                shutil.move(folder / part, folder / f"{scout}.{part}")


def _print(name: str, way: str, found: Outcome, public: Outcome, processor: float) -> None:
    share = f"{found.carried / public.carried:.0%}" if public.carried else "-"
    cells = (name, way, found.accepted, share, f"{found.kept:.2f}", found.columns, found.bins, f"{processor:.0f}")
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("list", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--scouts", type=int, default=3)
    parser.add_argument("--cap", default="2")
    parser.add_argument("--delta", default="1e-9")
    chosen = parser.parse_args()
    for register in registers(chosen.list, chosen.only):
        measured(register, chosen.folder / register.name, chosen.scouts, chosen.cap, chosen.delta)


if __name__ == "__main__":
    main()
