"""Render the files of a draft: the configuration, the acceptance file and the codelists. Default settings are omitted."""

from __future__ import annotations

import csv
import io
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from synthrelease.data.texts import quoted
from synthrelease.errors import OutputError, listing, so_many
from synthrelease.generators.associations import Strengths
from synthrelease.generators.measurements import folded, formula_by_cells, read_terms
from synthrelease.resources import templates
from synthrelease.settings.tables import ACCEPTANCE_SCHEMA, CONFIGURATION_SCHEMA, MOST_PAIRS, NOT_ANSWERED, RANDOM, BudgetTable
from synthrelease.spec.record import used_rows
from synthrelease.studio.drafting.bins import bin_texts
from synthrelease.studio.drafting.column_draft import ColumnDraft, LeftOut
from synthrelease.studio.drafting.criteria import OTHERS, AcceptanceDraft, Suggestion, grouped_by
from synthrelease.studio.drafting.members import MembersDraft
from synthrelease.studio.drafting.options import WITHIN, AreasDraft, MarksDraft, UnitAnswer, shared_keys
from synthrelease.studio.drafting.public_file import PublicFile
from synthrelease.studio.drafting.toml_edit import comment, formula, toml
from synthrelease.studio.rehearsal.plan_race import Promise

if TYPE_CHECKING:
    from jinja2 import Environment

INLINE_CODES = 40
"""A codelist with more codes is written to a separate file."""
TEST = Fraction(1, 5)
"""The epsilon of the joint test of all criteria."""
ONE_BY_ONE = 3
"""Up to this many columns that are left out for the same reason are listed one by one, more columns in one sentence."""
LOST_WHY = "Trials lost these pairs: no table measures them, or noise or wide bins hide their association."
"""The reason in [not_promised] for pairs that trials lost."""
_REMARK = 150  # The largest number of characters of a remark behind a column
_LONG = 600  # A column has one line of at most so many characters, without the remark


def column_settings(release: str, column: ColumnDraft, *, of_member: bool = False) -> dict[str, object]:
    """Return the settings of a drafted column in the order of a configuration, without default values.

    Parameters
    ----------
    of_member : whether the column belongs to the second of two linked tables, whose codelists have no separate files.
    """
    # a column whose name has no ASCII letters, such as a Hebrew name, is called `column_2`; its own name becomes the
    # description
    nameless = "" if re.search(r"\w", column.source, re.ASCII) else " ".join(column.source.split())
    settings: dict[str, object] = {
        "kind": column.kind,
        "description": column.description or nameless,
        "source": "" if column.source == column.name else column.source,
        "part": column.part,
        "minus": column.minus,
        "format": "" if column.format == "%Y-%m-%d" else column.format,
        "minus_format": column.minus_format,
        "role": "weight" if column.weight else "",
        "missing_values": list(column.missing_values),
        "missing": "bin" if column.keeps_missing else "",
        "missing_label": column.missing_label if column.keeps_missing and column.missing_label != "missing" else "",
    }
    if column.bins:
        settings |= {"bounds": [column.bins.low, column.bins.high], "alternatives.coarse": column.texts_of_bins}
        settings |= {"numbers": column.numbers_of_bins, "step": column.facts.step if column.facts else None}
    else:
        settings |= {"characters": column.characters}
        settings |= {"outside_label": OTHERS} if column.common else {}
        settings["codes" if column.kind == "code" else "categories"] = _codes(release, column, of_member)
        settings |= {"ordered": True} if column.ordered and column.kind == "category" else {}
        settings |= _grouped(column) if column.groups else {}
    return {key: value for key, value in settings.items() if value}


def _codes(release: str, column: ColumnDraft, of_member: bool) -> object:
    if column.kind == "code":
        path = "" if of_member else codelist_name(release, column)
        codes = {text: draft.label for text, draft in column.codes.items()}
        return path or (list(codes) if all(text == label for text, label in codes.items()) else codes)
    labels = {draft.label: [text, *draft.spellings] for text, draft in column.codes.items()}
    return list(labels) if all([label] == texts for label, texts in labels.items()) else labels


def _grouped(column: ColumnDraft) -> dict[str, object]:
    names = {text: text if column.kind == "code" else draft.label for text, draft in column.codes.items()}
    groups = {label: [names[text] for text in texts] for label, texts in column.groups.items()}
    apart = {column.codes[text].label: [name] for text, name in names.items()}
    return {"alternatives.coarse": groups, f"alternatives.{'codes' if column.kind == 'code' else 'categories'}": apart}


def settings_text(settings: Mapping[str, object], remarks: Mapping[str, str] | None = None) -> str:
    """Return settings as the lines of a TOML table, such as `kind = "integer"`, with remarks as comments at their ends."""
    comments = {key: f"  # {remark}" for key, remark in (remarks or {}).items() if remark}
    return "\n".join(f"{key} = {toml(value)}{comments.get(key, '')}" for key, value in settings.items())


def column_text(column: ColumnDraft, settings: Mapping[str, object]) -> str:
    remark = f"{column.remark}; missing in {so_many(column.missing_rows, 'row')}" if column.keeps_missing else column.remark
    # a table in the table, because tomlkit cannot change an inline table with dotted keys
    inner = [f"{key[13:]} = {toml(value)}" for key, value in settings.items() if key.startswith("alternatives.")]
    texts = {key: toml(value) for key, value in settings.items()} | {"alternatives": f"{{ {', '.join(inner)} }}"}
    lines = [f"{key} = {texts[key]}" for key in dict.fromkeys(key.partition(".")[0] for key in settings)]
    inline = f"{column.name} = {{ {', '.join(lines)} }}"
    if len(inline) > _LONG:
        inline = settings_text({f"{column.name}.{key}": value for key, value in settings.items()})
    first, *others = inline.split("\n")
    question = [comment(f"DOUBTFUL: {column.doubt}.")] if column.doubt else []
    return "\n".join([*question, f"{first}  # {_one_line(remark)}", *others])


@cache
def _templates() -> Environment:
    environment = templates(Path(__file__).parent / "templates", __file__)
    environment.filters |= {"comment": comment, "toml": toml, "settings": settings_text, "formula": formula}
    environment.filters |= {"one_line": _one_line, "listing": lambda names: listing(names, 5), "quoted": quoted}
    return environment


def _rendered(template: str, name: str, file: PublicFile, **values: object) -> str:
    notice = comment(
        f"DRAFT by `synthrelease init` from the PUBLIC file {file.name!r} ({file.n_rows:,} rows). Everything in this draft is "
        "published without protection. If the file is not public, delete this draft. Check every line, then delete this notice."
    )
    values |= {"name": name, "notice": notice, "file_name": repr(file.name), "n_rows": file.n_rows}
    text = _templates().get_template(template).render(values)
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n") + "\n"


def acceptance_text(name: str, file: PublicFile, draft: AcceptanceDraft, columns: Sequence[ColumnDraft]) -> str:
    whole = {column.name: column.kind == "integer" for column in columns}
    by = {name for criterion in draft.criteria for name in grouped_by(criterion)}
    pairs = list(dict.fromkeys([*draft.lost, *(pair.columns for pair in draft.faint)]))
    return _rendered(
        "acceptance.toml",
        name,
        file,
        schema=ACCEPTANCE_SCHEMA,
        draft=draft,
        folded=_with_folded_tables,
        groups=[(column, bin_texts(limits, whole=whole[column])) for column, limits in draft.groups.items() if column in by],
        not_drafted=_together(
            "Not drafted", ((name, f"because {why}") for name, _, why in (each.partition(": ") for each in draft.left_out))
        ),
        pairs=[":".join(pair) for pair in pairs[:MOST_PAIRS]],
        lost=len(draft.lost),
        lost_why=LOST_WHY,
    )


def codelist_name(release: str, column: ColumnDraft) -> str:
    """Return the path of a long codelist's file, relative to the configuration, or "" for a codelist in the configuration."""
    long = column.kind == "code" and (column.common or column.levels or len(column.codes) > INLINE_CODES)
    return f"codes/{release}-{column.name}.csv" if long else ""


def codelist_text(column: ColumnDraft) -> str:
    """Return a codelist as CSV: the code, its label, its group if rare codes are grouped, and the larger areas of areas."""
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(["code", "label", *(["common"] if column.common else []), *column.levels])
    for text, draft in column.codes.items():
        group = [draft.label if text in column.common else OTHERS] if column.common else []
        writer.writerow([text, draft.label, *group, *(level[text] for level in column.levels.values())])
    return lines.getvalue()


def _one_line(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= _REMARK else f"{plain[:_REMARK]} ..."


def _with_folded_tables(settings: Mapping[str, object]) -> dict[str, object]:
    """Return the settings of a criterion, with long lists of tables in a shorter form, such as "age:(region + sex)"."""
    tables = settings.get("tables")
    if isinstance(tables, list) and all(":" in text for text in tables):
        return {**settings, "tables": folded(read_terms(" + ".join(tables)))}
    return dict(settings)


# The subject of a draft, and the report of progress.

_PATIENCE = 4  # Seconds without a report, after which the next minor step is reported

Progress = Callable[[str], None]
"""Function that receives a text about the current step."""


@dataclass(eq=False)
class Voice:
    """A reporter of progress that remembers the time of its last report.

    Attributes
    ----------
    progress : function that receives a text about the current step.
    last : time of the last report, in seconds of `time.monotonic`.
    """

    progress: Progress
    last: float = field(default_factory=time.monotonic)

    def say(self, doing: str) -> None:
        self.last = time.monotonic()
        self.progress(doing)

    def patiently(self, doing: str) -> None:
        """Report the current step if nothing was reported in the last four seconds."""
        if time.monotonic() - self.last > _PATIENCE:
            self.say(doing)


@dataclass(frozen=True, kw_only=True)
class Subject:
    """The drafted columns of a public file, and the options of the draft.

    Attributes
    ----------
    unit : which rows belong to the same person, or None if the steward has not answered this.
    promise : the epsilon, the delta and the important columns that the steward requested.
    members : drafted columns of the second of two linked tables, or None.
    question : which columns matter, if the file has more columns than a draft; otherwise empty.
    """

    name: str
    file: PublicFile
    columns: tuple[ColumnDraft, ...]
    left_out: tuple[LeftOut, ...]
    voice: Voice
    unit: UnitAnswer | None = None
    promise: Promise = Promise()
    members: MembersDraft | None = None
    areas: AreasDraft | None = None
    question: str = ""

    @property
    def wide(self) -> list[ColumnDraft]:
        """The columns of a wide record, such as the columns of a household, followed by the columns of each of its persons."""
        return [*self.columns, *(self.members.wide() if self.members else ())]

    @property
    def of_members(self) -> list[str]:
        return [column.name for column in self.members.columns] if self.members and self.members.most > 1 else []

    def without(self, reasons: Mapping[str, LeftOut]) -> Subject:
        stay = tuple(column for column in self.columns if column.name not in reasons)
        return replace(self, columns=stay, left_out=(*self.left_out, *reasons.values()))


# A draft: the texts of its two files and its codelists.


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A finished draft: the texts of its files, and the decisions about its columns.

    Attributes
    ----------
    n_used : the number of records that a release of the public file would use: rows, released rows of persons, or roots.
    codelists : texts of long codelists, by path relative to the configuration.
    smaller : why the draft has fewer columns or coarser bins than the file allows; otherwise empty.
    unit : which rows belong to the same person, or None if the steward has not answered this.
    members : drafted columns of the second of two linked tables, or None.
    comparing : conditions of the suggested rules that compare two columns.
    """

    configuration: str
    acceptance: str
    columns: tuple[ColumnDraft, ...]
    left_out: tuple[LeftOut, ...]
    criteria: AcceptanceDraft
    n_rows: int
    n_used: int
    source: str
    codelists: Mapping[str, str] = field(default_factory=dict)
    smaller: str = ""
    plan: str = ""
    strengths: Strengths = field(default_factory=Strengths)
    unit: UnitAnswer | None = None
    members: MembersDraft | None = None
    comparing: tuple[str, ...] = ()

    @property
    def doubtful(self) -> tuple[ColumnDraft, ...]:
        return tuple(column for column in (*self.columns, *(self.members.columns if self.members else ())) if column.doubt)


def paths_of(into: Path, name: str) -> tuple[Path, Path]:
    return into / "configs" / f"{name}.toml", into / "acceptance" / f"{name}.toml"


def check_no_draft(paths: Iterable[Path]) -> None:
    for path in filter(os.path.lexists, paths):
        raise _taken(path)


def _taken(path: Path) -> OutputError:
    done = "Nothing was overwritten. Delete the files of the old draft, or choose another name."
    return OutputError(f"{path} exists already. {done}")


def write_new(texts: Mapping[Path, str]) -> None:
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with path.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
        except FileExistsError:
            raise _taken(path) from None


def write_files(into: Path, name: str, draft: Draft) -> tuple[Path, Path]:
    configuration, acceptance = paths_of(into, name)
    codelists = {configuration.parent / path: text for path, text in draft.codelists.items()}
    write_new({configuration: draft.configuration, acceptance: draft.acceptance, **codelists})
    return configuration, acceptance


@dataclass(frozen=True, kw_only=True)
class Choices:
    """All choices of a draft except its columns: generator, tables, rules and budget.

    Attributes
    ----------
    tables : measured tables with their weights, as terms of a formula. The adaptive generators ignore them.
    rows, limit : epsilon of counting the rows, and epsilon of the whole release.
    minimum_count : smallest number of times that a released row occurs.
    agreements : whether pairs of columns with two bins are measured as agreements, which are not published.
    prior_weight : number of records that the uniform distribution counts for in the fit.
    generation, delta : budget of the generator: an epsilon if delta is 0, otherwise a rho.
    advice : sentences on what a smaller epsilon and other generators would preserve.
    smaller : why the draft has fewer columns or coarser bins than the file allows; otherwise empty.
    gaps : number of public rows that are excluded because of a missing value.
    wanted : wanted relative errors of a mean cell at each level of areas, as a text; empty without areas.
    marks : groups of rare indicators that have a column, or None.
    models : epsilon of the means that are measured directly.
    """

    tables: tuple[str, ...]
    rows: Fraction
    limit: Fraction = Fraction(1000)
    rules: tuple[Suggestion, ...] = ()
    minimum_count: int = 1
    unique: float = 0.0
    family: str = "marginals"
    agreements: bool = False
    prior_weight: int = 1
    generation: Fraction = Fraction(1)
    delta: Fraction = Fraction(0)
    advice: str = ""
    smaller: str = ""
    gaps: int = 0
    areas: AreasDraft | None = None
    wanted: str = ""
    marks: MarksDraft | None = None
    models: Fraction = Fraction(0)

    @property
    def plan(self) -> str:
        delta = "delta 1e-9" if self.delta else "delta 0"
        return f"The plan costs at most epsilon {float(self.limit):g}, {delta}. {self.advice}".rstrip()

    @property
    def measures(self) -> bool:
        """Whether the generator measures fixed tables once. They are published, unless pairs are measured as agreements."""
        return self.family in ("marginals", "gaussian_marginals") or self.areas is not None


def configuration_text(subject: Subject, choices: Choices) -> str:
    name, file, columns, members = subject.name, subject.file, subject.columns, subject.members
    gaps = [column.name for column in columns if column.missing_rows and not column.keeps_missing]
    lost = f"{choices.gaps:,} of the {file.n_rows:,} rows of the public file, {choices.gaps / file.n_rows:.1%}"
    wide = [column.name for column in subject.wide]
    return _rendered(
        "configuration.toml",
        name,
        file,
        schema=CONFIGURATION_SCHEMA,
        choices=choices,
        input=_input(file, weighted=any(column.weight for column in columns)),
        unit=unit_text(subject.unit, subject.left_out, subject.members.key if subject.members else ""),
        columns=columns,
        text_of=lambda column, of_member=False: column_text(column, column_settings(name, column, of_member=of_member)),
        left_out=_left_out(subject.left_out),
        design=design_settings(columns, subject.left_out),
        members=members,
        left_out_of_members=_left_out(members.left_out) if members else [],
        gaps=f'Rows without {listing(gaps, 6)} are excluded: {lost}. missing = "bin" would keep them.' if gaps else "",
        several=[column for column in columns if column.common or column.groups or column.levels],
        within=f" {WITHIN} ",
        tables=" + ".join(choices.tables) if choices.areas else formula_by_cells(choices.tables, wide),
        test_epsilon=TEST,
        usual_rows=BudgetTable.model_fields["rows"].default,
        means=[(column.name, column.facts.mean_range) for column in with_means(columns) if column.facts],
    )


def with_means(columns: Sequence[ColumnDraft]) -> list[ColumnDraft]:
    """Return the columns whose means are measured directly: all numeric columns except weights, years and parts of dates."""
    return [column for column in columns if column.facts and not (column.weight or column.part or column.calendar)]


def design_settings(columns: Sequence[ColumnDraft], left_out: Sequence[LeftOut]) -> dict[str, object]:
    settings = {"weight": [column.name for column in columns if column.weight][:1]}
    for part in ("strata", "clusters"):
        settings[part] = [column.source for column in left_out if column.design == part]
    return {name: columns_ if name == "strata" else columns_[0] for name, columns_ in settings.items() if columns_}


def unit_text(unit: UnitAnswer | None, left_out: Sequence[LeftOut], root: str = "") -> str:
    """Return the text of the table [unit] with the comment above it.

    Parameters
    ----------
    root : name of the column that links members to their root, or an empty string if there are no members.
    """
    keys = [column.source for column in left_out if column.rows_of_one > 1]
    values = {
        "unit": unit,
        "root": root,
        "keys": shared_keys(left_out),
        "key": keys[0] if len(keys) == 1 else "",
        "not_answered": NOT_ANSWERED,
        "random": RANDOM,
    }
    if unit is not None and unit.key is not None:
        values |= {"later": so_many(unit.later, "row"), "without_key": so_many(unit.without_key, "row")}
        values["leaning"] = f"{used_rows(unit.records, unit.first_by)[1]} " * bool(unit.later)
    return _templates().get_template("unit.toml").render(values).strip("\n")


def _input(file: PublicFile, *, weighted: bool) -> dict[str, object]:
    stated = file.input.model_dump(include={"delimiter", "encoding", "decimal", "table", "fixed_width"}, exclude_defaults=True)
    positions = {f"fixed_width.{key}": value for key, value in stated.pop("fixed_width", {}).items()}
    return stated | positions | ({"one_row_per": "respondent"} if weighted else {})


def _left_out(left_out: Sequence[LeftOut]) -> list[str]:
    return _together("Left out", ((repr(column.source), f"because {column.because}") for column in left_out))


def _together(word: str, reasons_of: Iterable[tuple[str, str]]) -> list[str]:
    reasons = dict[str, list[str]]()
    for name, why in reasons_of:
        reasons.setdefault(why.partition(". On the public file")[0], []).append(name)
    return [f"{word}: {', '.join(names)}{', each' if len(names) > 1 else ','} {why}." for why, names in reasons.items()]
