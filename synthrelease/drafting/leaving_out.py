"""Taking columns out of a finished draft, with all that names them.

Whoever decides that a column is not released would have to find it in rules, tables of generators, criteria and so on. What is
about the column goes with it; what names it among others stays without it. What somebody has to decide is said, and then
nothing is written.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from synthrelease.drafting.edited import Edit, Path_, changed, loaded_changed, replace_files
from synthrelease.drafting.taking_over import taken_over
from synthrelease.drafting.toml_text import toml, wrapped
from synthrelease.errors import InputError, SpecError, Unexpected, closest, listing
from synthrelease.generators.measurements import FormulaTerm, read_terms
from synthrelease.parts import PARTS
from synthrelease.privacy.charges import Charge
from synthrelease.settings.reading import beside, dotted, read_configuration, read_toml
from synthrelease.settings.tables import list_of_questions
from synthrelease.sources.paths import checked_path
from synthrelease.spec.load import load_spec

ABOUT = ("column", "target", "weight")
"""Settings of a criterion that say what it is about."""
AMONG = ("by", "features", "exact", "within_one_bin", "ignored")
"""Settings of a criterion that are lists of columns."""
BY_COLUMN = ("representation", "ranges", "exact_around")
"""Settings of a criterion with a value for each of some columns; those of a `prior` of a line are in it."""
OF_A_PRIOR = ("coefficients", "centres", "spreads")
_WORD = re.compile(r"(?P<text>'[^']*'|\"[^\"]*\")|(?<![\w.])(?P<name>[A-Za-z_]\w*)")
_IN_A_SUM = re.compile(r"(\w+)\s*[\[(]")


@dataclass(frozen=True, kw_only=True)
class LeftOutOf:
    """What was taken out of a configuration and its acceptance file, or would be.

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
    file = read_configuration(path)
    acceptance_path = Path(os.path.normpath(beside(file.file_of("acceptance"), str(file.tables["acceptance"]))))
    found = _References(gone, file.tables, read_toml(acceptance_path))
    found.look()
    undecided = [*found.undecided]
    theirs = [edit for edit in found.of_configuration if file.file_of(dotted(edit.path)) == file.base]
    copied = list(dict.fromkeys(str(edit.path[0]) for edit in theirs if take_over and edit.path[0] in file.inherited))
    undecided += [
        f"{dotted(edit.path)} stands in {file.base}, which this configuration extends: take the column out there"
        for edit in theirs
        if edit.path[0] not in copied
    ]
    undecided += _shared(path, acceptance_path, bool(found.of_acceptance))
    if undecided:
        raise InputError(
            f"{path}: expected that {listing(gone)} can be left out without a decision, found what needs one. Nothing was "
            "written.\n" + "\n".join(f"- {text}." for text in dict.fromkeys(undecided))
        )
    contents = {path: found.of_configuration, acceptance_path: found.of_acceptance}
    before = {each: each.read_bytes() for each in contents}
    own = before | {path: taken_over(file, before[path], copied)}
    after = {each: changed(each, own[each], edits) for each, edits in contents.items()}
    loaded = loaded_changed(path, after[path], after[acceptance_path])
    if not dry_run:  # the acceptance file first: without the column it still fits the configuration with it
        replace_files({each: (before[each], after[each]) for each in (acceptance_path, path)})
    return LeftOutOf(
        paths=(path, acceptance_path),
        taken=(*found.taken, *(f"[{name}] of {file.base} is copied here first" for name in copied)),
        to_look_at=(*found.to_look_at, *_still_named(gone, after)),
        before=spec.plan.total,
        after=loaded.plan.total,
    )


def _shared(path: Path, acceptance: Path, changes: bool) -> Iterable[str]:
    """Other configurations beside this one that the change would reach."""
    for other in sorted(path.parent.glob("*.toml")):
        if other.resolve() == path.resolve():
            continue
        try:
            tables = read_toml(other)
        except SpecError:
            continue
        extends, named = tables.get("extends"), tables.get("acceptance")
        if isinstance(extends, str) and beside(other, extends).resolve() == path.resolve():
            yield f"{other} extends this configuration and would lose the column, too: give one of them tables of its own"
        elif changes and isinstance(named, str) and beside(other, named).resolve() == acceptance.resolve():
            yield f"{other} has the same acceptance file, {acceptance}, which would be changed: give one of them a copy"


def _still_named(gone: Collection[str], contents: Mapping[Path, bytes]) -> Iterable[str]:
    """Comments and texts of the changed files in which a column is still named."""
    names = re.compile(rf"(?<!\w)({'|'.join(map(re.escape, gone))})(?!\w)")
    for path, content in contents.items():
        lines = [str(n) for n, line in enumerate(content.decode("utf-8-sig").split("\n"), 1) if names.search(line)]
        if lines:
            yield f"{path}: comments or texts still name it in line{'s' if len(lines) > 1 else ''} {', '.join(lines)}"


class _References:
    """All that names some columns in the tables of the two files, and what becomes of it."""

    def __init__(self, gone: Collection[str], configuration: Mapping[str, Any], acceptance: Mapping[str, Any]):
        self.gone, self.tables, self.acceptance = set(gone), configuration, acceptance
        self.of_configuration, self.of_acceptance = list[Edit](), list[Edit]()
        self.taken, self.to_look_at, self.undecided = list[str](), list[str](), list[str]()

    def look(self) -> None:
        self._columns()
        for index, rule in enumerate(self.tables.get("rules", ())):
            if self._names(rule.get("never", "")):
                self._take(("rules", index), f"the rule {_one_line(rule['never'])!r}")
        for name in self.tables.get("transformations", {}):
            if name in self.gone:
                self._take(("transformations", name), f"transformations.{name}")
        for index, generator in enumerate(self.tables.get("generators", ())):
            self._generator(index, generator)
        questions = list_of_questions() or ""
        for index, query in enumerate(self.tables.get(questions, ())):
            asked = [query.get(part) or "" for part in ("query", "given", "minus")]
            if query.get("mean") in self.gone or any(map(self._names, asked)):
                told = _one_line(" ".join(filter(None, [query.get("mean"), *asked])))
                self._take((questions, index), f"the question {told!r} that it is meant to answer")
        self._card()
        self._imputation()
        self._to_decide()
        for name in self.acceptance.get("groups", {}):
            if name in self.gone:
                self._take(("groups", name), f"groups.{name} of the acceptance file", acceptance=True)
        for place, pair in enumerate(self.acceptance.get("not_promised", {}).get("pairs", ())):
            if self.gone & {name.strip() for name in pair.split(":")}:
                self._take(("not_promised", "pairs", place), f"{pair!r} in not_promised.pairs", acceptance=True)
        self._criteria()

    def _take(self, path: Path_, told: str, *, acceptance: bool = False, value: str | None = None) -> None:
        """Take out what stands there, or put another value in its place."""
        edits = self.of_acceptance if acceptance else self.of_configuration
        edits.append(Edit(path=path, toml=value))
        if told:
            self.taken.append(told)

    def _names(self, condition: str) -> bool:
        """Whether a condition compares one of the columns."""
        return any(match["name"] in self.gone for match in _WORD.finditer(condition) if match["name"])

    def _columns(self) -> None:
        columns = self.tables["columns"]
        listed = [table.get("codes") for name, table in columns.items() if name not in self.gone]
        for name in columns:
            if name in self.gone:
                self._take(("columns", name), f"columns.{name}")
                codes = columns[name].get("codes")
                if isinstance(codes, str) and codes not in listed:
                    self.to_look_at.append(f"the codelist {codes} is used by no column of this configuration any more")

    def _generator(self, index: int, generator: Mapping[str, Any]) -> None:
        readings = {"tables": self._formula, "only_measured": self._formula, "sums": self._sums}
        for setting, without in readings.items():
            given = generator.get(setting)
            texts = given if isinstance(given, list) else [given] if isinstance(given, str) else []
            left = [without(text) for text in texts]
            if left == texts or not texts:
                continue
            left = list(dict.fromkeys(left))
            told = f"terms of generators[{index}].{setting}"
            if "" in left and (setting == "tables" or len(left) > 1):
                self.undecided.append(f"generators[{index}].{setting} would be left without a term: say what it shall measure")
            elif "" in left:
                self._take(("generators", index, setting), f"generators[{index}].{setting}")
            elif isinstance(given, list):
                self._take(("generators", index, setting), told, value=toml(left))
            else:
                self._take(
                    ("generators", index, setting), told, value=_multiline(left[0]) if "\n" in texts[0] else toml(left[0])
                )

    def _formula(self, text: str) -> str:
        """Without the columns; a table that is then part of another one is not measured by itself."""
        terms = read_terms(text)
        if not any(self.gone & {*term.columns} for term in terms):
            return text
        kept = [{*term.columns} for term in terms if term.weight and not self.gone & {*term.columns}]
        widest = max((term.ways for term in terms if term.weight), default=0)
        left = list[str]()
        for term, written in zip(terms, text.split("+"), strict=True):
            columns = [name for name in term.columns if name not in self.gone]
            if len(columns) == len(term.columns):
                left.append(" ".join(written.split()))
            elif columns and len(columns) > widest and not any({*columns} <= other for other in kept):
                weight = "" if term.weight == 1 else f"{float(term.weight):g} "
                left.append(f"{weight}{':'.join(columns)}")
                kept.append({*columns})
        return " + ".join(left)

    def _sums(self, text: str) -> str:
        """Without the sums of products in which one of the columns is a factor: without it they are other numbers."""
        terms = [" ".join(term.split()) for term in text.split("+")]
        left = [term for term in terms if not self.gone & {*_IN_A_SUM.findall(term)}]
        return text if left == terms else " + ".join(left)

    def _card(self) -> None:
        card = self.tables.get("card", {})
        own: Path_ = ("card", "columns")
        places = {own: card.get("columns", {})}
        places |= {("card", each, "columns"): card[each].get("columns", {}) for each in ("en", "he") if each in card}
        for path, names in places.items():
            for name in names:
                if name in self.gone:
                    self._take((*path, name), dotted((*path, name)))

    def _imputation(self) -> None:
        match = self.tables.get("imputation", {}).get("match", [])
        named = [place for place, name in enumerate(match) if name in self.gone]
        if named and len(named) == len(match):
            self.undecided.append("imputation.match would be left empty: say in which columns donors shall agree")
            return
        for place in named:
            self._take(("imputation", "match", place), f"{match[place]!r} in imputation.match")

    def _to_decide(self) -> None:
        """Tables in which a column is a promise of its own: totals, persons, pieces."""
        unit, columns = self.tables.get("unit", {}), self.tables["columns"]
        made = {
            source: {name for name, table in columns.items() if source in (table.get("source", name), table.get("minus"))}
            for source in unit.get("first_by", ())
        }
        for source, names in made.items():
            if names and names <= self.gone:
                self.undecided.append(f"unit.first_by orders by {source!r}, of which no column would be left: change it first")
        for top in PARTS:
            for path in _places(self.tables.get(top), (top,), self.gone):
                self.undecided.append(f"{dotted(path)} names it: decide what shall stand there, and change it first")

    def _criteria(self) -> None:
        criteria = self.acceptance["criteria"]
        about = {index: self._about(table) for index, table in enumerate(criteria)}
        gone = {index: f"is about {column}" for index, column in about.items() if column}
        changes = {index: self._smaller(table) for index, table in enumerate(criteria) if index not in gone}
        gone |= {index: "has nothing left to look at" for index, smaller in changes.items() if smaller is None}
        said = dict[str, int]()
        for index, smaller in changes.items():
            if smaller is None:
                continue
            what = str(sorted((name, str(value)) for name, value in smaller.items() if name not in _OF_ONE))
            first = said.setdefault(what, index)
            if first != index and (smaller != criteria[index] or changes[first] != criteria[first]):
                gone[index] = f"says the same as {criteria[first]['name']!r} then"
        while building := self._building_on({criteria[index]["name"] for index in gone}, gone):
            gone |= building
        for index, why in sorted(gone.items()):
            name = criteria[index]["name"]
            self._take(("criteria", index), f"the criterion {name!r}, which {why}", acceptance=True)
        if len(gone) == len(criteria):
            self.undecided.append("no criterion would be left: write one that is about other columns first")
        for index, smaller in changes.items():
            if index not in gone and smaller is not None and smaller != criteria[index]:
                self._replace(index, criteria[index], smaller)

    def _about(self, table: Mapping[str, Any]) -> str:
        """The column that goes and that a criterion is about; empty where it is about none."""
        named = (table.get(setting) for setting in ABOUT)
        return next((name for name in named if isinstance(name, str) and name in self.gone), "")

    def _building_on(self, names: Collection[str], gone: Collection[int]) -> dict[int, str]:
        """Criteria that name one that goes, as the prediction of a line names the line."""
        return {
            index: f"builds on {table['coefficients']!r}"
            for index, table in enumerate(self.acceptance["criteria"])
            if index not in gone and table.get("coefficients") in names
        }

    def _smaller(self, table: Mapping[str, Any]) -> dict[str, Any] | None:
        """The criterion without the columns; None where nothing is left that it could look at."""
        found = dict(table)
        for setting in AMONG:
            if isinstance(found.get(setting), list):
                found[setting] = [name for name in found[setting] if name not in self.gone]
        for setting in BY_COLUMN:
            if isinstance(found.get(setting), dict):
                found[setting] = self._others(found[setting])
        if isinstance(found.get("prior"), dict):
            of_prior = {name: self._others(found["prior"][name]) for name in OF_A_PRIOR if name in found["prior"]}
            found["prior"] = {**found["prior"], **of_prior}
        if isinstance(found.get("tables"), list):
            found["tables"] = self._tables_of(found["tables"])
            if not found["tables"] and table["tables"]:
                if "largest" not in found:
                    return None
                del found["tables"]
        looked_at = [fields for fields in (("features",), ("exact", "within_one_bin")) if any(map(table.get, fields))]
        return None if any(not any(map(found.get, fields)) for fields in looked_at) else found

    def _tables_of(self, terms: Sequence[str]) -> list[str]:
        found = dict[str, None]()
        for text in terms:
            try:
                columns = FormulaTerm.of(text).columns
            except Unexpected:  # "all columns"
                columns = ()
            if not self.gone & set(columns):
                found[text] = None
        return list(found)

    def _others(self, table: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in table.items() if name not in self.gone}

    def _replace(self, index: int, table: Mapping[str, Any], smaller: Mapping[str, Any]) -> None:
        fields = [setting for setting in table if table[setting] != smaller.get(setting)]
        self.taken.append(f"from {', '.join(fields)} of the criterion {table['name']!r}, which stays")
        if "features" in fields:
            self.to_look_at.append(f"the line of {table['name']!r} has other features now: look at its threshold")
        if "by" in fields and not smaller["by"]:
            self.to_look_at.append(f"{table['name']!r} has no groups any more: it is about all rows together")
        for setting in fields:
            for edit in _edits(("criteria", index, setting), table[setting], smaller.get(setting)):
                self.of_acceptance.append(edit)


_OF_ONE = ("name", "threshold", "epsilon", "reason")
"""What may differ between two criteria that say the same."""


def _edits(path: Path_, before: Any, after: Any) -> Iterable[Edit]:
    """What is to be changed there, element by element, so that the layout of lists stays."""
    if after is None:
        yield Edit(path=path)
    elif isinstance(before, dict):
        for name, value in before.items():
            if name not in after:
                yield Edit(path=(*path, name))
            elif value != after[name]:
                yield from _edits((*path, name), value, after[name])
    elif isinstance(before, list) and set(after) <= set(before):
        yield from (Edit(path=(*path, place)) for place, value in enumerate(before) if value not in after)
    else:
        yield Edit(path=path, toml=toml(after))


def _places(value: Any, path: Path_, names: Collection[str]) -> Iterable[Path_]:
    """Where a name stands, as a text or as a key."""
    if isinstance(value, str) and value in names:
        yield path
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from [(*path, key)] if key in names else _places(inner, (*path, key), names)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _places(inner, (*path, place), names)


def _multiline(formula: str) -> str:
    """As drafts write a long formula: lines of terms between three quotes."""
    return "\n".join(['"""', *wrapped(formula.split(" + ")), '"""'])


def _one_line(text: str) -> str:
    return " ".join(text.split())
