"""Whole runs of the shipped releases by their commands: tables released, true errors, verification, processor time.

    python -m tests.benchmarks.whole_runs [CASE ...] [--nvss CSV] [--runs 20] [--minutes 60] [--out JSON]
    python -m tests.benchmarks.whole_runs --tables BEFORE.json AFTER.json

Cases: births, births-nvss, frontier-nvss and labour by `release`; demo by `demo`, which is births-frontier on the surrogate.
A run is a fork of a process that has loaded the program. The fork runs the command, with its ledger and the entropy of the
operating system, and then `verify`. Last it computes the figures of the release's own criteria without noise, against all kept
rows of the file.
Processor seconds leave out what the start of Python takes. The file also runs on older code, when it is copied there.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import typer

import synthrelease.publish
from synthrelease.cli import app
from synthrelease.enclave.ingest import read_public
from synthrelease.spec.load import load_spec
from tests.benchmarks.low_epsilon import true_errors

ROOT = Path(__file__).resolve().parents[2]
SURROGATE = ROOT / "public_data" / "births_surrogate.csv.gz"
CASES = {
    "births": ("configs/births.toml", SURROGATE),
    "births-nvss": ("configs/births.toml", None),
    "demo": ("configs/births-frontier.toml", SURROGATE),
    "frontier-nvss": ("configs/births-frontier.toml", None),
    "labour": ("configs/labour.toml", ROOT / "public_data" / "labour_surrogate.csv.gz"),
}
NOTHING = 3


def command(arguments: Sequence[str]) -> tuple[int, str, float]:
    """Exit code, output and processor seconds of a command in this process."""
    start, written = time.process_time(), io.StringIO()
    with contextlib.redirect_stdout(written), contextlib.redirect_stderr(written):
        try:
            ended: Any = app(list(arguments), standalone_mode=False)
        except typer.Exit as left:
            ended = left.exit_code
        except SystemExit as left:
            ended = left.code
    return int(ended or 0), written.getvalue(), time.process_time() - start


def one_run(case: str, data: Path, folder: Path) -> dict[str, Any]:
    """Release, verify, and judge without noise."""
    config, kept = ROOT / CASES[case][0], list[Any]()
    write = synthrelease.publish.write_bundle

    def write_and_keep(result: Any, *given: Any, **named: Any) -> Any:
        kept.append(result)
        return write(result, *given, **named)

    setattr(synthrelease.publish, "write_bundle", write_and_keep)  # noqa: B010
    out = folder / "release"
    release = ["release", str(config), "--data", str(data), "--out", str(out)]
    code, text, seconds = command(["demo", "--out", str(out)] if case == "demo" else release)
    again = text.count("The demonstration runs again")
    outcome: dict[str, Any] = {"code": code, "again": again, "seconds": seconds}
    if code not in (0, NOTHING):
        outcome["text"] = text[-2000:]
    if code == 0:
        outcome["verify"], said, outcome["verify_seconds"] = command(["verify", str(out)])
        outcome["closing"] = said.strip().splitlines()[-1:] if said else []
        spec = load_spec(config)
        table = read_public(data, spec.schema, spec.input, spec.raw)
        outcome["errors"] = true_errors(spec, table, kept[-1].candidate)
        outcome["thresholds"] = [criterion.threshold for criterion in spec.criteria]
        outcome["names"] = [criterion.name for criterion in spec.criteria]
    return outcome


def forked(case: str, data: Path) -> dict[str, Any]:
    """One run in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        child = os.fork()
        if child == 0:
            status = 1
            try:
                answer.write_text(json.dumps(one_run(case, data, Path(folder))), encoding="utf-8")
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        _, status = os.waitpid(child, 0)
        return json.loads(answer.read_text(encoding="utf-8")) if status == 0 else {"code": -1, "again": 0, "seconds": 0.0}


def within(outcome: Mapping[str, Any]) -> bool:
    return all(error <= most for error, most in zip(outcome["errors"], outcome["thresholds"], strict=True))


def summary(outcomes: Sequence[Mapping[str, Any]]) -> str:
    """The cells of a case in the table."""
    released = [each for each in outcomes if each["code"] == 0]
    alone = sum(each["code"] == 0 and not each["again"] for each in outcomes)
    seconds = [each["seconds"] for each in outcomes]
    checks = [each["verify_seconds"] for each in released]
    return (
        f"{len(outcomes)} | {alone} | {len(released)} | {sum(not within(each) for each in released)} | "
        f"{sum(each['verify'] == 0 for each in released)} of {len(released)} | "
        f"{np.median(seconds):.2f}, {min(seconds):.2f} to {max(seconds):.2f} | {np.median(checks):.2f}"
    )


def tables(before: Path, after: Path) -> None:
    """Both codes beside each other, in Markdown."""
    both = {name: json.loads(path.read_text(encoding="utf-8")) for name, path in (("before", before), ("now", after))}
    print("| case | code | runs | released in the first run | released | an error above its threshold | verified |", end="")
    print(" processor seconds: median, range | of `verify` |\n|---|---|---|---|---|---|---|---|---|")
    for case in both["now"]:
        for name, cases in both.items():
            if cases.get(case):
                print(f"| {case} | {name} | {summary(cases[case])} |")
    for case in both["now"]:
        released = {name: [each for each in cases.get(case, []) if each["code"] == 0] for name, cases in both.items()}
        if not released["now"]:
            continue
        print(
            f"\n{case}\n\n| criterion | threshold | before: median | worst | now: median | worst |\n|---|---|---|---|---|---|"
        )
        first = released["now"][0]
        for place, (criterion, threshold) in enumerate(zip(first["names"], first["thresholds"], strict=True)):
            cells = []
            for runs in released.values():
                errors = [each["errors"][place] for each in runs]
                cells += [f"{np.median(errors):.3g}", f"{max(errors):.3g}"] if errors else ["", ""]
            print(f"| {criterion} | {threshold:g} | {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--nvss", type=Path)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=60, help="begin no runs after so many")
    parser.add_argument("--out", type=Path, default=Path("whole_runs.json"))
    parser.add_argument("--tables", nargs=2, type=Path)
    options = parser.parse_args()
    if options.tables:
        return tables(*options.tables)
    last, found = time.monotonic() + 60 * options.minutes, dict[str, list[dict[str, Any]]]()
    for _ in range(options.runs):
        for case in options.cases or CASES:
            data = CASES[case][1] or options.nvss
            if data is None or time.monotonic() > last:
                continue
            found.setdefault(case, []).append(forked(case, data))
            options.out.write_text(json.dumps(found), encoding="utf-8")
            sys.stdout.flush()
    return None


if __name__ == "__main__":
    main()
