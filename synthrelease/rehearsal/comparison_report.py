"""A comparison with other methods as rows of a table, as sentences, and as JSON or CSV."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

from synthrelease.errors import OutputError
from synthrelease.rehearsal.compared import BaselineFigures
from synthrelease.rehearsal.comparing import MethodComparison, share_of_threshold
from synthrelease.rehearsal.report import describe
from synthrelease.rehearsal.words import finite, short

FORMATS = (".json", ".csv")


def comparison_rows(found: MethodComparison) -> list[tuple[str, ...]]:
    """A row for each method with a table: name, guarantee, thresholds met, CPU time, match risk, a share for each criterion."""
    return [
        (
            one.name,
            guarantee_word(one),
            f"{sum(one.met)} of {len(one.met)}",
            seconds(one.seconds),
            short(one.risk.get("mean_risk", math.nan)),
            *(_share(f, criterion.threshold) for f, criterion in zip(one.figures, found.spec.criteria, strict=True)),
        )
        for one in found.methods
        if one.figures
    ]


def answer_rows(found: MethodComparison) -> dict[str, list[tuple[str, str, str]]]:
    """By question the methods that answer it: name, guarantee, and how far off, the median over copies or draws."""
    asked = dict.fromkeys(question for one in found.methods for question in one.errors)
    return {
        question: [
            (one.name, guarantee_word(one), short(one.errors[question]) or "no answer")
            for one in found.methods
            if question in one.errors
        ]
        for question in asked
    }


def member_rows(found: MethodComparison) -> list[tuple[str, ...]]:
    """Where records have members: a heading, and for each method how far off pairs of columns of each kind are."""
    told = [one for one in found.methods if one.of_members]
    kinds = list(dict.fromkeys(kind for one in told for kind in one.of_members))
    rows = [(one.name, guarantee_word(one), *(short(one.of_members.get(kind, math.nan)) for kind in kinds)) for one in told]
    return [("method", "epsilon", *kinds), *rows] if rows else []


def guarantee_word(one: BaselineFigures) -> str:
    """Epsilon, as short as a cell of a table; NONE where nothing is promised."""
    if one.epsilon is None:
        return "NONE"
    nominal = one.guarantee.startswith("nominal")
    return f"({one.epsilon:.4g})" if nominal else f"{one.epsilon:.4g}"


def seconds(value: float) -> str:
    return f"{value:.0f} s" if value >= 9.95 else f"{value:.1f} s"


def _share(figure: float, threshold: float) -> str:
    if math.isnan(figure):
        return "none"
    share = share_of_threshold(figure, threshold)
    if math.isinf(share):
        return "over"
    if share < 0:  # of a median: further inside than on the edge
        return "<0"
    return f"{share:.2f}" if share < 9.95 else f"{share:.0f}"


def comparison_words(found: MethodComparison) -> list[str]:
    """What the table does not say: what promises nothing, what was chosen, and what was left out."""
    bare = [one.name for one in found.methods if one.epsilon is None and not one.not_made]
    nominal = [one for one in found.methods if one.guarantee.startswith("nominal")]
    told = []
    if bare:
        told.append(f"NONE is no guarantee at all: {'; '.join(bare)}. Whoever has such a table may find persons in it.")
    for one in nominal:
        told.append(
            f"{one.name}: an epsilon in brackets compares only tables that agree on all that is published exactly; it is not "
            "that of a release, and adds up with no other."
        )
    for one in found.methods:
        if one.not_made:
            told.append(f"{one.name}: left out. {one.not_made[:1].upper()}{one.not_made[1:]}.")
        elif one.notes:
            told.append(f"{one.name}: {'; '.join(one.notes)}.")
    return told


def configuration_words(found: MethodComparison) -> str:
    """Whose bins all methods have."""
    label = describe(found.spec.space[found.configuration])
    chosen = "the only configuration" if len(found.spec.space) == 1 else f"the best of {found.tried} configurations tried"
    return f"{found.n_rows:,} public rows, {found.copies} tables of each, on the bins of {chosen}" + (
        f": {label}" if label else ""
    )


def comparison_document(found: MethodComparison) -> dict[str, Any]:
    """Everything, without rounding; what is not a number is null. CPU times differ from run to run."""
    return {
        "public_data_only": True,
        "configuration": found.spec.described(found.spec.space[found.configuration]),
        "rows": found.n_rows,
        "copies": found.copies,
        "seed": found.seed,
        "methods": [
            {
                "method": one.method,
                "name": one.name,
                "guarantee": one.guarantee,
                "epsilon": one.epsilon,
                "left_out": one.not_made or None,
                "notes": list(one.notes),
                "thresholds_met": sum(one.met) if one.met else None,
                "cpu_seconds": round(one.seconds, 3),
                "breaks_rules_share": one.breaks_rules,
                "measures": [
                    {"kind": kind, "name": name, "threshold": threshold, "figure": finite(figure), "met": met}
                    for kind, name, threshold, figure, met in _measures(found, one)
                ],
            }
            for one in found.methods
        ],
    }


def _measures(found: MethodComparison, one: BaselineFigures) -> list[tuple[str, str, float | None, float, bool | None]]:
    """Kind, name, threshold, figure, whether it is met."""
    criteria = found.spec.criteria if one.figures else ()
    return [
        *(("criterion", c.name, c.threshold, f, met) for c, f, met in zip(criteria, one.figures, one.met, strict=True)),
        *(("utility", name, None, value, None) for name, value in one.utility.items()),
        *(("risk", name, None, value, None) for name, value in one.risk.items()),
        *(("pairs of columns", name, None, value, None) for name, value in one.of_members.items()),
        *(("error of one answer", name, None, value, None) for name, value in one.errors.items()),
    ]


def comparison_csv(found: MethodComparison) -> str:
    """A line for each method and measure; a method that was left out has one line that says why."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(
        ["method", "guarantee", "epsilon", "cpu_seconds", "kind", "measure", "threshold", "figure", "met", "left_out"]
    )
    for one in found.methods:
        start = [one.name, one.guarantee, "" if one.epsilon is None else f"{one.epsilon:.10g}", f"{one.seconds:.3f}"]
        for kind, name, threshold, figure, met in _measures(found, one) or [("", "", None, math.nan, None)]:
            stated = ["" if each is None or math.isnan(each) else f"{each:.10g}" for each in (threshold, figure)]
            lines.writerow([*start, kind, name, *stated, "" if met is None else str(met).lower(), one.not_made])
    return text.getvalue()


def check_comparison_file(path: Path) -> None:
    """Raises OutputError for a name that cannot be written: found before minutes of work."""
    if path.suffix not in FORMATS:
        raise OutputError(f"--out {path}: expected a file that ends in .json or .csv, found {path.name!r}.")
    if path.exists() or not path.parent.is_dir():
        found = "one" if path.exists() else f"no folder {path.parent}"
        raise OutputError(f"--out {path}: expected a new file in a folder that exists, found {found}.")


def write_comparison(found: MethodComparison, path: Path) -> None:
    """The whole as JSON or CSV, by the name of the file. Raises OutputError."""
    text = (
        comparison_csv(found)
        if path.suffix == ".csv"
        else json.dumps(comparison_document(found), indent=2, allow_nan=False) + "\n"
    )
    problem = None
    try:
        with path.open("x", encoding="utf-8", newline="") as file:
            file.write(text)
    except OSError as error:
        problem = f"--out {path}: expected a place for a new file ({error.strerror})."
    if problem:
        raise OutputError(problem)
