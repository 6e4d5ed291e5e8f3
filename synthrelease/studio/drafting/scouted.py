"""Draft the configuration and the acceptance file of a release from the noisy tables of a scout.

The draft uses no rows, not even made-up rows, because criteria from them would promise associations that nobody has measured.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise, takewhile
from pathlib import Path

import numpy as np

from synthrelease.errors import InputError, so_many
from synthrelease.privacy.charges import decimal_text, rounded_down
from synthrelease.published.base import sha256
from synthrelease.scouting.bins import ScoutedBins
from synthrelease.scouting.columns import ScoutedColumn
from synthrelease.scouting.document import ScoutDocument
from synthrelease.scouting.folder import read_scout
from synthrelease.scouting.scout import KEPT_FOR_TESTS
from synthrelease.settings.tables import ACCEPTANCE_SCHEMA, CONFIGURATION_SCHEMA
from synthrelease.studio.drafting.column_draft import plain_label, plain_name
from synthrelease.studio.drafting.columns import LEAST_NAMED
from synthrelease.studio.drafting.text import check_no_draft, paths_of, write_new
from synthrelease.studio.drafting.toml_edit import comment, toml

OTHERS, GAP, NO_VALUE = "all others", "missing", "no value"
TEST, FIGURE = Fraction(5, 6), Fraction(1, 24)
"""Parts of the epsilon that the cap reserves for tests: the part of the joint test, and the part of each criterion."""
LEAST_ERROR = 0.01
"""Smallest threshold of the criterion about single columns, as a share of the rows."""

WORSE = """\
There was no public file. Bins, categories and thresholds come from the noisy tables of single columns in {folder} ({rows:,}
rows, {cap}). This draft is worse than a draft from a public file. Nobody knows how often such a release accepts a table,
because nothing was rehearsed. `release` tries made-up rows before the charge, which shows only that the program runs. Readers
get intervals for single columns only, from the scout's folder. No criterion is about groups, means or regressions, and no rule
is suggested. Check every line, add your rules and criteria, then delete this notice."""


@dataclass(frozen=True, kw_only=True)
class ScoutedDraft:
    """The result of drafting from a scout (noisy tables of single columns of the private file).

    Attributes
    ----------
    columns : for each column of the scout by name, its number of bins, or the reason why it is left out.
    threshold : threshold for the mean error of tables of two columns, as a share of the rows.
    """

    configuration: Path
    acceptance: Path
    columns: tuple[tuple[str, str], ...]
    threshold: float


def write_scouted_draft(name: str, folder: Path, into: Path) -> ScoutedDraft:
    """Draft a release from the folder of a scout, and write configs/NAME.toml and acceptance/NAME.toml. Existing files stay.

    Raises
    ------
    InputError : when the folder does not pass `verify`, when fewer than two columns have at least two bins, or when the
        measured dependence of the columns is within its noise.
    OutputError : when one of the files already exists.
    """
    document, content = read_scout(folder)
    figure = document.dependence
    if figure.value <= 3 * document.dependence_deviation:
        why = f"Their distance from independence, {figure.value:.2g}, is within the noise. No draft was written."
        raise InputError(f"{folder}: the scout shows no association between the columns. {why}")
    bins = document.bins()
    # of names, such as those of persons, hardly any is frequent
    named = [part for part in document.columns if part.kind == "texts"]
    rare = {part.name for part in named if sum(part.counts.values()) < LEAST_NAMED * document.rows}
    kept = [
        drafted
        for drafted in bins
        if (drafted.n_bins > 1 and drafted.column.name not in rare)
        or (drafted.gaps > 5 * document.noise_sd and (drafted.column.kind == "number" or drafted.column.missing))
    ]
    if len(kept) < 2:
        raise InputError(f"{folder}: a draft needs two columns with at least two bins. The scout has {len(kept) or 'none'}.")
    names = dict[str, str]()
    for drafted in kept:
        names[drafted.column.name] = plain_name(drafted.column.name, names.values())
    threshold = max(0.001, math.floor(500 * figure.value) / 1000)
    configuration, acceptance = paths_of(into, name)
    check_no_draft((configuration, acceptance))
    texts = {
        configuration: _configuration(configuration, folder, document, sha256(content), kept, names),
        acceptance: _acceptance(document, threshold),
    }
    write_new(texts)
    became = tuple(
        (
            drafted.column.name,
            f"{drafted.n_bins} bins" if drafted in kept else "left out: one bin, or hardly any text is frequent",
        )
        for drafted in bins
    )
    return ScoutedDraft(configuration=configuration, acceptance=acceptance, columns=became, threshold=threshold)


def _configuration(
    configuration: Path, folder: Path, document: ScoutDocument, digest: str, kept: list[ScoutedBins], names: dict[str, str]
) -> str:
    cap, pure = document.cap, document.cap.pure
    promise = f"scout and release together: epsilon {decimal_text(cap.epsilon)}, delta {float(cap.delta):g}"
    notice = WORSE.format(folder=folder.name, rows=document.rows, cap=promise).replace("\n", " ")
    unit = {"name": document.unit, "records_per_person": 1}
    if document.key is not None:
        unit |= {"key": document.key, "first_by": document.first_by}
        unit |= {"missing_keys": document.missing_keys} if document.missing_keys else {}
    columns = "\n".join(_column(draft, names[draft.column.name], _repeats(draft.column.name, document)) for draft in kept)
    figures = KEPT_FOR_TESTS * cap.epsilon if pure else cap.tests
    generation = rounded_down(cap.tests - figures if pure else cap.rho_left)
    with_delta = "" if pure else f"delta = {_exact(cap.delta)}\n"
    scouted_in = Path(os.path.relpath(folder, configuration.parent)).as_posix()
    return f"""#:schema ./{CONFIGURATION_SCHEMA}
{comment(notice)}

title = {toml(document.title)}
description = ""  # one sentence on what one row is and where the data come from
acceptance = {toml(f"../acceptance/{configuration.name}")}

[input]
{_settings({**document.input, "missing": "bin"})}

[unit]
{_settings(unit)}

# No row is excluded: missing values have a bin, unlisted texts have another bin, and numbers beyond the bounds count as the
# bound.
{columns}
# The generator chooses its tables with noise, one after the other.
[[generators]]
family = "{"adaptive_pure" if pure else "adaptive"}"

[[projections]]
kind = "minimum_count"
minimum_count = 1

# The cap that was fixed before the scout and noted in the ledger. The ledger charges the release with the rest of the cap.
[scout]
epsilon = {_exact(cap.epsilon)}
delta = {_exact(cap.delta)}
rho = {_exact(cap.rho)}
rare = {_exact(cap.rare)}
tests = {_exact(cap.tests)}
document = "{digest}"
folder = {toml(scouted_in)}

[budget]
generation = {_exact(generation)}  # {"epsilon" if pure else "rho"} that the cap leaves after the scout and the tests
{with_delta}limit = {_exact(cap.epsilon)}

[selection]
mode = "hidden_number"
rounds = {{ 1 = 1 }}  # under a shared cap, the guarantee is proved for one round only
test = "joint"
test_epsilon = {_exact(rounded_down(figures * TEST))}
"""


def _exact(value: Fraction) -> str:
    decimal = Decimal(value.numerator) / value.denominator
    return str(decimal).lower() if Fraction(decimal) == value else f'"{value}"'


def _settings(table: dict[str, object]) -> str:
    return "\n".join(f"{key} = {toml(value)}" for key, value in table.items())


def _column(drafted: ScoutedBins, name: str, question: str) -> str:
    column = drafted.column
    settings: dict[str, object] = {}
    if name != column.name:
        settings["source"] = column.name
    if column.description:
        settings["description"] = column.description
    if column.missing:
        settings["missing_values"] = list(column.missing)
    if column.kind == "number":
        labels = labels_of(drafted)
        low, high = drafted.edges[0], drafted.edges[-1]
        settings = {"kind": "integer" if column.whole else "real"} | settings
        settings["bounds"] = [float(low), float(high - column.whole)]
        settings["alternatives.scouted"] = labels
        settings["numbers"] = {label: Decimal(f"{number:.6g}") for label, number in zip(labels, drafted.numbers, strict=True)}
        remark = f"noisy counts: {so_many(max(0, drafted.gaps), 'row')} without a number"
        if drafted.fillers:
            remark += f". Does {labels[-1]} hold codes such as 98 or 9999? List them in missing_values"
    elif drafted.days or not drafted.codes:
        settings = {"kind": "category", "outside": "bin", "outside_label": OTHERS} | settings
        days = drafted.days.items()  # a column may have both the text 2015 and days of this year
        periods = {name: [day for day, period in days if period == name] + [name] * name.isdigit() for name in drafted.codes}
        periods = {name: texts or [name] for name, texts in periods.items()}
        settings["categories"] = periods or {NO_VALUE: list(column.missing)}
        settings["missing_values"] = list(column.missing) if periods else []
        remark = f"noisy counts: {so_many(max(0, drafted.gaps), 'row')} without a value; "
        remark += "single days have few rows, so they are joined" if periods else "no text is frequent"
    else:
        settings = {"kind": "code"} | settings
        labelled = dict[str, str]()
        for code in drafted.codes:
            label = plain_label(column.codes.get(code) or code)
            labelled[code] = label if label not in (*labelled.values(), OTHERS, GAP) else plain_label(f"{label} ({code})")
        settings["codes"] = labelled
        settings["outside_label"] = OTHERS
        remark = f"noisy counts: {so_many(max(0, drafted.gaps), 'row')} without a value"
    return f"[columns.{name}]  # {remark}{question}\n{_settings(settings)}\n"


def _repeats(name: str, document: ScoutDocument) -> str:
    """Return a question whether a column repeats an earlier one, if their sorted noisy counts agree within the noise, or "".

    At least four counts must be far above the noise, so that short lists rarely agree by chance.
    """
    sizes = {part.name: np.sort(part.second or [*part.counts.values()])[::-1] for part in document.columns}
    own = sizes[name]
    for other, counts in takewhile(lambda item: item[0] != name, sizes.items()):
        close = np.abs(own[: len(counts)] - counts[: len(own)]) <= 5 * document.noise_sd
        if abs(len(own) - len(counts)) <= 2 and close.all() and (own > 10 * document.noise_sd).sum() > 3:
            return f". Its counts agree with {other!r}: if both have the same meaning, delete one"
    return ""


def labels_of(drafted: ScoutedBins) -> list[str]:
    column: ScoutedColumn = drafted.column
    labels = []
    for low, high in pairwise(drafted.edges):
        if column.whole:
            last = high - 1
            between = "-" if low >= 0 else " to "
            labels.append(f"{int(low)}" if last == low else f"{int(low)}{between}{int(last)}")
        else:
            ends = (np.format_float_positional(float(end), 9, unique=False, trim="-") for end in (low, high))
            labels.append(" to ".join(ends))
    return labels


def _acceptance(document: ScoutDocument, threshold: float) -> str:
    single = max(LEAST_ERROR, math.ceil(1000 * 5 * document.noise_sd / document.rows) / 1000)
    cap = document.cap
    epsilon = decimal_text(rounded_down((KEPT_FOR_TESTS * cap.epsilon if cap.pure else cap.tests) * FIGURE))
    return f"""#:schema ./{ACCEPTANCE_SCHEMA}
# A threshold is a promise. Agree on each with the users of the data.
description = ""  # one sentence on what the release must be good for; the sentence is published

# the largest error of a value of a single column, as a share of all rows
[[criteria]]
name = "error of single columns"
kind = "absolute_marginal_error"
largest = 1
threshold = {single:g}  # at least 5 standard deviations of the noise in the scout's tables, and {LEAST_ERROR:g}
epsilon = {epsilon}

# the share of rows in a wrong cell, on average over all tables of two columns
[[criteria]]
name = "typical error of pairs"
kind = "mean_marginal_error"
tables = ["all 2-way"]
threshold = {threshold:g}  # half of {document.dependence.value:.3g}, the error of independent columns, so that they fail
epsilon = {epsilon}
"""
