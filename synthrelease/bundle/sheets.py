"""QUESTIONS.md: up to ten questions in R, Stata and Python, with code that runs on the files of this folder."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from synthrelease.answers.listed import MOST_CELLS, NAMES, NUMBERS, pairs
from synthrelease.bundle.card import numbers
from synthrelease.bundle.card.numbers import environment, labelled_title, program
from synthrelease.bundle.card.sections import Useful, carried_pairs, counts_of, data_protection, person_text, right_guess
from synthrelease.bundle.estimates import CSV
from synthrelease.bundle.formats import STATA_WORDS
from synthrelease.bundle.options import statements
from synthrelease.bundle.scripts import r_text
from synthrelease.data.schema import PublishedColumn
from synthrelease.published.charges import ChargePart, CriterionPart
from synthrelease.published.commitment import beyond
from synthrelease.published.document import BEFORE, ReleaseDocument
from synthrelease.published.table import NOTICE
from synthrelease.spec.canonical import WORDS

QUESTIONS_NAME = "QUESTIONS.md"
_MANY = 100
"""Cells of the pair of columns that the sheet asks about, at most, where there is such a pair."""
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,31}")
_SIGNS = re.compile(r"[`$\"\\\n]")
"""In a text of Stata these mean something else."""
_MEANS = ("mean", "mean of bin numbers")


@dataclass(frozen=True, kw_only=True)
class SheetQuestion:
    """A question with the code that answers it from the rows and from estimates.csv."""

    words: str
    r: str
    python: str
    stata: str


def questions_files(document: ReleaseDocument) -> dict[str, bytes]:
    """The sheet by its name, where the folder has estimates.csv. It depends on release.json alone."""
    if CSV not in document.files:
        return {}
    schema = tuple(part.published() for part in document.columns)
    together = [] if document.estimates is None else document.estimates.together
    listed = _of_one_file(document, pairs(schema, together))
    sheet = _Sheet(document, schema, together)
    found = carried_pairs(document)
    every = {frozenset((one, other)) for table in together for one in table for other in table if one != other}
    text = (
        environment()
        .get_template(QUESTIONS_NAME)
        .render(
            title=labelled_title(document),
            notice=NOTICE,
            file=document.csv,
            begin=sheet.begin,
            asked=sheet.asked,
            stata=sheet.for_stata,
            weighted=document.weighted,
            few_rows=useful.rule if (useful := Useful.of(document)) else "",
            left_out=len(every) - len(listed),
            most=MOST_CELLS,
            lacking=found is not None and found.carried < found.pairs,
            **counts_of(found),
            program=program(document),
            sampled=not document.not_a_sample,
            not_a_sample=" and ".join(document.not_a_sample),
        )
    )
    return {QUESTIONS_NAME: (re.sub(r"\n{3,}", "\n\n", text).strip() + "\n").encode("utf-8")}


def _of_one_file(
    document: ReleaseDocument, listed: Iterable[tuple[PublishedColumn, PublishedColumn]]
) -> list[tuple[PublishedColumn, PublishedColumn]]:
    """The pairs whose columns the table itself has: those of members stand in another file."""
    own = {column.name for column in document.table_files[0].columns}
    return [pair for pair in listed if {one.name for one in pair} <= own]


class _Sheet:
    """The code, in the names of this release."""

    def __init__(self, document: ReleaseDocument, schema: tuple[PublishedColumn, ...], together: list[list[str]]):
        self.document, self.asked = document, list[SheetQuestion]()
        listed = _of_one_file(document, pairs(schema, together))
        own = {column.name for column in document.table_files[0].columns}
        alone = [column for column in schema if column.name in own and any(column.name in table for table in together)]
        pair = max(
            (each for each in listed if _cells(each) <= _MANY), key=_cells, default=min(listed, key=_cells, default=None)
        )
        numbered = [each for each in listed if _has_numbers(each[1])]
        of_means = max(numbered, key=lambda each: (len(each[1].labels), -len(each[0].labels)), default=None)
        column = alone[-1] if pair is None else pair[1]
        named = [one.name for one in (*(pair or (column,)), *(of_means or ()))]
        labels = [label for one in (column, *(of_means or ())) for label in one.labels]
        self.for_stata = all(_PLAIN.fullmatch(name) and name not in STATA_WORDS for name in named) and not any(
            map(_SIGNS.search, labels)
        )
        self._of_column(column)
        if pair is not None:
            self._of_pair(*pair)
        if of_means is not None:
            self._of_means(*of_means)
        if pair is not None:
            self._compared_with_rows(*pair)

    @property
    def begin(self) -> SheetQuestion:
        file, numbers = self.document.csv, ", ".join(f'"{name}"' for name in NUMBERS)
        texts = " ".join(str(place) for place, name in enumerate(NAMES, 1) if name not in (*NUMBERS, "confidence"))
        r_csv = 'colClasses = "character", na.strings = character(0), check.names = FALSE, fileEncoding = "UTF-8"'
        return SheetQuestion(
            words="",
            r=f"""rows <- read.csv({r_text(file)}, {r_csv})
est <- read.csv("{CSV}", {r_csv})
for (name in c({numbers})) est[[name]] <- as.numeric(est[[name]])
ask <- function(statistic, column, value = NULL, by = "") {{
  wanted <- est$question == "" & est$statistic %in% statistic & est$column == column & est$by == by
  if (!is.null(value)) wanted <- wanted & est$value == value
  est[wanted, c("statistic", "value", "group", "estimate", "standard_error", "lower", "upper", "told")]
}}""",
            python=f"""import numpy as np
import pandas as pd

rows = pd.read_csv({json.dumps(file)}, dtype=str, keep_default_na=False)
est = pd.read_csv("{CSV}", dtype=str, keep_default_na=False)
pd.set_option("display.width", 160, "display.max_columns", 20)
for name in [{numbers}]:
    est[name] = pd.to_numeric(est[name])


def ask(statistics, column, value=None, by=""):
    wanted = (est.question == "") & est.statistic.isin(statistics) & (est.column == column) & (est.by == by)
    if value is not None:
        wanted &= est.value == value
    return est.loc[wanted, ["statistic", "value", "group", "estimate", "standard_error", "lower", "upper", "told"]]""",
            stata=f"""version 14
import delimited using "{CSV}", clear varnames(1) case(preserve) encoding("UTF-8") stringcols({texts})
save "estimates_stata.dta", replace
import delimited using "{file}", clear varnames(1) case(preserve) encoding("UTF-8") stringcols(_all)
save "rows_stata.dta", replace""",
        )

    def _add(self, words: str, r: str, python: str, naive: str, stata: str) -> None:
        of_estimates = f'use "estimates_stata.dta", clear\n{stata}'
        code = f'use "rows_stata.dta", clear\n{naive}\n{of_estimates}' if naive else of_estimates
        self.asked.append(SheetQuestion(words=words, r=r, python=python, stata=code))

    def _of_column(self, column: PublishedColumn) -> None:
        name, value = column.name, column.labels[0]
        r, rv, p, pv = r_text(name), r_text(value), json.dumps(name), json.dumps(value)
        self._add(
            f"How many rows have {name} = {value}?",
            f'sum(rows[[{r}]] == {rv})\nask("count", {r}, {rv})',
            f'print((rows[{p}] == {pv}).sum())\nprint(ask(["count"], {p}, {pv}))',
            f'count if {name} == "{value}"',
            _list("count", name, value),
        )
        self._add(
            f"What share of the rows has {name} = {value}?",
            f'mean(rows[[{r}]] == {rv})\nask("share", {r}, {rv})',
            f'print((rows[{p}] == {pv}).mean())\nprint(ask(["share"], {p}, {pv}))',
            f'generate byte met = {name} == "{value}"\nsummarize met',
            _list("share", name, value),
        )
        self._add(
            f"How is {name} distributed?",
            f'prop.table(table(rows[[{r}]]))\nask("share", {r})',
            f'print(rows[{p}].value_counts(normalize=True))\nprint(ask(["share"], {p}))',
            f"tabulate {name}",
            _list("share", name),
        )

    def _of_pair(self, by: PublishedColumn, column: PublishedColumn) -> None:
        x, y, value = by.name, column.name, column.labels[0]
        rx, ry, rv = r_text(x), r_text(y), r_text(value)
        px, py, pv = json.dumps(x), json.dumps(y), json.dumps(value)
        self._add(
            f"What share has {y} = {value}, by {x}?",
            f'tapply(rows[[{ry}]] == {rv}, rows[[{rx}]], mean)\nask("share", {ry}, {rv}, by = {rx})',
            f'print((rows[{py}] == {pv}).groupby(rows[{px}]).mean())\nprint(ask(["share"], {py}, {pv}, by={px}))',
            f'generate byte met = {y} == "{value}"\ntabulate {x}, summarize(met)',
            _list("share", y, value, x),
        )
        r_told = f'g <- ask("share", {ry}, {rv}, by = {rx})\ng <- g[g$told == "yes", ]\n'
        p_told = f'g = ask(["share"], {py}, {pv}, by={px})\ng = g[g.told == "yes"]\n'
        stata_told = f'keep if {_wanted("share", y, value, x)} & told == "yes"\n'
        self._add(
            f"By how much does this share differ from that of the first group of {x} that is estimable?",
            r_told
            + """d <- g$estimate - g$estimate[1]
low <- d - sqrt((g$estimate - g$lower)^2 + (g$upper[1] - g$estimate[1])^2)
high <- d + sqrt((g$upper - g$estimate)^2 + (g$estimate[1] - g$lower[1])^2)
data.frame(group = g$group, difference = d, lower = low, upper = high)[-1, ]""",
            p_told
            + """first = g.head(1).squeeze()
d = g.estimate - first.estimate
low = d - np.sqrt((g.estimate - g.lower) ** 2 + (first.upper - first.estimate) ** 2)
high = d + np.sqrt((g.upper - g.estimate) ** 2 + (first.estimate - first.lower) ** 2)
print(pd.DataFrame({"group": g.group, "difference": d, "lower": low, "upper": high})[1:])""",
            "",
            stata_told
            + """generate double difference = estimate - estimate[1]
generate double low = difference - sqrt((estimate - lower)^2 + (upper[1] - estimate[1])^2)
generate double high = difference + sqrt((upper - estimate)^2 + (estimate[1] - lower[1])^2)
list group difference low high if _n > 1""",
        )
        self._add(
            "And as a ratio? Where the share of the first group may be 0, the upper end is infinite: not estimable.",
            r_told
            + """ratio <- log(g$estimate) - log(g$estimate[1])
low <- ratio - sqrt((log(g$estimate) - log(g$lower))^2 + (log(g$upper[1]) - log(g$estimate[1]))^2)
high <- ratio + sqrt((log(g$upper) - log(g$estimate))^2 + (log(g$estimate[1]) - log(g$lower[1]))^2)
data.frame(group = g$group, ratio = exp(ratio), lower = exp(low), upper = exp(high))[-1, ]""",
            p_told
            + """with np.errstate(divide="ignore", invalid="ignore"):
    e, lower, upper = (np.log(g[name].to_numpy()) for name in ["estimate", "lower", "upper"])
    e1, lower1, upper1 = e[:1], lower[:1], upper[:1]
    low = e - e1 - np.sqrt((e - lower) ** 2 + (upper1 - e1) ** 2)
    high = e - e1 + np.sqrt((upper - e) ** 2 + (e1 - lower1) ** 2)
print(pd.DataFrame({"group": g.group, "ratio": np.exp(e - e1), "lower": np.exp(low), "upper": np.exp(high)})[1:])""",
            "",
            stata_told
            + """generate double ratio = ln(estimate) - ln(estimate[1])
generate double low = ratio - sqrt((ln(estimate) - ln(lower))^2 + (ln(upper[1]) - ln(estimate[1]))^2)
generate double high = ratio + sqrt((ln(upper) - ln(estimate))^2 + (ln(estimate[1]) - ln(lower[1]))^2)
replace ratio = exp(ratio)
replace low = exp(low)
replace high = exp(high)
list group ratio low high if _n > 1""",
        )
        self._add(
            f"How many rows are in each cell of {x} and {y}?",
            f'table(rows[[{rx}]], rows[[{ry}]])\ng <- ask("count", {ry}, by = {rx})\nxtabs(estimate ~ group + value, g)\ng',
            f'print(pd.crosstab(rows[{px}], rows[{py}]))\ng = ask(["count"], {py}, by={px})\n'
            'print(g.pivot(index="group", columns="value", values="estimate"))\nprint(g)',
            f"tabulate {x} {y}",
            _list("count", y, None, x),
        )

    def _of_means(self, by: PublishedColumn, column: PublishedColumn) -> None:
        x, y = by.name, column.name
        known = [(label, number) for label, number in zip(column.labels, column.numbers, strict=True) if number is not None]
        r_numbers = ", ".join(f"{r_text(label)} = {number!r}" for label, number in known)
        p_numbers = json.dumps(dict(known), ensure_ascii=False)
        stata_numbers = "generate double number = .\n" + "\n".join(
            f'replace number = {number!r} if {y} == "{label}"' for label, number in known
        )
        rx, ry, px, py = r_text(x), r_text(y), json.dumps(x), json.dumps(y)
        r_means, p_means = 'c("mean", "mean of bin numbers")', '["mean", "mean of bin numbers"]'
        said = "by the numbers of its bins, and for the file's own values"
        self._add(
            f"What is the mean of {y}, {said}?",
            f"numbers <- c({r_numbers})\nmean(numbers[rows[[{ry}]]], na.rm = TRUE)\nask({r_means}, {ry})",
            f"numbers = rows[{py}].map({p_numbers})\nprint(numbers.mean())\nprint(ask({p_means}, {py}))",
            f"{stata_numbers}\nsummarize number",
            "\n".join(_list(statistic, y) for statistic in _MEANS),
        )
        self._add(
            f"What is the mean of {y}, by {x}?",
            f"tapply(numbers[rows[[{ry}]]], rows[[{rx}]], mean, na.rm = TRUE)\nask({r_means}, {ry}, by = {rx})",
            f"print(numbers.groupby(rows[{px}]).mean())\nprint(ask({p_means}, {py}, by={px}))",
            f"{stata_numbers}\ntabulate {x}, summarize(number)",
            "\n".join(_list(statistic, y, None, x) for statistic in _MEANS),
        )

    def _compared_with_rows(self, by: PublishedColumn, column: PublishedColumn) -> None:
        x, y, value = by.name, column.name, column.labels[0]
        rx, ry, rv = r_text(x), r_text(y), r_text(value)
        px, py, pv = json.dumps(x), json.dumps(y), json.dumps(value)
        self._add(
            f"Where do the rows mislead? The shares of {y} = {value} by {x} in the rows that are outside their interval.",
            f"""g <- ask("share", {ry}, {rv}, by = {rx})
g$rows <- tapply(rows[[{ry}]] == {rv}, rows[[{rx}]], mean)[g$group]
outside <- g$told != "yes" | is.na(g$rows) | g$rows < g$lower | g$rows > g$upper
g[outside, c("group", "rows", "estimate", "lower", "upper", "told")]""",
            f"""g = ask(["share"], {py}, {pv}, by={px})
g["rows"] = g.group.map((rows[{py}] == {pv}).groupby(rows[{px}]).mean())
print(g[(g.told != "yes") | ~g.rows.between(g.lower, g.upper)])""",
            "",
            f"""keep if {_wanted("share", y, value, x)}
save "asked_stata.dta", replace
use "rows_stata.dta", clear
generate double rows = {y} == "{value}"
rename {x} group
collapse (mean) rows, by(group)
merge 1:1 group using "asked_stata.dta"
list group rows estimate lower upper told if told != "yes" | rows < lower | rows > upper""",
        )


def _cells(pair: tuple[PublishedColumn, PublishedColumn]) -> int:
    return len(pair[0].labels) * len(pair[1].labels)


def _has_numbers(column: PublishedColumn) -> bool:
    return column.kind != "category" and None not in column.numbers[: column.present]


def _wanted(statistic: str, column: str, value: str | None = None, by: str = "") -> str:
    of_value = "" if value is None else f' & value == "{value}"'
    return f'question == "" & statistic == "{statistic}" & column == "{column}"{of_value} & by == "{by}"'


def _list(statistic: str, column: str, value: str | None = None, by: str = "") -> str:
    return f"list value group estimate standard_error lower upper told if {_wanted(statistic, column, value, by)}"


# SIGN.md: the claim of a release in a sentence, and eight checks for whoever signs it off: what to type, what to expect.

NAME = "SIGN.md"
AUDIT = "5.2 processor minutes for the release of `configs/births.toml`, about three with two free cores (2026-11-24)"
"""What the check that takes longest took."""


def sign_files(document: ReleaseDocument) -> dict[str, bytes]:
    """The sheet by its name; none of a release from before there was one. It depends on release.json alone."""
    if document.format == BEFORE:
        return {}
    asked = [one for one in document.criteria if one.epsilon_exact != "0"]
    text = (
        environment()
        .get_template(NAME)
        .render(
            document=document,
            title=labelled_title(document),
            claim=claim(document),
            right=right_guess(document, whole_person=document.domain.persons is not None),
            person=person_text(document),
            protection=data_protection(document),
            statements=statements(document),
            lines=list(charge_lines(document.charges)),
            family=document.configuration["generator"]["family"],
            kinds=sorted({one.kind for one in asked}),
            asked=asked,
            free=[one for one in document.criteria if one.epsilon_exact == "0"],
            refused=[one.name for one in document.columns if "error" in (one.missing, one.outside)],
            by_hand=by_hand,
            beyond=list(beyond(document, WORDS)),
            several=[] if document.series is None else ["series"],
            audit=AUDIT,
            n=numbers,
        )
    )
    return {NAME: (re.sub(r"\n{3,}", "\n\n", text).strip() + "\n").encode("utf-8")}


def claim(document: ReleaseDocument) -> str:
    """What is claimed, in one sentence."""
    guarantee, domain, person = document.guarantee, document.domain, document.guarantee.person
    epsilon, delta = guarantee.epsilon_exact, guarantee.delta_exact
    if domain.persons is not None:
        files, differ = f"{numbers.figure(domain.persons)} persons", "all rows of one person, replaced by any others"
        if person.epsilon_exact is None or person.delta_exact is None:
            return f"For two private files of {files} that differ in {differ}, nothing is claimed: delta would be 1 or more."
        epsilon, delta = person.epsilon_exact, person.delta_exact
    elif document.linked is not None:
        files = f"{numbers.figure(domain.file_rows or document.rows_worked_with)} roots"
        differ = f"one {'root' if person.unit == 'record' else person.unit} with all its members, replaced by any other"
    elif domain.file_rows is None:
        files, differ = (
            f"which the public rules keep exactly {numbers.figure(document.rows_worked_with)} rows",
            f"one kept {person.unit}, replaced by any other that is kept",
        )
    else:
        files, differ = f"{numbers.figure(domain.file_rows)} rows", f"one {person.unit}, replaced by any other"
    plus = "" if delta == "0" else f", plus delta = {numbers.without_exponent(float(Fraction(delta)))}"
    kind = "pure" if delta == "0" else "approximate"
    shown = numbers.exact_epsilon(epsilon)
    return (
        f"For any two private files of {files} that differ in {differ}, the probability of any set of possible releases from "
        f"one is at most e^{shown} times that from the other{plus} ({kind} differential privacy, epsilon = {shown}); the claim "
        "is about the files of this folder alone, and what is published exactly is not in it: "
        f"{'; '.join(guarantee.invariants)}."
    )


def stated(node: ChargePart) -> str:
    """What a node of the charge tree costs, as `plan` prints it."""
    delta = "" if node.delta_exact == "0" else f", delta {float(Fraction(node.delta_exact)):.3g}"
    return numbers.cost(node).removeprefix("epsilon ") + delta


def charge_lines(node: ChargePart, depth: int = 0) -> Iterator[str]:
    """The parts of a charge in the order of `plan`, indented."""
    for part in node.parts:
        yield f"{'    ' * depth}{stated(part)}  {part.name}"
        yield from charge_lines(part, depth + 1)


def by_hand(criterion: CriterionPart) -> str:
    """The standard deviation of Laplace noise, from sensitivity and epsilon; or why the noise is another one."""
    if criterion.one_noise is not None:
        return f"{criterion.one_noise.figures} figures share one noise"
    if criterion.sensitivity is None:
        return "redrawn on the noisy line"
    return numbers.figure(math.sqrt(2) * float(criterion.sensitivity) / float(Fraction(criterion.epsilon_exact)), 3)
