"""Decide the changes to a configuration and its acceptance file: adopt a plan, leave out or add columns, move limits of bins.

Comments and layout are kept (`toml_edit`). When a column is left out, rules, tables and criteria about it alone are
deleted, and its name is removed from lists. If the steward must decide about a setting first, an error names the setting
and nothing is written.
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
from synthrelease.settings.reading import ConfigurationFile, beside, dotted, read_configuration, read_toml, toml_tables
from synthrelease.settings.tables import OPTIONS, UnitTable
from synthrelease.sources.paths import checked_path
from synthrelease.spec.load import load_changed, load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.spec.shortlist import ShortlistFile, cheaper_plan, unnamed_pairs
from synthrelease.spec.tried import leave, rows_tried
from synthrelease.studio.drafting.bins import Ends, bin_numbers, bin_texts
from synthrelease.studio.drafting.column_draft import LeftOut, plain_name
from synthrelease.studio.drafting.columns import drafted_columns
from synthrelease.studio.drafting.public_file import PublicFile, own_numbers
from synthrelease.studio.drafting.text import LOST_WHY, codelist_name, column_settings
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

# Write the proposal of a rehearsal into the configuration: the generation budget and the distribution of the number of rounds.
#
# A proposal is chosen on public data, so it is fixed before any private file is read (theory 2b, price of a distribution).

OF_OTHER_LAWS = ("stop_probability", "shape")
"""Settings of [selection] to remove when a hidden number of rounds is set."""


@dataclass(frozen=True, kw_only=True)
class Adopted:
    """The result of `adopt`, which writes a plan from a rehearsal (a trial release on public data) into the configuration.

    Attributes
    ----------
    changes : the changed settings, in words.
    before : the cost of the release before the change.
    """

    path: Path
    changes: tuple[str, ...]
    before: Charge
    spec: ReleaseSpec


def why_not(rehearsal: Rehearsal) -> str:
    """Return why the plan that a rehearsal proposes cannot be adopted, or an empty string."""
    proposal = rehearsal.proposal
    if not rehearsal.complete:
        return "the rehearsal has not finished. Run the same command again to continue"
    if proposal is None or proposal.chosen is None or proposal.chosen.total is None:
        return "the rehearsal proposes no number of rounds"
    if proposal.chosen.total >= rehearsal.spec.plan.total.epsilon:
        return "the rehearsal proposes no cheaper plan than the current one"
    if proposal.judgement is None:
        return "the proposed plan was not confirmed by new attempts. Run the same command again to continue"
    if not proposal.confirmed:
        return (
            f"in new attempts, the proposed plan finds no table in {percent(proposal.judgement.nothing)} of releases, above "
            f"the {percent(proposal.wanted)} of --nothing. Run the command with a smaller --nothing to find another plan"
        )
    return ""


def adopt(config: str | Path, spec: ReleaseSpec, chosen: Offer) -> Adopted:
    """Write the plan that a rehearsal (a trial release on public data) proposes into the configuration, and keep its
    comments.

    Parameters
    ----------
    spec : the specification as it was rehearsed.

    Raises
    ------
    OutputError : when the configuration has changed since the rehearsal, its layout cannot be edited, or it cannot be
        written.
    SpecError, BudgetError : when the changed configuration is invalid or exceeds its limit. Nothing is written then.
    """
    path = checked_path(config)
    old = path.read_bytes()
    if load_spec(path).digest != spec.digest:
        raise OutputError(f"{path} has changed since the rehearsal. Nothing was adopted. Rehearse the file again.")
    new = changed(path, old, list(_edits(path, chosen)))
    loaded = loaded_changed(spec, path, new)
    if loaded.plan.total.epsilon != chosen.total:
        raise OutputError(
            f"{path}: the changed plan costs another epsilon than the rehearsed plan. Nothing was adopted. Rehearse again."
        )
    loaded.check_limit()
    rows = rows_tried(spec)
    replace_files({path: (old, new)})
    leave(loaded, "rehearsal", rows)
    selection = read_configuration(path, old).tables.get("selection", {})
    instead = [f"{name} = {toml(selection[name])}" for name in OF_OTHER_LAWS if name in selection]
    return Adopted(
        path=path,
        changes=(
            f"generation = {decimal_text(chosen.generation)}, before {decimal_text(spec.budget.generation)}",
            f"rounds = {_rounds(chosen)}" + (f", instead of {' and '.join(instead)}" if instead else ""),
        ),
        before=spec.plan.total,
        spec=loaded,
    )


def adopt_listed(config: str | Path, shortlist: str | Path) -> Adopted:
    """Write the cheaper plan that shortlist.toml proposes into the configuration.

    Raises
    ------
    OutputError : when the shortlist proposes no cheaper plan that new attempts confirmed, and for the reasons of `adopt`.
    SpecError, BudgetError : for the same reasons as in `adopt`.
    """
    spec = load_spec(checked_path(config))
    proposal = cheaper_plan(spec, shortlist)
    if proposal is None or proposal.nothing_high is None:
        raise OutputError(f"{shortlist} contains no confirmed plan that costs less. Nothing was adopted.")
    rounds = tomllib.loads(proposal.lines, parse_float=Decimal)["selection"]["rounds"]
    law = FiniteLaw(atoms=tuple((int(n), Fraction(share)) for n, share in rounds.items()))
    changed_spec = with_law(spec, proposal.generation, law)
    chosen = Offer(generation=proposal.generation, chances=(), law=law, total=changed_spec.plan.total.epsilon)
    return adopt(config, spec, chosen)


def accept_lost(config: str | Path, shortlist: str | Path) -> tuple[Path, tuple[str, ...]]:
    """Add to [not_promised] in the acceptance file the pairs of columns whose association a rehearsal lost.

    Return the path of the acceptance file and the added pairs.

    Raises
    ------
    InputError : when another configuration has the same acceptance file.
    SpecError, OutputError : when a file cannot be read or changed. Nothing is written then.
    """
    path = checked_path(config)
    spec, acceptance = load_spec(path), _acceptance_of(read_configuration(path))
    lost = unnamed_pairs(spec, shortlist)
    if not lost:
        return acceptance, ()
    if shared := [*_shared(path, acceptance, columns=False, criteria=True)]:
        raise InputError(f"{shared[0]}. Nothing was written.")
    pairs, edits = ("not_promised", "pairs"), list[Edit]()
    if "pairs" in read_toml(acceptance).get("not_promised", {}):  # one by one, so that the list keeps its comments
        edits += [Edit(path=(*pairs, at), toml=toml(pair)) for at, pair in enumerate(lost, len(spec.not_promised.pairs))]
    else:
        edits.append(Edit(path=pairs, toml=toml(lost)))
    if not spec.not_promised.why:
        edits.append(Edit(path=("not_promised", "why"), toml=toml(LOST_WHY)))
    old = new = acceptance.read_bytes()
    for edit in edits:
        new = changed(acceptance, new, [edit])
    loaded_changed(spec, path, path.read_bytes(), new)
    replace_files({acceptance: (old, new)})
    return acceptance, lost


def _acceptance_of(file: ConfigurationFile) -> Path:
    return Path(os.path.normpath(beside(file.file_of("acceptance"), str(file.tables["acceptance"]))))


def _rounds(chosen: Offer) -> str:
    return rounds_text(chosen.law) if chosen.law is not None else "{}"


def _edits(path: Path, chosen: Offer) -> Iterable[Edit]:
    """Yield the changes that write a proposed plan into the configuration.

    An inherited table is written out in full, because tables are inherited as a whole.
    """
    tables, file = read_toml(path), read_configuration(path)
    remark = "adopted from a rehearsal on public data"
    selection = {"mode": toml("hidden_number"), "rounds": _rounds(chosen)}
    new = {"budget": {"generation": decimal_text(chosen.generation)}, "selection": selection}
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
    """Return whether the specification is the plan proposed in the folder `out`, and no longer the rehearsed one."""
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
    """The changes to a configuration and its acceptance file when columns are left out.

    Attributes
    ----------
    taken : descriptions of the parts that were removed, and of the parts that stay but no longer name the columns.
    to_look_at : sentences on what the steward should check.
    """

    paths: tuple[Path, Path]
    taken: tuple[str, ...]
    to_look_at: tuple[str, ...]
    before: Charge
    after: Charge


def leave_out(config: str | Path, columns: Sequence[str], *, dry_run: bool = False, take_over: bool = False) -> LeftOutOf:
    """Remove columns from a configuration and its acceptance file, keep the comments, and return the changes.

    Both files are checked by loading them, and then both are written, or neither.

    Parameters
    ----------
    columns : names of the columns in the release.
    take_over : whether an inherited table that names a column is first copied into this configuration. Otherwise such a
        table is an error.

    Raises
    ------
    InputError : when the release has no such column, or when the steward must decide about a setting that names the column.
    SpecError : when the files cannot be loaded before or after the change.
    OutputError : when the layout of a file cannot be edited, or a file cannot be written.
    """
    path = checked_path(config)
    spec = load_spec(path)
    gone = tuple(dict.fromkeys(columns))
    for name in gone:
        if name not in spec.schema.by_name:
            near = closest(name, spec.schema.names)
            guess = f" Did you mean {near!r}?" if near else ""
            raise InputError(f"{path}: the release has no column {name!r}, only {listing(spec.schema.names)}.{guess}")

    # find everything that names the columns, and decisions that the steward must make first
    file = read_configuration(path)
    acceptance_path = _acceptance_of(file)
    references = _References(gone, file.tables, read_toml(acceptance_path))
    references.look()
    inherited = [edit for edit in references.of_configuration if file.file_of(dotted(edit.path)) == file.base]
    copied = list(dict.fromkeys(str(edit.path[0]) for edit in inherited if take_over and edit.path[0] in file.inherited))
    undecided = references.undecided + [
        f"{dotted(edit.path)} is in {file.base}, which this configuration extends. Leave the column out in that file"
        for edit in inherited
        if edit.path[0] not in copied
    ]
    undecided += _shared(path, acceptance_path, columns=True, criteria=bool(references.of_acceptance))
    if undecided:
        raise InputError(
            f"{path}: decide these points before you leave out {listing(gone)}. Nothing was written.\n"
            + "\n".join(f"- {text}." for text in dict.fromkeys(undecided))
        )

    # load the changed files before writing; write the acceptance file first, because it still fits the old configuration
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


def _shared(path: Path, acceptance: Path, *, columns: bool, criteria: bool) -> Iterable[str]:
    """Yield a sentence for each other configuration in the same folder that the change would affect."""
    for neighbour in sorted(path.parent.glob("*.toml")):
        if neighbour.resolve() == path.resolve():
            continue
        try:
            tables = read_toml(neighbour)
        except SpecError:
            continue
        extends = beside(neighbour, str(tables.get("extends"))).resolve() == path.resolve()
        own = tables.get("acceptance")
        same = extends if own is None else beside(neighbour, str(own)).resolve() == acceptance.resolve()
        if extends and columns:
            yield f"{neighbour} extends this configuration and would lose the column, too. Copy the tables into that file first"
        elif same and criteria:
            advice = f"Copy the acceptance file first, and write the name of the copy into {path}"
            yield f"{neighbour} has the same acceptance file, {acceptance}, which would change. {advice}"


def _still_named(gone: Collection[str], contents: Mapping[Path, bytes]) -> Iterable[str]:
    names = re.compile(rf"(?<!\w)({'|'.join(map(re.escape, gone))})(?!\w)")
    for path, content in contents.items():
        lines = [str(n) for n, line in enumerate(content.decode("utf-8-sig").split("\n"), 1) if names.search(line)]
        if lines:
            plural = "s" if len(lines) > 1 else ""
            yield f"{path}: comments or texts still name a removed column in line{plural} {', '.join(lines)}"


class _References:
    """A search for all settings that name one of the given columns, with the changes that remove the names.

    Call `look`, then read the edits of each file (`of_configuration`, `of_acceptance`), their descriptions (`taken`), and
    sentences on what to check (`to_look_at`) and what to decide first (`undecided`).
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
                self._take(("intended_queries", index), f"the intended question {question!r}")
        models = self.tables.get("models", ())
        about = [index for index, model in enumerate(models) if self._names(model["question"])]
        for index in about:
            self._take(("models", index), f"the model {_one_line(models[index]['question'])!r}")
        if about and len(about) == len(models):
            self._take(("budget", "models"), "budget.models, because no model is left")
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
        (self.of_acceptance if acceptance else self.of_configuration).append(Edit(path=path, toml=value))
        self.taken.append(description)

    def _names(self, condition: str) -> bool:
        return any(match["name"] in self.gone for match in _WORD.finditer(condition) if match["name"])

    def _keys(self, path: Path_) -> None:
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
                self.to_look_at.append(f"no column of this configuration uses the codelist {codes} any more")

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
                self.undecided.append(f"{dotted(path)} would have no table left. Name the tables to measure first")
            elif "" in rest:
                self._take(path, dotted(path))
            else:
                lines = "\n" in texts[0]
                self._take(path, description, value=toml(rest) if isinstance(value, list) else formula(rest[0], lines=lines))

    def _formula(self, text: str) -> str:
        """Return a formula of tables without the given columns: `sex:age` for `sex:age + region` without `region`.

        A table is removed if another table has all its remaining columns.
        """
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
        terms = [" ".join(term.split()) for term in text.split("+")]
        rest = [term for term in terms if not self.gone & {*_IN_A_SUM.findall(term)}]
        return text if rest == terms else " + ".join(rest)

    def _imputation(self) -> None:
        match = self.tables.get("imputation", {}).get("match", [])
        if match and self.gone >= {*match}:
            self.undecided.append("imputation.match would be empty. First name other columns that must be equal in donors")
            return
        for index, name in enumerate(match):
            if name in self.gone:
                self._take(("imputation", "match", index), f"{name!r} in imputation.match")

    def _to_decide(self) -> None:
        """Record the settings that name a given column and that only the steward can change, such as published totals."""
        for source in UnitTable.model_validate(self.tables.get("unit", {})).order:
            tables = self.tables["columns"].items()
            names = {name for name, table in tables if source in (table.get("source", name), table.get("minus"))}
            if names and names <= self.gone:
                why = f"unit.first_by orders rows by {source!r}, but no column that remains is made from {source!r}"
                self.undecided.append(f"{why}. Change the setting first")
        for top in (*OPTIONS, "intended_queries"):
            for path in _places(self.tables.get(top), (top,), self.gone):
                self.undecided.append(f"{dotted(path)} names the column. Change this setting to another column first")

    def _criteria(self) -> None:
        criteria = self.acceptance["criteria"]
        gone, smaller = dict[int, str](), dict[int, dict[str, Any]]()
        for index, table in enumerate(criteria):
            ways = naming_columns(CRITERIA[table["kind"]])
            about = [table[setting] for setting, way in ways.items() if way == "about" and table.get(setting) in self.gone]
            rest = self._smaller(table)
            if about or rest is None:
                gone[index] = f"is about {about[0]}" if about else "would have no column to compare"
            else:
                smaller[index] = rest
        same = dict[str, int]()
        for index, table in smaller.items():
            text = str(sorted((name, str(value)) for name, value in table.items() if name not in _OF_ONE))
            first = same.setdefault(text, index)
            if first != index and (table != criteria[index] or smaller[first] != criteria[first]):
                gone[index] = f"would equal {criteria[first]['name']!r}"
        while building := {  # criteria that depend on a removed one, as a criterion of predictions depends on its regression
            index: f"depends on {table['coefficients']!r}"
            for index, table in enumerate(criteria)
            if index not in gone and table.get("coefficients") in {criteria[index]["name"] for index in gone}
        }:
            gone |= building
        for index, why in sorted(gone.items()):
            self._take(("criteria", index), f"the criterion {criteria[index]['name']!r}, which {why}", acceptance=True)
        if len(gone) == len(criteria):
            self.undecided.append("no criterion would be left. Add a criterion about other columns first")
        for index, table in smaller.items():
            if index not in gone and table != criteria[index]:
                self._replace(index, criteria[index], table)

    def _smaller(self, table: Mapping[str, Any]) -> dict[str, Any] | None:
        smaller = self._without(CRITERIA[table["kind"]], table)
        if table.get("tables") and not smaller["tables"]:
            del smaller["tables"]
            if "largest" not in smaller:
                return None
        looked_at = [settings for settings in (("features",), ("exact", "within_one_bin")) if any(map(table.get, settings))]
        return None if any(not any(map(smaller.get, settings)) for settings in looked_at) else smaller

    def _without(self, model: type[BaseModel], table: Mapping[str, Any]) -> dict[str, Any]:
        """Return settings without the names of the given columns; the fields of `model` state which settings name columns."""
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
        self.taken.append(f"the name in {', '.join(settings)} of the criterion {table['name']!r}, which stays")
        if "features" in settings:
            self.to_look_at.append(f"the regression of {table['name']!r} now has fewer features. Check its threshold")
        if "by" in settings and not smaller["by"]:
            self.to_look_at.append(f"{table['name']!r} no longer has groups and is about all rows together")
        for setting in settings:
            self.of_acceptance += _edits_of_leaving_out(("criteria", index, setting), table[setting], smaller.get(setting))


_OF_ONE = ("name", "threshold", "epsilon", "reason")  # Settings that may differ between two criteria with the same content


def _edits_of_leaving_out(path: Path_, old: Any, new: Any) -> Iterable[Edit]:
    """Yield the changes from an old to a new value in a TOML file, element by element, so that lists keep their layout."""
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


# New limits between the bins of a column of numbers, and the changes that follow in both files.

Limits = tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class MovedLimits:
    """The new settings of a numeric column after limits between its bins, or its bounds, were moved.

    Attributes
    ----------
    alternatives : bins of each alternative that changes.
    numbers : all representative values of the column, by the label of the bin.
    groups : bins of the column in [groups], or None if they do not change.
    """

    alternatives: Mapping[str, list[str]]
    numbers: Mapping[str, float]
    groups: list[str] | None


def limits_of(column: Column) -> dict[str, Limits]:
    """Return the limits between the bins of a column of numbers, by alternative (binning); empty for other columns."""
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
    """Set new limits between the bins of one alternative (binning) of a numeric column, and return all settings that change.

    If the number of limits is unchanged, a moved limit moves in other alternatives and in [groups] as well. A removed limit
    is removed from [groups]. A new bin is represented by the mean of its public rows.

    Parameters
    ----------
    limits : new limits between the bounds.
    groups : bins of the column in [groups], or None if it has none or names an alternative.
    public : the public file; without it, new bins have the default representative value.

    Raises
    ------
    ValueError : when there is no limit, when a limit is not between the bounds, or when a limit of whole numbers is not a
        whole number.
    """
    whole, old = column.kind == "integer", limits_of(column)
    new = tuple(sorted(set(limits)))
    low, high = column.bounds or (-math.inf, math.inf)
    wrong = [limit for limit in new if not low < limit <= high or (whole and limit != int(limit))]
    if wrong or not new:
        needed = f"Limits must be {'whole numbers' if whole else 'numbers'} above {low:.12g} and at most {high:.12g}"
        given = f", not {', '.join(f'{limit:.12g}' for limit in wrong)}" if wrong else ". Enter at least one limit"
        raise ValueError(f"{needed}{given}.")
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
    """Return the settings that change when a column has new bounds.

    Bins that end at the old bounds, or would not reach the new ones, end at the new bounds. Such a bin is represented by
    the mean of its public rows, clipped to the bounds; without a public file, by its old value, limited to the bounds.
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
    ends = (binning.lower[0], binning.upper[-1] - (1 if whole else 0))
    low, high = (end if math.isfinite(end) else None for end in ends)
    return low, high


def filled_numbers(column: Column, numbers_of: Mapping[str, float], public: PublicFile, policy: InputTable) -> dict[str, float]:
    """Return the values that represent the bins of a column, by label, with the mean of the public rows for new bins.

    Values of bins that no longer exist are removed. A bin whose mean is close to its default value has no entry.
    """
    whole = column.kind == "integer"
    texts = [binning.labels[: binning.present] for binning in column.alternatives.values()]
    bins = {interval.label: interval for labels in texts for interval in parse_bins(labels, whole_numbers=whole)}
    means = _numbers(column, [interval for label, interval in bins.items() if label not in numbers_of], public, policy)
    return {label: value for label, value in (dict(numbers_of) | means).items() if label in bins}


@dataclass(frozen=True, kw_only=True)
class FilledNumbers:
    """The result of `fill_numbers`, which writes the values that represent bins into a configuration.

    Attributes
    ----------
    added : for each column by name, the new representative values by bin.
    removed : the number of removed values, whose bins no longer exist.
    """

    path: Path
    added: Mapping[str, Mapping[str, float]]
    removed: int


def fill_numbers(config: str | Path, public: PublicFile, members: PublicFile | None = None) -> FilledNumbers:
    """Add missing representative values of bins to the configuration: the mean of the public rows. Comments are kept.

    Values of bins that no longer exist are removed first, because the configuration cannot be loaded with them.

    Parameters
    ----------
    members : the public file of the second of two linked tables, if the configuration has [members].

    Raises
    ------
    InputError : when the columns are inherited from another configuration.
    SpecError : when the configuration cannot be loaded for another reason.
    OutputError : when the layout of the configuration cannot be edited, or it cannot be written.
    """
    path = checked_path(config)
    old = path.read_bytes()
    file = read_configuration(path, old)
    if "columns" in file.inherited:
        raise InputError(f"{path} inherits the table [columns] from {file.base}. Use `numbers` on that file.")
    stale = list(_stale_numbers(file.tables))
    current = changed(path, old, stale)
    spec = load_changed(path, current)
    tables, edits, added = toml_tables(current, path), list[Edit](), dict[str, dict[str, float]]()
    for column in spec.schema.columns:
        above, name = table_of(spec, column.name)[:-1], table_of(spec, column.name)[-1]
        source = public if above == ("columns",) or members is None else members
        table = value_at(tables, above).get(name)  # the number of members has no table of its own
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
    for above in (("columns",), ("members", "columns")):
        for name, table in value_at(tables, above).items() if above[0] in tables else ():
            if table.get("kind") not in ("integer", "real"):
                continue
            whole, alternatives = table["kind"] == "integer", table.get("alternatives", {}).values()
            try:
                intervals = [parse_bins(list(map(str, texts)), whole_numbers=whole) for texts in alternatives]
            except Unexpected:  # loading the file reports the error
                continue
            labels = {interval.label for bins in intervals for interval in bins}
            stale = (label for label in table.get("numbers", ()) if label not in labels)
            yield from (Edit(path=(*above, name, "numbers", label)) for label in stale)


def table_of(spec: ReleaseSpec, name: str) -> Path_:
    """Return the path of a column's settings, such as ("columns", "age"). The columns of all members share their settings."""
    linked = spec.schema.linked
    for slot in linked.slots if linked else ():
        if name in slot:
            return ("members", "columns", linked.names[slot.index(name)])  # type: ignore[union-attr]
    return ("columns", name)


def _moved(limits: Limits, moved: Mapping[float, float]) -> Limits:
    new = tuple(sorted(moved.get(limit, limit) for limit in limits))
    return new if len(set(new)) == len(limits) and not set(moved.values()) & set(limits) else limits


def _texts(column: Column, alternative: str, limits: Limits) -> list[str]:
    """Return the bins between limits as a configuration writes them, such as "2-19". The outer ends stay as they are."""
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


# A criterion that a steward adds in the desk, as a table of the acceptance file.

SIZE_MARGIN = 0.02
"""Default of `size_margin`: a released group may lack this share of all rows."""


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
    """Return the changes to the acceptance file that add a criterion.

    Parameters
    ----------
    kind : kind of criterion, one of `ASKED_FOR`.
    columns : the column that the criterion is about, followed by the other columns of its table or of its groups.
    threshold, epsilon : numbers as texts.
    value : label of the column, for a kind about the frequency of a value.

    Raises
    ------
    ValueError : for an unknown kind, an unknown column, or no column.
    """
    names = list(dict.fromkeys(name for name in columns if name))
    unknown = [name for name in names if name not in spec.schema.by_name]
    if kind not in ASKED_FOR or unknown or not names:
        wrong = f", not {listing(unknown)}" if unknown else ""
        raise ValueError(f"Choose a kind of criterion and columns of the release{wrong}.")
    settings = _settings(spec, kind, [spec.schema[name] for name in names], value)
    lines = {key: toml(text) for key, text in {"name": _name(spec, kind, names), "kind": kind, **settings}.items()}
    lines |= {"threshold": threshold, "epsilon": epsilon} | ({"reason": toml(reason)} if reason else {})
    table = "{ " + ", ".join(f"{key} = {text}" for key, text in lines.items()) + " }"
    by = [spec.schema[name] for name in names[1:] if "by" in settings and name not in acceptance.get("groups", {})]
    first_bins = {column.name: next(iter(column.alternatives)) for column in by if len(column.alternatives) > 1}
    groups = [Edit(path=("groups", column), toml=toml(alternative)) for column, alternative in first_bins.items()]
    return [*groups, Edit(path=("criteria", len(acceptance["criteria"])), toml=table)]


def _name(spec: ReleaseSpec, kind: str, columns: Sequence[str]) -> str:
    by = f" by {' and '.join(columns[1:])}" if columns[1:] else ""
    used_names, words = {criterion.name for criterion in spec.criteria}, f"{kind.replace('_', ' ')} of {columns[0]}{by}"[:74]
    return next(name for name in (words, *(f"{words} {i}" for i in range(2, 400))) if name not in used_names)


def _settings(spec: ReleaseSpec, kind: str, columns: Sequence[Column], value: str) -> dict[str, object]:
    fields, first, names = CRITERIA[kind].model_fields, columns[0], [column.name for column in columns]
    if "tables" in fields:
        return {"tables": [":".join(names)]}
    if "range" in fields and first.bounds is None:
        raise ValueError(f"{first.name} has no numbers. Choose a column of numbers.")
    margins = [float(getattr(criterion, "size_margin", 0)) for criterion in spec.criteria]
    usual = {"range": list(first.bounds or ()), "size_margin": max(margins) or SIZE_MARGIN, "bins": [value], "within": 1}
    settings: dict[str, object] = {"column": first.name} | ({"by": names[1:]} if names[1:] else {})
    return settings | {key: setting for key, setting in usual.items() if key in fields}


# The kinds that a draft chose for the columns of a public file, with the reasons, and a column drafted as another kind.

Kind = Literal["number", "name", "date"]


@dataclass(frozen=True, kw_only=True)
class Guesses:
    """The decisions of a draft about the columns of a public file, such as which columns hold dates.

    Attributes
    ----------
    because : for each column by its name in the file, the remark on its kind.
    doubtful : for each column of doubtful kind, the question about this kind.
    dates : names of the columns of the file that hold dates.
    """

    because: Mapping[str, str] = field(default_factory=dict)
    doubtful: Mapping[str, str] = field(default_factory=dict)
    left_out: tuple[LeftOut, ...] = ()
    dates: frozenset[str] = frozenset()

    @classmethod
    def of(cls, *files: PublicFile) -> Guesses:
        because, doubtful, left_out, dates = dict[str, str](), dict[str, str](), list[LeftOut](), set[str]()
        for file in files:
            columns, gone, dated, _ = drafted_columns(file, {})
            because |= {column.source: column.remark for column in columns}
            doubtful |= {column.source: column.doubt.partition(". If not")[0] for column in columns if column.doubt}
            left_out += [column for column in gone if column.source]
            dates |= set(dated)
        return cls(because=because, doubtful=doubtful, left_out=tuple(left_out), dates=frozenset(dates))


def column_as(file: PublicFile, source: str, kind: Kind) -> dict[str, Any]:
    """Return the settings that release a column of the public file as numbers, as codes or as dates.

    Parameters
    ----------
    kind : "number", "name" (codes or categories) or "date".

    Raises
    ------
    InputError : when the values of the column cannot be of this kind, or when the values need a separate file for the
        codelist.
    """
    entry = CodebookEntry(number=kind == "number", code=kind == "name")
    columns, left_out, *_ = drafted_columns(file, {source: entry})
    kinds = [(draft, "date" if draft.of_date else "number" if draft.bins else "name") for draft in columns]
    column = next((draft for draft, of_kind in kinds if draft.source == source and of_kind == kind), None)
    if column is None:
        reason = next((gone.because for gone in left_out if gone.source == source), "the values have another type")
        raise InputError(f"{source!r} cannot be read as a {'name or code' if kind == 'name' else kind}: {reason}.")
    if codelist_name("", column):
        raise InputError(f"{source!r} has {len(column.codes):,} codes, which need a separate file. Draft again with `init`.")
    settings = column_settings("", column)
    alternatives = {key.partition(".")[2]: settings.pop(key) for key in [*settings] if key.startswith("alternatives.")}
    return settings | ({"alternatives": alternatives} if alternatives else {}) | {"source": source}


# A column of the public file is added to a configuration that does not release it.


def bring_back(
    spec: ReleaseSpec, configuration: Mapping[str, Any], accepted: Mapping[str, Any], file: PublicFile, source: str, kind: Kind
) -> tuple[list[Edit], list[Edit]]:
    """Return the changes to the configuration and to the acceptance file that add a column of the public file.

    The column is released in its coarse bins. A generator that names its tables measures it with the median weight of the
    tables of single columns. Criteria that compare all columns ignore it.

    Parameters
    ----------
    kind : "number", "name" (codes or categories) or "date".

    Raises
    ------
    InputError : when the column is already released, when it is a key, or when its values cannot be of this kind.
    """
    if source not in file.columns or any(source in column.sources for column in spec.schema.columns):
        raise InputError(f"{source!r} is not a column of the public file that the release leaves out.")
    if source == spec.unit.key:
        raise InputError(f"{source!r} identifies the person to whom a row belongs, so it is never released.")
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
            one_line = "\n" not in tables.strip()  # a formula of several lines keeps its lines
            term = _term(tables, name)
            formula_text = toml(f"{tables} + {term}") if one_line else f'"""\n{tables.strip()} +\n{term}\n"""'
            edits.append(Edit(path=path, toml=formula_text))
        elif isinstance(tables, list):
            terms = [text if _covers_all(text) else f"{text} + {_term(text, name)}" for text in tables]
            edits.append(Edit(path=path, toml=toml(terms)))
    comparing = [index for index, criterion in enumerate(spec.criteria) if "ignored" in type(criterion).model_fields]
    ignored = {index: [*accepted["criteria"][index].get("ignored", ()), name] for index in comparing}
    return edits, [Edit(path=("criteria", index, "ignored"), toml=toml(names)) for index, names in ignored.items()]


def _covers_all(tables: str) -> bool:
    return any(term.ways and term.weight for term in read_terms(tables))


def _term(tables: str, name: str) -> str:
    """Return the term of a column for a formula, such as `0.5 age`, with the median weight of single columns."""
    weights = sorted(float(term.weight) for term in read_terms(tables) if len(term.columns) == 1)
    weight = weights[len(weights) // 2] if weights else 1.0
    return name if weight == 1 else f"{weight:g} {name}"
