"""Change a finished draft, comments kept: adopt the plan of a rehearsal, leave out columns, move limits of bins, and fill in
representative values.

Whoever decides that a column is not released would have to find it in rules, tables of generators, criteria and so on. What is
about the column goes with it; what names it among others stays without it. What somebody has to decide is said, and then
nothing is written.
"""

from __future__ import annotations

import math
import os
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from pydantic import BaseModel

from synthrelease.criteria import CRITERIA
from synthrelease.criteria.columns import ALL_COLUMNS
from synthrelease.criteria.drafts import ASKED_FOR
from synthrelease.data.schema import Binning, Column, IntervalBin, parse_bins
from synthrelease.errors import InputError, OutputError, SpecError, Unexpected, closest, listing, percent
from synthrelease.generators.measurements import FormulaTerm, folded, formula_of, read_terms
from synthrelease.privacy.charges import Charge, decimal_text
from synthrelease.privacy.selection import FiniteLaw
from synthrelease.scouting.codebook import CodebookEntry
from synthrelease.settings.base import naming_columns
from synthrelease.settings.columns import InputTable
from synthrelease.settings.mistakes import validated
from synthrelease.settings.reading import beside, dotted, read_configuration, read_toml, toml_tables
from synthrelease.settings.tables import OPTIONS, UnitTable
from synthrelease.sources.paths import checked_path
from synthrelease.spec.load import load_changed, load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.spec.shortlist import ShortlistFile, cheaper_plan
from synthrelease.spec.tried import leave, rows_tried
from synthrelease.studio.drafting.bins import Ends, bin_numbers, bin_texts
from synthrelease.studio.drafting.column_draft import LeftOut, plain_name
from synthrelease.studio.drafting.columns import drafted_columns
from synthrelease.studio.drafting.public_file import PublicFile, own_numbers
from synthrelease.studio.drafting.text import codelist_name, column_settings
from synthrelease.studio.drafting.toml_edit import (
    Edit,
    Path_,
    changed,
    formula,
    loaded_changed,
    replace_files,
    taken_over,
    toml,
    value_at,
)
from synthrelease.studio.rehearsal.advice import Offer, with_law
from synthrelease.studio.rehearsal.rehearse import Rehearsal
from synthrelease.studio.rehearsal.words import rounds_text

# Writing what a rehearsal proposes into the configuration: the generation budget and the law of the number of rounds.
#
# Both are chosen on public data, so they are fixed before any private file is read (theory 2b, price of a law).

OF_OTHER_LAWS = ("stop_probability", "shape")
"""Settings of [selection] that a hidden number of rounds takes the place of."""


@dataclass(frozen=True, kw_only=True)
class Adopted:
    """The changes written by `adopt`.

    Attributes
    ----------
    changes : in sentences.
    before : what the release cost.
    spec : as it is now.
    """

    path: Path
    changes: tuple[str, ...]
    before: Charge
    spec: ReleaseSpec


def why_not(rehearsal: Rehearsal) -> str:
    """Say why nothing of a rehearsal can be adopted, in a sentence; empty where something can."""
    proposal = rehearsal.proposal
    if not rehearsal.complete:
        return "the rehearsal is not complete. The same command goes on"
    if proposal is None or proposal.chosen is None or proposal.chosen.total is None:
        return "it proposes no number of rounds"
    if proposal.chosen.total >= rehearsal.spec.plan.total.epsilon:
        return "the specification costs no more than what the rehearsal found"
    if proposal.judgement is None:
        return "what it proposes was not confirmed by fresh attempts. The same command goes on"
    if not proposal.confirmed:
        return (
            f"in fresh attempts its plan finds no table in {percent(proposal.judgement.nothing)} of the releases, more than "
            f"the {percent(proposal.wanted)} of --nothing. The same command with a smaller --nothing looks for another"
        )
    return ""


def adopt(config: str | Path, spec: ReleaseSpec, chosen: Offer) -> Adopted:
    """Write an offer of a rehearsal into the configuration, comments kept. What is changed is loaded before it is written.

    Parameters
    ----------
    spec : as it was rehearsed.

    Raises
    ------
    OutputError : when the configuration was changed since, cannot be changed line by line, or cannot be written.
    SpecError, BudgetError : when the changed configuration could not be used. Nothing is written then.
    """
    path = checked_path(config)
    old = path.read_bytes()
    if load_spec(path).digest != spec.digest:
        raise OutputError(f"{path}: was changed since it was rehearsed. Nothing was adopted: rehearse it as it is now.")
    new = changed(path, old, list(_edits(path, chosen)))
    loaded = loaded_changed(spec, path, new)
    if loaded.plan.total.epsilon != chosen.total:
        raise OutputError(f"{path}: the new lines cost another amount than the rehearsed plan. Nothing was adopted.")
    loaded.check_limit()
    rows = rows_tried(spec)
    replace_files({path: (old, new)})
    leave(loaded, "rehearsal", rows)
    selection = read_configuration(path, old).tables.get("selection", {})
    instead = [f"{name} = {toml(selection[name])}" for name in OF_OTHER_LAWS if name in selection]
    return Adopted(
        path=path,
        changes=(
            f"generation = {decimal_text(chosen.generation)}, before {decimal_text(spec.generation_budget)}",
            f"rounds = {_rounds(chosen)}" + (f", in place of {' and '.join(instead)}" if instead else ""),
        ),
        before=spec.plan.total,
        spec=loaded,
    )


def adopt_listed(config: str | Path, shortlist: str | Path) -> Adopted:
    """Adopt the plan that the shortlist of a rehearsal proposes, where it costs less than the configuration.

    Raises
    ------
    OutputError : where it proposes none, or none that was confirmed by fresh attempts; and as `adopt`.
    SpecError, BudgetError : as `adopt`.
    """
    spec = load_spec(checked_path(config))
    proposal = cheaper_plan(spec, shortlist)
    if proposal is None or proposal.nothing_high is None:
        raise OutputError(f"{shortlist}: proposes no cheaper plan that was confirmed. Nothing was adopted.")
    rounds = tomllib.loads(proposal.lines, parse_float=Decimal)["selection"]["rounds"]
    law = FiniteLaw(atoms=tuple((int(n), Fraction(share)) for n, share in rounds.items()))
    changed_spec = with_law(spec, proposal.generation, law)
    chosen = Offer(generation=proposal.generation, chances=(), law=law, total=changed_spec.plan.total.epsilon)
    return adopt(config, spec, chosen)


def _rounds(chosen: Offer) -> str:
    return rounds_text(chosen.law) if chosen.law is not None else "{}"


def _edits(path: Path, chosen: Offer) -> Iterable[Edit]:
    """Yield the changes; a table that another configuration hands down is written out, since it is taken as a whole."""
    tables, file = read_toml(path), read_configuration(path)
    remark = "adopted from a rehearsal on public data"
    new = {
        "budget": {"generation": decimal_text(chosen.generation)},
        "selection": {"mode": toml("hidden_number"), "rounds": _rounds(chosen)},
    }
    for name, values in new.items():
        handed_down = {} if name in tables else file.tables.get(name, {})
        for key, value in handed_down.items():
            if key not in values and key not in OF_OTHER_LAWS:
                yield Edit(path=(name, key), toml=toml(value))
        for key, value in values.items():
            yield Edit(path=(name, key), toml=value, remark=remark if key in ("generation", "rounds") else "")
    for key in OF_OTHER_LAWS:
        if key in tables.get("selection", {}):
            yield Edit(path=("selection", key))


def adopted_before(spec: ReleaseSpec, out: Path) -> bool:
    """Return whether the rehearsal in this folder was of the specification before its proposal was adopted."""
    path = out / "shortlist.toml"
    if not path.is_file():
        return False
    file = validated(ShortlistFile, read_toml(path), str(path))
    if isinstance(file, list) or file.proposal is None or file.rehearsed is None:
        return False
    return file.proposal.is_of(spec) and not file.rehearsed.is_of(spec)


_WORD = re.compile(r"(?P<text>'[^']*'|\"[^\"]*\")|(?<![\w.])(?P<name>[A-Za-z_]\w*)")
_IN_A_SUM = re.compile(r"(\w+)\s*[\[(]")


@dataclass(frozen=True, kw_only=True)
class LeftOutOf:
    """The parts removed from a configuration and its acceptance file, or to be removed.

    Attributes
    ----------
    paths : the two files.
    taken : what went, and what stays without the columns, in sentences.
    to_look_at : what is left to the steward.
    before, after : what the release cost, and costs.
    """

    paths: tuple[Path, Path]
    taken: tuple[str, ...]
    to_look_at: tuple[str, ...]
    before: Charge
    after: Charge


def leave_out(config: str | Path, columns: Sequence[str], *, dry_run: bool = False, take_over: bool = False) -> LeftOutOf:
    """Take columns out of a configuration and of its acceptance file, comments kept.

    The changed files are loaded before they are written; either both are written or none.

    Parameters
    ----------
    columns : by their names in the release.
    dry_run : only say what would be changed.
    take_over : write tables that another configuration hands down out in this one, where a column has to go from them; else
        that is refused.

    Raises
    ------
    InputError : when there is no such column, or something that names it needs a decision.
    SpecError : when the files cannot be loaded as they are, or could not be afterwards.
    OutputError : when they cannot be changed line by line, or written.
    """
    path = checked_path(config)
    spec = load_spec(path)
    gone = tuple(dict.fromkeys(columns))
    for name in gone:
        if name not in spec.schema.by_name:
            near = closest(name, spec.schema.names)
            guess = f" Did you mean {near!r}?" if near else ""
            raise InputError(f"{path}: expected columns of the release ({listing(spec.schema.names)}), found {name!r}.{guess}")

    # what names them, and whether somebody has to decide first
    file = read_configuration(path)
    acceptance_path = Path(os.path.normpath(beside(file.file_of("acceptance"), str(file.tables["acceptance"]))))
    references = _References(gone, file.tables, read_toml(acceptance_path))
    references.look()
    inherited = [edit for edit in references.of_configuration if file.file_of(dotted(edit.path)) == file.base]
    copied = list(dict.fromkeys(str(edit.path[0]) for edit in inherited if take_over and edit.path[0] in file.inherited))
    undecided = references.undecided + [
        f"{dotted(edit.path)} stands in {file.base}, which this configuration extends: take the column out there"
        for edit in inherited
        if edit.path[0] not in copied
    ]
    undecided += _shared(path, acceptance_path, bool(references.of_acceptance))
    if undecided:
        raise InputError(
            f"{path}: expected that {listing(gone)} can be left out without a decision, found what needs one. Nothing was "
            "written.\n" + "\n".join(f"- {text}." for text in dict.fromkeys(undecided))
        )

    # both files without them, loaded before they are written; the acceptance file first: it still fits the old configuration
    old = {path: path.read_bytes(), acceptance_path: acceptance_path.read_bytes()}
    configuration = changed(path, taken_over(file, old[path], copied), references.of_configuration)
    acceptance = changed(acceptance_path, old[acceptance_path], references.of_acceptance)
    loaded = loaded_changed(spec, path, configuration, acceptance)
    new = {acceptance_path: acceptance, path: configuration}
    if not dry_run:
        replace_files({changed_path: (old[changed_path], content) for changed_path, content in new.items()})
    return LeftOutOf(
        paths=(path, acceptance_path),
        taken=(*references.taken, *(f"[{name}] of {file.base} is copied here first" for name in copied)),
        to_look_at=(*references.to_look_at, *_still_named(gone, {path: configuration, acceptance_path: acceptance})),
        before=spec.plan.total,
        after=loaded.plan.total,
    )


def _shared(path: Path, acceptance: Path, changes: bool) -> Iterable[str]:
    """Yield other configurations beside this one that the change would reach."""
    for neighbour in sorted(path.parent.glob("*.toml")):
        if neighbour.resolve() == path.resolve():
            continue
        try:
            tables = read_toml(neighbour)
        except SpecError:
            continue
        extended, of_neighbour = (beside(neighbour, str(tables.get(key))).resolve() for key in ("extends", "acceptance"))
        if extended == path.resolve():
            yield f"{neighbour} extends this configuration and would lose the column, too: give one of them tables of its own"
        elif changes and of_neighbour == acceptance.resolve():
            yield f"{neighbour} has the same acceptance file, {acceptance}, which would be changed: give one of them a copy"


def _still_named(gone: Collection[str], contents: Mapping[Path, bytes]) -> Iterable[str]:
    """Yield comments and texts of the changed files in which a column is still named."""
    names = re.compile(rf"(?<!\w)({'|'.join(map(re.escape, gone))})(?!\w)")
    for path, content in contents.items():
        lines = [str(n) for n, line in enumerate(content.decode("utf-8-sig").split("\n"), 1) if names.search(line)]
        if lines:
            yield f"{path}: comments or texts still name it in line{'s' if len(lines) > 1 else ''} {', '.join(lines)}"


class _References:
    """All places that name some columns in the tables of the two files, with the change to each.

    Which settings of criteria name columns, and how, stands on their fields (`settings.base.NamesColumns`).
    """

    def __init__(self, gone: Collection[str], configuration: Mapping[str, Any], acceptance: Mapping[str, Any]):
        self.gone, self.tables, self.acceptance = set(gone), configuration, acceptance
        self.of_configuration, self.of_acceptance = list[Edit](), list[Edit]()
        self.taken, self.to_look_at, self.undecided = list[str](), list[str](), list[str]()

    def look(self) -> None:
        self._columns()
        for index, rule in enumerate(self.tables.get("rules", ())):
            if self._names(rule.get("never", "")):
                self._take(("rules", index), f"the rule {_one_line(rule['never'])!r}")
        self._keys(("transformations",))
        for index, generator in enumerate(self.tables.get("generators", ())):
            self._generator(index, generator)
        for index, query in enumerate(self.tables.get("intended_queries", ())):
            conditions = [query.get(part) or "" for part in ("query", "given", "minus")]
            if query.get("mean") in self.gone or any(map(self._names, conditions)):
                question = _one_line(" ".join(filter(None, [query.get("mean"), *conditions])))
                self._take(("intended_queries", index), f"the question {question!r} that it is meant to answer")
        models = self.tables.get("models", ())
        about = [index for index, model in enumerate(models) if self._names(model["question"])]
        for index in about:
            self._take(("models", index), f"the model {_one_line(models[index]['question'])!r}")
        if about and len(about) == len(models):
            self._take(("budget", "models"), "budget.models, as no model is left")
        for card in (("card",), ("card", "en"), ("card", "he")):
            self._keys((*card, "columns"))
        self._imputation()
        self._to_decide()
        for name in self.gone & self.acceptance.get("groups", {}).keys():
            self._take(("groups", name), f"groups.{name} of the acceptance file", acceptance=True)
        for index, pair in enumerate(self.acceptance.get("not_promised", {}).get("pairs", ())):
            if self.gone & {name.strip() for name in pair.split(":")}:
                self._take(("not_promised", "pairs", index), f"{pair!r} in not_promised.pairs", acceptance=True)
        self._criteria()

    def _take(self, path: Path_, description: str, *, acceptance: bool = False, value: str | None = None) -> None:
        """Remove an entry, or replace its value."""
        (self.of_acceptance if acceptance else self.of_configuration).append(Edit(path=path, toml=value))
        self.taken.append(description)

    def _names(self, condition: str) -> bool:
        """Return whether a condition compares one of the columns."""
        return any(match["name"] in self.gone for match in _WORD.finditer(condition) if match["name"])

    def _keys(self, path: Path_) -> None:
        """Take the columns out of a table with an entry for each."""
        table: Any = self.tables
        for step in path:
            table = table.get(step, {})
        for name in table:
            if name in self.gone:
                self._take((*path, name), dotted((*path, name)))

    def _columns(self) -> None:
        columns = self.tables["columns"]
        self._keys(("columns",))
        codelists = {name: table["codes"] for name, table in columns.items() if isinstance(table.get("codes"), str)}
        in_use = {codes for name, codes in codelists.items() if name not in self.gone}
        for name, codes in codelists.items():
            if name in self.gone and codes not in in_use:
                self.to_look_at.append(f"the codelist {codes} is used by no column of this configuration any more")

    def _generator(self, index: int, generator: Mapping[str, Any]) -> None:
        ways = {"tables": self._formula, "only_measured": self._formula, "sums": self._sums}
        for setting, without in ways.items():
            value, path = generator.get(setting), ("generators", index, setting)
            texts = value if isinstance(value, list) else [value] if isinstance(value, str) else []
            rest = list(dict.fromkeys(map(without, texts)))
            if rest == texts:
                continue
            description = f"terms of {dotted(path)}"
            if "" in rest and (setting == "tables" or len(rest) > 1):
                self.undecided.append(f"{dotted(path)} would be left without a term: say what it shall measure")
            elif "" in rest:
                self._take(path, dotted(path))
            else:
                lines = "\n" in texts[0]
                self._take(path, description, value=toml(rest) if isinstance(value, list) else formula(rest[0], lines=lines))

    def _formula(self, text: str) -> str:
        """Return a formula without the columns; a table that is then part of another one is not measured by itself."""
        terms = read_terms(text)
        if not any(self.gone & {*term.columns} for term in terms):
            return text
        tables = [{*term.columns} for term in terms if term.weight and not self.gone & {*term.columns}]
        widest = max((term.ways for term in terms if term.weight), default=0)
        rest = list[FormulaTerm]()
        for term in terms:
            columns = tuple(name for name in term.columns if name not in self.gone)
            if len(columns) == len(term.columns):
                rest.append(term)
            elif columns and len(columns) > widest and not any({*columns} <= table for table in tables):
                rest.append(replace(term, columns=columns))
                tables.append({*columns})
        return formula_of(rest) if "(" in text or terms[0].by_cells else " + ".join(term.text for term in rest)

    def _sums(self, text: str) -> str:
        """Return sums of products without those that have one of the columns as a factor: without the column their meaning
        changes.
        """
        terms = [" ".join(term.split()) for term in text.split("+")]
        rest = [term for term in terms if not self.gone & {*_IN_A_SUM.findall(term)}]
        return text if rest == terms else " + ".join(rest)

    def _imputation(self) -> None:
        match = self.tables.get("imputation", {}).get("match", [])
        if match and self.gone >= {*match}:
            self.undecided.append("imputation.match would be left empty: say in which columns donors shall agree")
            return
        for index, name in enumerate(match):
            if name in self.gone:
                self._take(("imputation", "match", index), f"{name!r} in imputation.match")

    def _to_decide(self) -> None:
        """Find tables in which a column is a promise of its own: totals, persons, pieces."""
        for source in UnitTable.model_validate(self.tables.get("unit", {})).order:
            tables = self.tables["columns"].items()
            names = {name for name, table in tables if source in (table.get("source", name), table.get("minus"))}
            if names and names <= self.gone:
                self.undecided.append(f"unit.first_by orders by {source!r}, of which no column would be left: change it first")
        for top in (*OPTIONS, "intended_queries"):
            for path in _places(self.tables.get(top), (top,), self.gone):
                self.undecided.append(f"{dotted(path)} names it: decide on its replacement, and change it first")

    def _criteria(self) -> None:
        criteria = self.acceptance["criteria"]
        gone, smaller = dict[int, str](), dict[int, dict[str, Any]]()
        for index, table in enumerate(criteria):
            ways = naming_columns(CRITERIA[table["kind"]])
            about = [table[setting] for setting, way in ways.items() if way == "about" and table.get(setting) in self.gone]
            rest = self._smaller(table)
            if about or rest is None:
                gone[index] = f"is about {about[0]}" if about else "has nothing left to look at"
            else:
                smaller[index] = rest
        same = dict[str, int]()
        for index, table in smaller.items():
            text = str(sorted((name, str(value)) for name, value in table.items() if name not in _OF_ONE))
            first = same.setdefault(text, index)
            if first != index and (table != criteria[index] or smaller[first] != criteria[first]):
                gone[index] = f"says the same as {criteria[first]['name']!r} then"
        while building := {  # criteria that name one that goes, as the prediction of a line names the line
            index: f"builds on {table['coefficients']!r}"
            for index, table in enumerate(criteria)
            if index not in gone and table.get("coefficients") in {criteria[index]["name"] for index in gone}
        }:
            gone |= building
        for index, why in sorted(gone.items()):
            self._take(("criteria", index), f"the criterion {criteria[index]['name']!r}, which {why}", acceptance=True)
        if len(gone) == len(criteria):
            self.undecided.append("no criterion would be left: write one that is about other columns first")
        for index, table in smaller.items():
            if index not in gone and table != criteria[index]:
                self._replace(index, criteria[index], table)

    def _smaller(self, table: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the criterion without the columns; None where nothing is left for it to compare."""
        smaller = self._without(CRITERIA[table["kind"]], table)
        if table.get("tables") and not smaller["tables"]:
            del smaller["tables"]
            if "largest" not in smaller:
                return None
        looked_at = [settings for settings in (("features",), ("exact", "within_one_bin")) if any(map(table.get, settings))]
        return None if any(not any(map(smaller.get, settings)) for settings in looked_at) else smaller

    def _without(self, model: type[BaseModel], table: Mapping[str, Any]) -> dict[str, Any]:
        """Return a table without the columns that its settings name, by their annotation."""
        rest = dict(table)
        for setting, way in naming_columns(model).items():
            value = rest.get(setting)
            if way == "among" and isinstance(value, list):
                rest[setting] = [name for name in value if name not in self.gone]
            elif way == "keys" and isinstance(value, dict):
                rest[setting] = {name: entry for name, entry in value.items() if name not in self.gone}
            elif way == "terms" and isinstance(value, list):
                rest[setting] = self._tables_of(value)
        for setting, info in model.model_fields.items():
            inner = [part for part in get_args(info.annotation) if isinstance(part, type) and issubclass(part, BaseModel)]
            if inner and isinstance(rest.get(setting), dict):
                rest[setting] = self._without(inner[0], rest[setting])
        return rest

    def _tables_of(self, terms: Sequence[str]) -> list[str]:
        tables = dict[str, None]()
        for text in terms:
            read = [] if text.strip() == ALL_COLUMNS else read_terms(text)
            rest = [term for term in read if not self.gone & {*term.columns}]
            tables |= dict.fromkeys([text] if len(rest) == len(read) else folded(rest))
        return list(tables)

    def _replace(self, index: int, table: Mapping[str, Any], smaller: Mapping[str, Any]) -> None:
        settings = [setting for setting in table if table[setting] != smaller.get(setting)]
        self.taken.append(f"from {', '.join(settings)} of the criterion {table['name']!r}, which stays")
        if "features" in settings:
            self.to_look_at.append(f"the line of {table['name']!r} has other features now: look at its threshold")
        if "by" in settings and not smaller["by"]:
            self.to_look_at.append(f"{table['name']!r} has no groups any more: it is about all rows together")
        for setting in settings:
            self.of_acceptance += _edits_of_leaving_out(("criteria", index, setting), table[setting], smaller.get(setting))


_OF_ONE = ("name", "threshold", "epsilon", "reason")
"""What may differ between two criteria that say the same."""


def _edits_of_leaving_out(path: Path_, old: Any, new: Any) -> Iterable[Edit]:
    """Yield the changes element by element, so that the layout of lists stays."""
    if new is None:
        yield Edit(path=path)
    elif isinstance(old, dict):
        for name, value in old.items():
            if name not in new:
                yield Edit(path=(*path, name))
            elif value != new[name]:
                yield from _edits_of_leaving_out((*path, name), value, new[name])
    elif isinstance(old, list) and set(new) <= set(old):
        yield from (Edit(path=(*path, index)) for index, value in enumerate(old) if value not in new)
    else:
        yield Edit(path=path, toml=toml(new))


def _places(value: Any, path: Path_, names: Collection[str]) -> Iterable[Path_]:
    """Yield where a name stands, as a text or as a key."""
    if isinstance(value, str) and value in names:
        yield path
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from [(*path, key)] if key in names else _places(inner, (*path, key), names)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _places(inner, (*path, index), names)


def _one_line(text: str) -> str:
    return " ".join(text.split())


# Other limits between the bins of a column of numbers, and what follows from them in both files.

Limits = tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class MovedLimits:
    """The limits written by an edit.

    Attributes
    ----------
    alternatives : the bins of each alternative that changes.
    numbers : what stands for bins, by their labels, as a whole.
    groups : the bins of [groups]; None where they stay as they are.
    """

    alternatives: Mapping[str, list[str]]
    numbers: Mapping[str, float]
    groups: list[str] | None


def limits_of(column: Column) -> dict[str, Limits]:
    """Return the limits between the bins of each alternative of a column of numbers; empty for others."""
    return {} if column.bounds is None else {name: binning.lower[1:] for name, binning in column.alternatives.items()}


def with_limits(
    column: Column,
    alternative: str,
    limits: Sequence[float],
    *,
    numbers: Mapping[str, Any],
    groups: Sequence[str] | None,
    public: PublicFile | None,
    policy: InputTable,
) -> MovedLimits:
    """Give one alternative other limits.

    A limit that only moves, moves in the other alternatives and in [groups], too, where these have it; one that goes leaves
    [groups]. A bin that is new has the mean of the public rows in it as its number, as in a draft.

    Parameters
    ----------
    limits : increasing, between the bounds.
    numbers : `numbers` of the column as they stand.
    groups : the bins of the column in [groups]; None where it has none, or names an alternative.
    public : the public file; without one new bins stand for their middle.
    policy : [input] of the configuration.

    Raises
    ------
    ValueError : for no limit, or one that is not between the bounds, or no whole number in a column of these.
    """
    whole, old = column.kind == "integer", limits_of(column)
    new = tuple(sorted(set(limits)))
    low, high = column.bounds or (-math.inf, math.inf)
    wrong = [limit for limit in new if not low < limit <= high or (whole and limit != int(limit))]
    if wrong or not new:
        expected = f"limits that are {'whole numbers' if whole else 'numbers'} above {low:.12g} and at most {high:.12g}"
        raise ValueError(f"Expected {expected}, found {', '.join(f'{limit:.12g}' for limit in wrong) or 'none'}.")
    pairs = zip(old[alternative], new, strict=False) if len(old[alternative]) == len(new) else ()
    moved = {a: b for a, b in pairs if a != b}
    every = {name: new if name == alternative else _moved(limits, moved) for name, limits in old.items()}
    texts = {name: _texts(column, name, every[name]) for name in old if every[name] != old[name]}
    parsed = {name: parse_bins(bins, whole_numbers=whole) for name, bins in texts.items()}
    old_labels = {name: binning.labels for name, binning in column.alternatives.items()}
    new_labels = old_labels | {name: tuple(interval.label for interval in bins) for name, bins in parsed.items()}
    fresh = [interval for bins in parsed.values() for interval in bins if interval.label not in chain(*old_labels.values())]
    labels = {*chain(*new_labels.values())}
    return MovedLimits(
        alternatives=texts,
        numbers={label: value for label, value in numbers.items() if label in labels} | _numbers(column, fresh, public, policy),
        groups=None if groups is None else _groups(groups, moved, set(old[alternative]) - set(new), whole),
    )


def with_bounds(
    column: Column, bounds: tuple[float, float], numbers_of: Mapping[str, float], public: PublicFile | None, policy: InputTable
) -> MovedLimits:
    """Give a column other bounds: bins that ended at the old ones, or do not reach the new ones, end there.

    Such a bin gets the mean of the public rows in it, of which those beyond the bounds count as the bound. Without a public
    file it keeps its number, where it can hold it.
    """
    whole, alternatives, labels = column.kind == "integer", dict[str, list[str]](), dict[str, str]()
    fresh = dict[str, IntervalBin]()
    for name, binning in column.alternatives.items():
        ends = _ends(binning, whole)
        low, high = (
            bound if end is not None and (end == old or sign * end < sign * bound) else end
            for end, old, bound, sign in zip(ends, column.bounds or ends, bounds, (-1, 1), strict=True)
        )
        if (low, high) != ends and len(binning.lower) > 1:
            alternatives[name] = bin_texts(binning.lower[1:], whole=whole, ends=(low, high))
            parsed = parse_bins(alternatives[name], whole_numbers=whole)
            labels |= dict(zip(binning.labels, (interval.label for interval in parsed), strict=False))
            fresh |= {interval.label: interval for interval in parsed if interval.label not in binning.labels}
    moved = {labels.get(label, label): min(max(value, bounds[0]), bounds[1]) for label, value in numbers_of.items()}
    means = _numbers(replace(column, bounds=bounds), list(fresh.values()), public, policy)
    counted = public is not None and column.source in public.columns and column.dates is None
    stay = {label: value for label, value in moved.items() if not (counted and label in fresh)}
    return MovedLimits(alternatives=alternatives, numbers=stay | means, groups=None)


def _ends(binning: Binning, whole: bool) -> Ends:
    """Return the lowest and the highest number of closed end bins."""
    ends = (binning.lower[0], binning.upper[-1] - (1 if whole else 0))
    low, high = (end if math.isfinite(end) else None for end in ends)
    return low, high


def filled_numbers(column: Column, numbers_of: Mapping[str, float], public: PublicFile, policy: InputTable) -> dict[str, float]:
    """Return the representative values of all bins of a column: the present ones, and for each other bin the mean of the public
    rows in it.

    A number of a bin that the column has no longer goes. No bin gets a number that is as good as its middle.
    """
    whole = column.kind == "integer"
    texts = [binning.labels[: binning.present] for binning in column.alternatives.values()]
    bins = {interval.label: interval for labels in texts for interval in parse_bins(labels, whole_numbers=whole)}
    means = _numbers(column, [interval for label, interval in bins.items() if label not in numbers_of], public, policy)
    return {label: value for label, value in (dict(numbers_of) | means).items() if label in bins}


@dataclass(frozen=True, kw_only=True)
class FilledNumbers:
    """The representative values that `fill_numbers` wrote.

    Attributes
    ----------
    added : by the name of the column, the new numbers.
    removed : how many numbers belonged to bins that are gone.
    """

    path: Path
    added: Mapping[str, Mapping[str, float]]
    removed: int


def fill_numbers(config: str | Path, public: PublicFile, members: PublicFile | None = None) -> FilledNumbers:
    """Write the mean of the public rows in each bin of numbers that has none, comments kept.

    After bins were edited by hand, the file may have representative values of old bins. It cannot be loaded with them, so they
    are removed first.

    Parameters
    ----------
    members : the public file of the members, where the configuration has them.

    Raises
    ------
    InputError : where another configuration hands the columns down.
    SpecError : when the file cannot be loaded for another reason.
    OutputError : when it cannot be changed line by line, or written.
    """
    path = checked_path(config)
    old = path.read_bytes()
    file = read_configuration(path, old)
    if "columns" in file.inherited:
        raise InputError(f"{path}: expected [columns] in this file, found it in {file.base}. Fill the numbers there.")
    stale = list(_stale_numbers(file.tables))
    current = changed(path, old, stale)
    spec = load_changed(path, current)
    tables, edits, added = toml_tables(current, path), list[Edit](), dict[str, dict[str, float]]()
    for column in spec.schema.columns:
        above, name = table_of(spec, column.name)[:-1], table_of(spec, column.name)[-1]
        source = public if above == ("columns",) or members is None else members
        table = value_at(tables, above).get(name)  # none of the number of members
        if column.bounds is None or name in added or column.source not in source.columns or table is None:
            continue
        numbers_of = table.get("numbers", {})
        filled = filled_numbers(column, numbers_of, source, spec.input)
        if new := {label: value for label, value in filled.items() if label not in numbers_of}:
            added[str(name)] = new
            edits.append(Edit(path=(*above, name, "numbers"), toml=toml(filled)))
    content = changed(path, current, edits)
    loaded_changed(spec, path, content)
    if content != old:
        replace_files({path: (old, content)})
    return FilledNumbers(path=path, added=added, removed=len(stale))


def _stale_numbers(tables: Mapping[str, Any]) -> Iterable[Edit]:
    """Yield numbers that stand for no bin of their column of numbers."""
    for above in (("columns",), ("members", "columns")):
        for name, table in value_at(tables, above).items() if above[0] in tables else ():
            if table.get("kind") not in ("integer", "real"):
                continue
            whole, alternatives = table["kind"] == "integer", table.get("alternatives", {}).values()
            try:
                intervals = [parse_bins(list(map(str, texts)), whole_numbers=whole) for texts in alternatives]
            except Unexpected:  # loading says where
                continue
            labels = {interval.label for bins in intervals for interval in bins}
            stale = (label for label in table.get("numbers", ()) if label not in labels)
            yield from (Edit(path=(*above, name, "numbers", label)) for label in stale)


def table_of(spec: ReleaseSpec, name: str) -> Path_:
    """Return where the table of a column of the record stands; the columns of all members have one."""
    linked = spec.schema.linked
    for slot in linked.slots if linked else ():
        if name in slot:
            return ("members", "columns", linked.names[slot.index(name)])  # type: ignore[union-attr]
    return ("columns", name)


def _moved(limits: Limits, moved: Mapping[float, float]) -> Limits:
    """Return moved limits; where a limit would meet another one, all stay."""
    new = tuple(sorted(moved.get(limit, limit) for limit in limits))
    return new if len(set(new)) == len(limits) and not set(moved.values()) & set(limits) else limits


def _texts(column: Column, alternative: str, limits: Limits) -> list[str]:
    """Return the bins as they are written; the first and the last stay as closed as they were."""
    binning, whole = column.alternatives[alternative], column.kind == "integer"
    return bin_texts(limits, whole=whole, ends=_ends(binning, whole))


def _groups(groups: Sequence[str], moved: Mapping[float, float], gone: set[float], whole: bool) -> list[str] | None:
    old = [interval.lower for interval in parse_bins([str(group) for group in groups], whole_numbers=whole)[1:]]
    new = sorted({moved.get(limit, limit) for limit in old if limit in moved or limit not in gone})
    return None if new == old or not new else bin_texts(new, whole=whole)


def _numbers(column: Column, fresh: Sequence[IntervalBin], public: PublicFile | None, policy: InputTable) -> dict[str, float]:
    if public is None or column.source not in public.columns or column.bounds is None or not fresh or column.dates is not None:
        return {}
    values, times = own_numbers(public, column, policy)
    order = np.argsort(values)
    return bin_numbers(values[order], times[order], fresh, column.bounds, column.kind == "integer") if len(values) else {}


# A criterion that a steward asks for in words, as a table of the acceptance file.

MARGIN = 0.02
"""By how much of all rows a group may be smaller than in the candidate, where the criteria say nothing else."""


def criterion_edits(
    spec: ReleaseSpec,
    acceptance: Mapping[str, Any],
    kind: str,
    columns: Sequence[str],
    *,
    threshold: str,
    epsilon: str,
    value: str = "",
    reason: str = "",
) -> list[Edit]:
    """Return the changes of the acceptance file.

    Parameters
    ----------
    acceptance : its tables.
    kind : of `ASKED_FOR`.
    columns : the column that it is about, and those of the table, or to group by.
    threshold, epsilon : numbers as they are written.
    value : a label of the column, for a kind that asks how often it occurs.

    Raises
    ------
    ValueError : for columns that there are not, and another kind.
    """
    names = list(dict.fromkeys(name for name in columns if name))
    unknown = [name for name in names if name not in spec.schema.by_name]
    if kind not in ASKED_FOR or unknown or not names:
        raise ValueError(f"Expected a kind of criterion and columns of the release, found {', '.join(unknown) or 'none'}.")
    settings = _settings(spec, kind, [spec.schema[name] for name in names], value)
    lines = {key: toml(text) for key, text in {"name": _name(spec, kind, names), "kind": kind, **settings}.items()}
    lines |= {"threshold": threshold, "epsilon": epsilon} | ({"reason": toml(reason)} if reason else {})
    table = "{ " + ", ".join(f"{key} = {text}" for key, text in lines.items()) + " }"
    by = [spec.schema[name] for name in names[1:] if "by" in settings and name not in acceptance.get("groups", {})]
    first_bins = {column.name: next(iter(column.alternatives)) for column in by if len(column.alternatives) > 1}
    groups = [Edit(path=("groups", column), toml=toml(alternative)) for column, alternative in first_bins.items()]
    return [*groups, Edit(path=("criteria", len(acceptance["criteria"])), toml=table)]


def _name(spec: ReleaseSpec, kind: str, columns: Sequence[str]) -> str:
    """Return a name that no other criterion has."""
    by = f" by {' and '.join(columns[1:])}" if columns[1:] else ""
    used_names, words = {criterion.name for criterion in spec.criteria}, f"{kind.replace('_', ' ')} of {columns[0]}{by}"[:74]
    return next(name for name in (words, *(f"{words} {i}" for i in range(2, 400))) if name not in used_names)


def _settings(spec: ReleaseSpec, kind: str, columns: Sequence[Column], value: str) -> dict[str, object]:
    """Return the criterion's new settings by name."""
    fields, first, names = CRITERIA[kind].model_fields, columns[0], [column.name for column in columns]
    if "tables" in fields:
        return {"tables": [":".join(names)]}
    if "range" in fields and first.bounds is None:
        raise ValueError(f"Expected a column of numbers, found {first.name}, which has no numbers.")
    margins = [float(getattr(criterion, "size_margin", 0)) for criterion in spec.criteria]
    usual = {"range": list(first.bounds or ()), "size_margin": max(margins) or MARGIN, "bins": [value], "within": 1}
    settings: dict[str, object] = {"column": first.name} | ({"by": names[1:]} if names[1:] else {})
    return settings | {key: setting for key, setting in usual.items() if key in fields}


# What the columns of a public file were taken for and why, and a column drafted as another kind.

Kind = Literal["number", "name", "date"]


@dataclass(frozen=True, kw_only=True)
class Guesses:
    """The draft's choices for a public file.

    Attributes
    ----------
    because : by the name of the column in the file, why it is what it was taken for.
    doubtful : of some of them what speaks against it.
    left_out : columns of the file that a draft leaves out, with the reason.
    dates : columns of the file that hold dates.
    """

    because: Mapping[str, str] = field(default_factory=dict)
    doubtful: Mapping[str, str] = field(default_factory=dict)
    left_out: tuple[LeftOut, ...] = ()
    dates: frozenset[str] = frozenset()

    @classmethod
    def of(cls, *files: PublicFile) -> Guesses:
        """Read each file once more: the public one, and that of members where there is one."""
        because, doubtful, left_out, dates = dict[str, str](), dict[str, str](), list[LeftOut](), set[str]()
        for file in files:
            columns, gone, dated = drafted_columns(file, {})
            because |= {column.source: column.remark for column in columns}
            doubtful |= {column.source: column.doubt.partition(". If not")[0] for column in columns if column.doubt}
            left_out += [column for column in gone if column.source]
            dates |= set(dated)
        return cls(because=because, doubtful=doubtful, left_out=tuple(left_out), dates=frozenset(dates))


def column_as(file: PublicFile, source: str, kind: Kind) -> dict[str, Any]:
    """Return the settings of a column of the configuration that holds this column of the file as another kind.

    Raises
    ------
    InputError : where the file's values are of no such kind.
    """
    entry = CodebookEntry(number=kind == "number", code=kind == "name")
    columns, left_out, _ = drafted_columns(file, {source: entry})
    kinds = [(draft, "date" if draft.of_date else "number" if draft.bins else "name") for draft in columns]
    column = next((draft for draft, of_kind in kinds if draft.source == source and of_kind == kind), None)
    if column is None:
        reason = next((gone.because for gone in left_out if gone.source == source), "its values are of another kind")
        raise InputError(f"{source!r} cannot be read as a {kind}: {reason}.")
    if codelist_name("", column):
        raise InputError(f"{source!r} has {len(column.codes)} codes, which need a file of their own: draft anew with `init`.")
    settings = column_settings("", column)
    alternatives = {key.partition(".")[2]: settings.pop(key) for key in [*settings] if key.startswith("alternatives.")}
    return settings | ({"alternatives": alternatives} if alternatives else {}) | {"source": source}


# A column of the public file that a configuration does not release, added with what has to name it.


def bring_back(
    spec: ReleaseSpec,
    configuration: Mapping[str, Any],
    acceptance: Mapping[str, Any],
    file: PublicFile,
    source: str,
    kind: Kind,
) -> tuple[list[Edit], list[Edit]]:
    """Return the changes of the configuration and of the acceptance file.

    It is released in its coarse bins, and a generator that measures tables by name measures its single table with the weight
    of the like. Criteria that ask about every column leave it out of account.

    Parameters
    ----------
    configuration, acceptance : the tables of the two files.
    source : the column of the file.

    Raises
    ------
    InputError : where its values are of no such kind, or it is released.
    """
    if source not in file.columns or any(source in column.sources for column in spec.schema.columns):
        raise InputError(f"{source!r} is no column of the public file that is left out.")
    if source == spec.unit.key:
        raise InputError(f"{source!r} says whose row a row is, so it is never released.")
    settings = column_as(file, source, kind)
    name = plain_name(source, spec.schema.names)
    if name == source:
        del settings["source"]
    edits = [Edit(path=("columns", name, key), toml=toml(value)) for key, value in settings.items()]
    alternatives = list(settings.get("alternatives", {}))
    if alternatives and configuration.get("transformations"):
        edits.append(Edit(path=("transformations", name), toml=toml(alternatives[:1])))
    for index, generator in enumerate(configuration["generators"]):
        tables, path = generator.get("tables"), ("generators", index, "tables")
        if isinstance(tables, str) and not _covers_all(tables):
            one_line = "\n" not in tables.strip()  # else the formula keeps the lines that it has
            term = _term(tables, name)
            formula_text = toml(f"{tables} + {term}") if one_line else f'"""\n{tables.strip()} +\n{term}\n"""'
            edits.append(Edit(path=path, toml=formula_text))
        elif isinstance(tables, list):
            terms = [text if _covers_all(text) else f"{text} + {_term(text, name)}" for text in tables]
            edits.append(Edit(path=path, toml=toml(terms)))
    comparing = [index for index, criterion in enumerate(spec.criteria) if "ignored" in type(criterion).model_fields]
    ignored = {index: [*acceptance["criteria"][index].get("ignored", ()), name] for index in comparing}
    return edits, [Edit(path=("criteria", index, "ignored"), toml=toml(names)) for index, names in ignored.items()]


def _covers_all(tables: str) -> bool:
    return any(term.ways and term.weight for term in read_terms(tables))


def _term(tables: str, name: str) -> str:
    """Return the table of the column alone, with the middle weight of the others of one column."""
    weights = sorted(float(term.weight) for term in read_terms(tables) if len(term.columns) == 1)
    weight = weights[len(weights) // 2] if weights else 1.0
    return name if weight == 1 else f"{weight:g} {name}"
