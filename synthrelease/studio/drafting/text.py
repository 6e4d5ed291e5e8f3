"""The two TOML files of a draft as text, with remarks that a steward can work from."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from synthrelease.errors import listing
from synthrelease.privacy.curves import epsilon_of
from synthrelease.settings.tables import MOST_PAIRS
from synthrelease.spec.reference import ACCEPTANCE_NAME, CONFIGURATION_NAME
from synthrelease.studio.drafting.bins import bin_texts
from synthrelease.studio.drafting.column_draft import ColumnDraft, LeftOut
from synthrelease.studio.drafting.criteria import OTHERS, AcceptanceDraft, Suggestion
from synthrelease.studio.drafting.members import MembersDraft
from synthrelease.studio.drafting.options import WITHIN, AreasDraft, UnitAnswer, unit_lines
from synthrelease.studio.drafting.public_file import PublicFile
from synthrelease.studio.drafting.toml_edit import comment, heading, marked, number_text, toml, wrapped

# The acceptance file of a draft as text.

_NOT_MEASURED = "No table of these pairs was measured, so that more was left for others"


def acceptance_text(name: str, file: PublicFile, draft: AcceptanceDraft, columns: Sequence[ColumnDraft]) -> str:
    """acceptance/NAME.toml"""
    whole = {column.name: column.kind == "integer" for column in columns}
    lines = [
        *marked(name, file, ACCEPTANCE_NAME),
        *comment("Agree on every threshold with the people who will use the data: they are promises about the release."),
        'description = ""                # what the release must be good for, in one sentence; it is published',
        "",
    ]
    if draft.groups:
        lines += ["# Bins for grouping, each made up of released bins", "[groups]"]
        lines += [f"{column} = {toml(bin_texts(limits, whole=whole[column]))}" for column, limits in draft.groups.items()]
        lines.append("")
    for criterion in draft.criteria:
        lines += [
            *comment(criterion.remark),
            "[[criteria]]",
            *(f"{key} = {toml(value)}" for key, value in criterion.settings.items()),
            "",
        ]
    for text in draft.left_out:
        lines += comment(f"Not drafted: {text}.")
    lines += _not_promised(draft)
    return "\n".join(lines).rstrip("\n") + "\n"


def _not_promised(draft: AcceptanceDraft) -> list[str]:
    """The pairs that fits lose, for the card to name: neither a threshold nor what is kept of all pairs need show it."""
    if not draft.lost and not draft.faint:
        return []
    lines, pairs = [""], list(dict.fromkeys([*draft.lost, *(each.columns for each in draft.faint)]))
    if draft.lost:
        lines += comment(
            f"LOST: {_pairs(draft.lost)}. These pairs hang together in the public file, but a model cannot hold their tables "
            "beside those that are measured, or the noise of one more table would hide them. A rehearsal shows what becomes of "
            "them, and of others."
        )
    if draft.faint:
        named = "; ".join(f"{' and '.join(pair.columns)} ({pair.cramers_v:.2f})" for pair in draft.faint)
        lines += comment(
            f"NOT KEPT, among few rows: {named}. By Cramer's V, in brackets, these pairs hang together in the public file, but "
            "fewer than one row in a hundred shows it, so no table of them is measured and no figure above tells of it: what "
            "comes together with a rare value is not to be read from this release. How many of some rare marks a row has, as "
            "[marks] counts them, may keep more."
        )
    return [
        *lines,
        *comment(
            "The card names them as not kept. Where one matters, measure it in place of other tables (in `tables` of "
            "[[generators]]), or release coarser bins or fewer columns, and take it out here. A shortlist that lost others is "
            "refused."
        ),
        "[not_promised]",
        f"pairs = {toml([':'.join(pair) for pair in pairs[:MOST_PAIRS]])}",
        f"why = {toml(_NOT_MEASURED)}",
    ]


def _pairs(pairs: Sequence[tuple[str, str]]) -> str:
    return "; ".join(" and ".join(pair) for pair in pairs)


# A drafted column as lines of a configuration, and its codelist where that is long.

INLINE_CODES = 40
"""A longer codelist gets a file of its own."""


def column_lines(release: str, column: ColumnDraft, table: str = "columns") -> list[str]:
    """The lines of a column in a configuration."""
    lines = [
        f"[{table}.{column.name}]".ljust(31) + f" # {_one_line(column.remark)}",
        *(comment(f"DOUBTFUL: {column.doubt}.") if column.doubt else []),
        f"kind = {toml(column.kind)}",
        f"description = {toml(column.description or _nameless(column.source))}",
    ]
    settings = {"source": column.source if column.source != column.name else None, "part": column.part, "minus": column.minus}
    settings["format"] = column.format if column.format != "%Y-%m-%d" else None
    settings["minus_format"] = column.minus_format
    settings["role"] = "weight" if column.weight else None
    lines += [f"{key} = {toml(value)}" for key, value in settings.items() if value]
    if column.missing_values:
        lines.append(f"missing_values = {toml(column.missing_values)}")
    if column.keeps_missing:
        lines.append('missing = "bin"'.ljust(31) + f" # {column.missing_rows} rows of the public file")
        lines.append(f"missing_label = {toml(column.missing_label)}")
    if column.bins:
        bounds = f"bounds = {toml([column.bins.low, column.bins.high])}"
        lines.append(bounds if column.part == "month" else f"{bounds.ljust(31)} # widen to what is possible")
        alternatives = column.bins.texts(whole=column.kind == "integer", weight=column.weight)
        lines += [f"alternatives.{name} = {toml(texts)}" for name, texts in alternatives.items()]
        if column.facts and column.facts.numbers:
            lines.append(f"numbers = {toml(column.facts.numbers)}")
        if column.facts and column.facts.step:
            step = f"step = {toml(column.facts.step)}"
            lines.append(f"{step.ljust(31)} # own values count as multiples of it: in a coarser grid means would move")
        return lines
    if column.characters:
        lines.append(f"characters = {column.characters}".ljust(31) + " # of a text in the file are its code")
    if column.common:
        lines.append(
            'outside = "bin"                 # a text that is not listed is counted under this label; or "drop", "error"'
        )
        lines.append(f"outside_label = {toml(OTHERS)}")
    else:
        lines.append('outside = "drop"                # a row with another text is left out; or "bin", "error"')
    if column.kind == "category":
        labels = {draft.label: [text, *draft.spellings] for text, draft in column.codes.items()}
        plain = all([label] == texts for label, texts in labels.items())
        lines.append(f"categories = {toml(list(labels) if plain else labels)}")
        lines += ["ordered = true"] if column.ordered else []
        return [*lines, *_grouped({text: draft.label for text, draft in column.codes.items()}, column, "categories")]
    if codelist_name(release, column) and table == "columns":
        return [*lines, f"codes = {toml(codelist_name(release, column))}"]
    codes = {text: draft.label for text, draft in column.codes.items()}
    return [*lines, f"codes = {toml(codes)}", *_grouped({text: text for text in codes}, column, "codes")]


def _grouped(names: Mapping[str, str], column: ColumnDraft, each: str) -> list[str]:
    """Return the lines of the bins of a column whose categories are released in groups, and of each by itself."""
    if not column.groups:
        return []
    groups = {label: [names[text] for text in texts] for label, texts in column.groups.items()}
    apart = {column.codes[text].label: [name] for text, name in names.items()}
    return [f"alternatives.coarse = {toml(groups)}", f"alternatives.{each} = {toml(apart)}"]


def codelist_name(release: str, column: ColumnDraft) -> str:
    """The file of a long codelist, relative to the configuration; empty for a short one."""
    long = column.kind == "code" and (column.common or column.levels or len(column.codes) > INLINE_CODES)
    return f"codes/{release}-{column.name}.csv" if long else ""


def codelist_text(column: ColumnDraft) -> str:
    """A codelist as CSV: the code, its label, the group that it is in where rare codes are grouped, and larger areas."""
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(["code", "label", *(["common"] if column.common else []), *column.levels])
    for text, draft in column.codes.items():
        group = [draft.label if text in column.common else OTHERS] if column.common else []
        writer.writerow([text, draft.label, *group, *(level[text] for level in column.levels.values())])
    return lines.getvalue()


def _nameless(source: str) -> str:
    """What the file calls a column of whose name no letter can be kept, as of one in Hebrew: `column_2` says nothing."""
    return "" if re.search(r"\w", source, re.ASCII) else _one_line(source)


def _one_line(text: str) -> str:
    """A remark of a readable length."""
    plain = " ".join(text.split())
    return plain if len(plain) <= 300 else f"{plain[:300]} ..."


# A draft: its two files and its codelists, as texts and on disk.


@dataclass(frozen=True, kw_only=True)
class Draft:
    """The files as text, and what was made of the columns.

    Attributes
    ----------
    codelists : long codelists, by their path relative to the configuration.
    smaller : why the draft has fewer columns, or coarser bins, than the file would give; empty where it has not.
    plan : what it costs and keeps, in sentences.
    unit : how rows belong to persons; None where nobody has said it.
    members : the rows of a second table that belong to each of these; None where there are none.
    """

    configuration: str
    acceptance: str
    columns: tuple[ColumnDraft, ...]
    left_out: tuple[LeftOut, ...]
    criteria: AcceptanceDraft
    n_rows: int
    source: str
    codelists: Mapping[str, str] = field(default_factory=dict)
    smaller: str = ""
    plan: str = ""
    unit: UnitAnswer | None = None
    members: MembersDraft | None = None

    @property
    def doubtful(self) -> tuple[ColumnDraft, ...]:
        """The columns that the steward is asked about."""
        return tuple(column for column in (*self.columns, *(self.members.columns if self.members else ())) if column.doubt)


def paths_of(into: Path, name: str) -> tuple[Path, Path]:
    return into / "configs" / f"{name}.toml", into / "acceptance" / f"{name}.toml"


def write_files(into: Path, name: str, found: Draft) -> tuple[Path, Path]:
    """The files of a draft under a folder; what is there already raises FileExistsError."""
    configuration, acceptance = paths_of(into, name)
    codelists = {configuration.parent / path: text for path, text in found.codelists.items()}
    for path, text in {configuration: found.configuration, acceptance: found.acceptance, **codelists}.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    return configuration, acceptance


TEST = Fraction(1, 5)
"""Epsilon of the test."""
ONE_BY_ONE = 3
"""Columns that are left out for one reason and told one by one; more are told together."""


@dataclass(frozen=True, kw_only=True)
class Choices:
    """What a draft chooses beside the columns.

    Attributes
    ----------
    family : the generator.
    tables : that are measured, with their weights, as a formula names them; of no matter to a generator that finds its own.
    prior_weight : how many records the uniform table is worth against the noise of the tables.
    generation, delta : what the generator may spend, an epsilon or, where there is a delta, a rho.
    plan : what the draft costs and keeps, in sentences.
    rules : suggested plausibility rules.
    minimum_count : of the projection; 1 where most rows occur once.
    unique : share of the public rows that occur once.
    rows, limit : epsilon of counting the rows, and of the whole release.
    smaller : why the draft has fewer columns, or coarser bins, than the file would give; empty where it has not.
    gaps : rows of the public file that are left out for a missing value.
    areas, wanted : areas within areas, with tables of each level, and how far off a mean cell of each may be; None without any.
    marks : the lines of [marks]; none where no marks are counted.
    """

    tables: tuple[str, ...]
    rules: tuple[Suggestion, ...]
    minimum_count: int
    unique: float
    rows: Fraction
    limit: Fraction
    family: str
    prior_weight: int
    generation: Fraction
    delta: Fraction
    plan: str = ""
    smaller: str = ""
    gaps: int = 0
    areas: AreasDraft | None = None
    wanted: str = ""
    marks: tuple[str, ...] = ()

    @property
    def measures(self) -> bool:
        """Whether the tables are measured once, and published."""
        return self.family in ("marginals", "gaussian_marginals") or self.areas is not None


def configuration_text(
    name: str,
    file: PublicFile,
    columns: Sequence[ColumnDraft],
    left_out: Sequence[LeftOut],
    choices: Choices,
    unit: UnitAnswer | None = None,
    members: MembersDraft | None = None,
) -> str:
    """configs/NAME.toml; `unit` None where nobody has said how rows belong to persons."""
    weighted = any(column.weight for column in columns)
    gaps = [column for column in columns if column.missing_rows and not column.keeps_missing]
    lines = [
        *marked(name, file, CONFIGURATION_NAME),
        *([*comment(choices.smaller), ""] if choices.smaller else []),
        f"title = {toml(name.replace('_', ' ').replace('-', ' ').capitalize())}",
        'description = ""                # what one row is and where the data come from: the card begins with it',
        f'acceptance = "../acceptance/{name}.toml"',
        "",
        "[input]",
        *([f"delimiter = {toml(file.delimiter)}"] if file.delimiter != "," else []),
        *([f"encoding = {toml(file.encoding)}"] if file.encoding != "utf-8" else []),
        *([f"decimal = {toml(file.input.decimal)}"] if file.input.decimal != "." else []),
        *([f"table = {toml(file.input.table)}"] if file.input.table is not None else []),
        *(['one_row_per = "respondent"     # a file that was expanded by weights must not be released'] if weighted else []),
        'missing = "drop"                # a row with a missing value is left out, unless its column says "bin"',
        'outside = "clip"                # a number outside the bounds counts as the nearest bound; or "drop", "error"',
        "",
        *heading("Persons: whose rows are protected together"),
        "",
        *unit_lines(unit, left_out),
        "",
        *heading("Columns: public bounds and bins. Nothing here may be learned from the private file."),
        *comment(
            "`numbers` stand for bins wherever somebody computes with the released table: the mean of the rows in the bin, as "
            "far as the public file knows it. A bin without one stands for its middle, an open one for its edge. Never take "
            "them from the private file: they are published with the release, and its guarantee does not cover them."
        ),
        "",
    ]
    for column in columns:
        lines += [*column_lines(name, column), ""]
    if choices.areas is not None:
        lines += [*_geography(choices.areas), ""]
    lines += [*choices.marks, ""] if choices.marks else []
    lines += _left_out(left_out)
    lines += [] if members is None else ["", *_members(name, members)]
    if gaps:
        named = ", ".join(column.name for column in gaps)
        share = f"{choices.gaps:,} of the {file.n_rows:,} rows of the public file, {choices.gaps / file.n_rows:.1%}"
        lines += comment(f'Rows without {named} are left out: {share}. For a bin of their own: missing = "bin".')
    lines += ["", *heading("Plausibility: what must never occur"), "", *_rules(choices.rules, columns, file.n_rows), ""]
    lines += [
        *heading("The space that configurations are drawn from"),
        "",
        '[transformations]               # which bins are tried; add "fine" where the rehearsal passes easily',
        *(
            f"{column.name} = {toml([column.alternative])}"
            for column in columns
            if column.bins or column.common or column.groups or column.levels
        ),
        "",
        *_generator(choices),
        "",
        *_projection(choices),
        *heading("Budget and selection. How much epsilon may be spent is a decision of the organisation, not of this draft."),
        "",
        *comment(choices.plan),
        *([""] if choices.plan else []),
        "[budget]",
        *_generation(choices),
        f"rows = {toml(choices.rows)}                     # of counting the rows that the rules keep, which is not published",
        f"limit = {toml(choices.limit)}",
        "",
        "[selection]",
        *(_PUBLISHED if choices.measures else []),
        'mode = "hidden_number"',
        "rounds = { 1 = 1 }              # one round: more of them cost more, and all fits that were tried were accepted",
        'test = "joint"                  # one noisy test decides; the figures follow, if it accepts',
        f"test_epsilon = {toml(TEST)}",
    ]
    return "\n".join(lines) + "\n"


_PUBLISHED = (
    'measurements = "shared"         # the noisy tables are measured once',
    "publish_measurements = true     # they are safe to publish: `estimate` and `bound` answer from them, with intervals",
)

_DRAWN = 'draw = "evenly"                 # so that drawing the rows adds next to no error to the tables of the model'


def _generator(choices: Choices) -> list[str]:
    if not choices.measures:
        return [
            *comment("It finds out with noise which tables the model gets most wrong, and measures those."),
            "[[generators]]",
            f"family = {toml(choices.family)}",
            _DRAWN,
        ]
    if choices.areas is not None:
        return [
            *comment(
                "Small tables of the whole and of each level of areas are measured with noise, once; what they do not say of "
                "an area is as in the area it lies in. `wanted` is how far off a mean cell may be, of the whole and of each "
                "level: the budget is divided by it. `plan` says what the noise leaves of each level."
            ),
            "[[generators]]",
            f"family = {toml(choices.family)}",
            f"areas = {toml(f' {WITHIN} '.join(choices.areas.chain))}",
            f"wanted = {toml(choices.wanted)}",
            'tables = """',
            *wrapped(choices.tables),
            '"""',
        ]
    return [
        *comment(
            "Small tables are measured with noise, once, and the rows are drawn from a model of them. These are the tables in "
            "which the columns of the public file hang together most; with more of them each gets more noise. The numbers are "
            "their weights in the budget: a table with more cells gets more of it."
        ),
        "[[generators]]",
        f"family = {toml(choices.family)}",
        'tables = """',
        *wrapped(choices.tables),
        '"""',
        f"prior_weight = {choices.prior_weight}",
        _DRAWN,
    ]


def _first(members: MembersDraft) -> str:
    return "which" if members.order else "those with low released values"


def _geography(areas: AreasDraft) -> list[str]:
    """The table [geography], and what is said above it."""
    return [
        *comment(
            f"{areas.chain[-1]!r} tells {listing(areas.chain[:-1], 5)} in every row, says `init --areas`, and so it is in "
            "the public file: the codelist has a column for each. They get columns of their own, which follow the list "
            "exactly. Complete the list: an area that the public file has not is left out, with all of its rows."
        ),
        "[geography]",
        f"column = {toml(areas.chain[-1])}",
        f"levels = {toml(areas.chain[:-1])}",
    ]


def _generation(choices: Choices) -> list[str]:
    generation = f"generation = {toml(choices.generation)}".ljust(31)
    if not choices.delta:
        return [f"{generation} # epsilon of the generator"]
    alone = epsilon_of(choices.generation, choices.delta)
    return [
        f"{generation} # rho of the generator's Gaussian noise; epsilon {float(alone):.2f} by itself",
        "delta = 1e-9                    # the probability with which epsilon may be exceeded; `init --pure` drafts none",
    ]


def _left_out(left_out: Sequence[LeftOut]) -> list[str]:
    """The columns that are not drafted; many with the same reason together."""
    lines, reasons = [], dict[str, list[str]]()
    for column in left_out:
        reasons.setdefault(column.because, []).append(repr(column.source))
    for because, sources in reasons.items():
        if len(sources) > ONE_BY_ONE:
            lines += comment(f"Left out: {', '.join(sources)}, each because {because}.")
        else:
            lines += [line for source in sources for line in comment(f"Left out: {source}, because {because}.")]
    return lines


def _rules(rules: Sequence[Suggestion], columns: Sequence[ColumnDraft], n_rows: int) -> list[str]:
    """Suggested rules, the active ones first; an example where there are none."""
    return _suggested(rules, "rules", f"none of the {n_rows} public rows", "row of the public file") or _example_rule(columns)


def _suggested(rules: Sequence[Suggestion], table: str, nobody: str, one: str) -> list[str]:
    if not rules:
        return []
    lines = comment(
        f"SUGGESTIONS: what {nobody} has, though so many would if the columns were independent. Keep a rule if it is true of "
        "everybody; delete it if it is only rare. They keep such rows out of the released table and leave the private file as "
        "it is."
    )
    for rule in sorted(rules, key=lambda rule: not rule.active):
        mark = "" if rule.active else "# "
        lines += [
            "",
            f"{mark}[[{table}]]",
            f"{mark}never = {toml(rule.never)}",
            f'{mark}applies_to = ["synthetic"]',
            f"{mark}why = {toml(f'Suggested: no {one}, {rule.expected:.0f} if independent')}",
        ]
    if not all(rule.active for rule in rules):
        lines += ["", *comment("Those in comments would tie more columns together than a model can hold; choose among them.")]
    return lines


def _projection(choices: Choices) -> list[str]:
    lines = []
    if choices.minimum_count == 1:
        lines += comment(
            f"In these columns {choices.unique:.0%} of the public rows occur once. A minimum count of 2 would repeat half of "
            "them and drop the others, and whoever reads the table would take the copies for persons. For a minimum count "
            "release fewer columns, or coarser bins."
        )
    return [
        *lines,
        "[[projections]]",
        'kind = "minimum_count"',
        f"minimum_count = {choices.minimum_count}",
        'keep = "spread"',
        "",
    ]


def _members(release: str, members: MembersDraft) -> list[str]:
    """[members], with the columns of a member."""
    lines = [
        *heading("Members: a second table, and what is protected is a root with all its members"),
        "",
        *comment(
            f"The public files have {members.n_roots:,} roots with {members.n_members:,} members; {members.covered:.1%} of the "
            f"roots have at most {members.most}. In criteria and queries the column NAME of the first member is NAME_1, that "
            "of the second NAME_2, and so on."
        ),
        "[members]",
        f"key = {toml(members.key)}",
        f"most = {members.most}".ljust(31) + " # of a root with more the first ones are released; more make the record wider",
        f"least = {members.least}".ljust(31) + " # a root with fewer members is left out",
        f"order = {toml(list(members.order))}".ljust(31) + f" # of the members of a root: {_first(members)} come first",
        f"size = {toml(members.size)}".ljust(31) + " # the released column with their number",
        "",
    ]
    for column in members.columns:
        lines += [*column_lines(release, column, "members.columns"), ""]
    nobody = f"none of the {members.n_members:,} public members"
    lines += _suggested(members.rules, "members.rules", nobody, "member in the public files")
    return [*lines, *([""] if members.rules else []), *_left_out(members.left_out)]


def _example_rule(columns: Sequence[ColumnDraft]) -> list[str]:
    """A rule in comments that would be valid, to show how one is written."""
    parts = [f"{column.name} < {number_text(column.bins.coarse[0])}" for column in columns if column.bins][:2]
    labels = {column.name: next(iter(column.codes.values())).label for column in columns if column.codes}
    parts += [f"{name} == '{label}'" for name, label in labels.items() if "'" not in label]
    rule = toml(" and ".join(parts[:2])) if len(parts) > 1 else toml(parts[0])
    return ["# For example:", "# [[rules]]", f"# never = {rule}"]
