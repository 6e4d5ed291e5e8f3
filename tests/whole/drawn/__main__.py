"""Draw from every mechanism on neighbouring tables, and compare what the draws prove with what is claimed.

    python -m tests.whole.drawn [--hours 8 | --draws N] [--only TEXT] [--jobs 2] [--power] [--out cases.json]

Ends with code 5 where something is above its claim, or a known fault was not found. There is no seed: the operating system's
entropy is part of what is audited.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tests.whole.drawn.catalogue import Power, all_cases, measure_power, unit_faults
from tests.whole.drawn.running import Direction, Effort, Finding, audit_cases


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--hours", type=float)
    parser.add_argument("--draws", type=int)
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--power", action="store_true")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    cases = [case for case in all_cases() if given.only.lower() in f"{case.family} {case.name}".lower()]
    findings = audit_cases(cases, effort=Effort(draws=given.draws, hours=given.hours), jobs=given.jobs, progress=told)
    power = [measure_power(fault, len(all_cases()), jobs=given.jobs, progress=told) for fault in unit_faults() if given.power]
    if given.out:
        given.out.write_text(json.dumps(document(findings, power), indent=2) + "\n", encoding="utf-8")
    for finding in findings:
        fault = ", a known fault" if finding.case.faulty else ""
        print(
            f"{finding.case.family}: {finding.case.name}{fault}: claimed {finding.case.claim:.3g}, proven {finding.epsilon:.3g}"
        )
    if wrong := contradictions(findings):
        print("\n".join(wrong), file=sys.stderr)
        sys.exit(5)


def told(phase: str, done: int, total: int) -> None:
    if done in (0, total) or done % 50 == 0:
        print(f"{phase}: {done} of {total}", file=sys.stderr)


def contradictions(findings: list[Finding]) -> list[str]:
    """What is above its claim, and known faults that were not found."""
    above = [f"Above its claim: {each.case.name}." for each in findings if each.exceeded and not each.case.faulty]
    missed = [each.case.name for each in findings if each.case.faulty and not each.exceeded]
    return above + [f"A known fault that was not found (more draws are needed): {name}." for name in missed]


def document(findings: list[Finding], power: list[Power]) -> dict[str, object]:
    """Plain values, as `tests/benchmarks/audit_tables.py` reads them."""
    return {
        "cases": [_finding(finding) for finding in findings],
        "power": [
            {"fault": part.name, "draws": part.draws, "audits": part.repeats, "found": part.found, "at_least": part.at_least}
            for part in power
        ],
    }


def _finding(finding: Finding) -> dict[str, object]:
    return {
        "family": finding.case.family,
        "name": finding.case.name,
        "claim": finding.case.claim,
        "unit": "mu" if finding.case.gaussian else "epsilon",
        "known_fault": finding.case.faulty,
        "proven": finding.epsilon if finding.epsilon > float("-inf") else None,
        "exceeded": finding.exceeded,
        "held_out_draws": finding.held_out,
        "events": [_direction(direction) for direction in finding.directions],
        "seconds": round(finding.seconds, 2),
    }


def _direction(direction: Direction) -> dict[str, object]:
    return {
        "event": direction.event,
        "hits": [direction.more.hits, direction.less.hits],
        "draws": [direction.more.draws, direction.less.draws],
        "proven": direction.epsilon if direction.epsilon > float("-inf") else None,
    }


if __name__ == "__main__":
    main()
