"""Write the figures of an audit into the tables of docs/audit.md.

    synthrelease audit --jobs 2 --out audit.json
    python -m tests.whole.drawn --power --jobs 2 --out cases.json
    python tests/benchmarks/audit_tables.py audit.json cases.json [more.json ...]

Each table stands between two comments that name it; what is between them is replaced. A file without a part leaves the part's
table as it is, so that parts may be run apart.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[2] / "docs" / "audit.md"
Rows = list[dict[str, Any]]


def sensitivities(rows: Rows) -> Iterable[str]:
    yield "| what | worlds | figures | triples | violations | disagreements | largest change, share of the bound |"
    yield "|---|---|---|---|---|---|---|"
    for kind in dict.fromkeys(row["kind"] for row in rows):
        of_kind = [row for row in rows if row["kind"] == kind]
        shares = sorted({Fraction(row["largest_share_of_bound"]) for row in of_kind})
        share = " to ".join(f"{float(share):.3g}" for share in dict.fromkeys((shares[0], shares[-1])))
        sums = [sum(row[key] for row in of_kind) for key in ("figures", "triples", "violations", "disagreements")]
        yield f"| {kind.replace('_', ' ')} | {len(of_kind)} | " + " | ".join(f"{value:,}" for value in sums) + f" | {share} |"
    totals = [sum(row[key] for row in rows) for key in ("figures", "triples", "violations", "disagreements")]
    yield f"| **all** | {len(rows)} | " + " | ".join(f"{value:,}" for value in totals) + " | |"


def laws(rows: Rows) -> Iterable[str]:
    yield "| claim | settings | pairs of rounds | above the claim | largest epsilon, share of the claim |"
    yield "|---|---|---|---|---|"
    for claim in dict.fromkeys(row["claim"] for row in rows):
        found = [row for row in rows if row["claim"] == claim]
        pairs, exceeded = (sum(row[key] for row in found) for key in ("pairs", "exceeded"))
        largest = max(row["largest_share_of_claim"] for row in found)
        yield f"| {claim} | {len(found)} | {pairs:,} | {exceeded} | {largest:.4f} |"


def losses(rows: Rows) -> Iterable[str]:
    yield "| generator | neighbours, charge | claimed | shown | shown / claimed | of the budget: noise, choices |"
    yield "|---|---|---|---|---|---|"
    for row in rows:
        if not row["known_fault"]:
            budget = row["claimed"] if row["unit"] == "epsilon" else row["claimed"] ** 2 / 2
            parts = ", ".join(f"{row[part] / budget:.3f}" for part in ("noise", "choices"))
            shown = f"{row['unit']} {row['claimed']:.3g} | {row['shown']:.3f} | {row['share']:.3f}"
            yield f"| {row['generator']} | {row['case']} | {shown} | {parts} |"


def loss_faults(rows: Rows) -> Iterable[str]:
    yield "| fault | claimed | shown |"
    yield "|---|---|---|"
    for row in rows:
        if row["known_fault"]:
            shown = row["beside_the_answers"] or f"{row['shown']:.3f}"
            yield f"| {row['generator']}, {row['case']} | {row['unit']} {row['claimed']:.3g} | {shown} |"


def cases(rows: Rows) -> Iterable[str]:
    honest = [row for row in rows if not row["known_fault"]]
    yield "| family | cases | claims | draws on each side | above their claim | proven, share of the claim: median, largest |"
    yield "|---|---|---|---|---|---|"
    for family in sorted({row["family"] for row in honest}):
        found = [row for row in honest if row["family"] == family]
        claims = sorted(row["claim"] for row in found)
        draws = sorted(event["draws"][0] for row in found for event in row["events"])
        shares = sorted((row["proven"] or 0) / row["claim"] for row in found if row["claim"])
        share = f"{max(0.0, shares[len(shares) // 2]):.2f}, {max(0.0, shares[-1]):.2f}" if shares else "no claim but 0"
        exceeded = sum(row["exceeded"] for row in found)
        yield f"| {family} | {len(found)} | {_span(claims)} | {_span(draws)} | {exceeded} | {share} |"
    yield f"| **all** | {len(honest)} | | | {sum(row['exceeded'] for row in honest)} | |"


def faults(rows: Rows) -> Iterable[str]:
    yield "| fault | claim | proven | draws | found |"
    yield "|---|---|---|---|---|"
    for row in rows:
        if row["known_fault"]:
            draws = row["events"][0]["draws"][0]
            found = "yes" if row["exceeded"] else "**no**"
            yield f"| {row['name']} | {row['claim']:.3g} | {row['proven'] or 0:.3g} | {draws:,} | {found} |"


def low_bits(rows: Rows) -> Iterable[str]:
    for row in rows:
        if row["family"] == "low bits of a figure":
            hits = sum(sum(event["hits"]) for event in row["events"]) // len(row["events"])
            draws = sum(row["events"][0]["draws"])
            whose = "Textbook noise, a known fault" if row["known_fault"] else "This program"
            yield f"{whose}: {hits:,} hits in {draws:,} draws."
            yield ""


def power(rows: Rows) -> Iterable[str]:
    yield "| fault | draws on each side | audits | found | power, at least |"
    yield "|---|---|---|---|---|"
    for row in rows:
        yield f"| {row['fault']} | {row['draws']:,} | {row['audits']} | {row['found']} | {row['at_least']:.4f} |"


def _span(values: list[float]) -> str:
    ends = dict.fromkeys((values[0], values[-1]))
    return " to ".join(f"{end:,}" if isinstance(end, int) else f"{end:.3g}" for end in ends)


TABLES: dict[str, tuple[str, Callable[[Rows], Iterable[str]]]] = {
    "sensitivities": ("sensitivities", sensitivities),
    "laws": ("selection_laws", laws),
    "losses": ("losses", losses),
    "loss faults": ("losses", loss_faults),
    "cases": ("cases", cases),
    "faults": ("cases", faults),
    "low bits": ("cases", low_bits),
    "power": ("power", power),
}


def main(files: list[str]) -> None:
    page = PAGE.read_text(encoding="utf-8")
    for file in files:
        report = json.loads(Path(file).read_text(encoding="utf-8"))
        for name, (part, table) in TABLES.items():
            if report.get(part):
                text = "\n".join(table(report[part])).strip()
                between = rf"(<!-- {name} -->\n).*?(<!-- end -->)"
                page, found = re.subn(between, lambda match, text=text: f"{match[1]}\n{text}\n\n{match[2]}", page, flags=re.S)  # type: ignore[misc]
                if found != 1:
                    raise SystemExit(f"docs/audit.md: expected the comment <!-- {name} --> once, found it {found} times")
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
