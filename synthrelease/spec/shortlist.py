"""Read and write shortlist.toml: the configurations that performed well in a rehearsal on public data, and its results."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field

from synthrelease.errors import Problem, SpecError, mistake, of_another_format, so_many
from synthrelease.generators import GENERATORS
from synthrelease.generators.projections import PROJECTIONS
from synthrelease.generators.space import Configuration, ConfigurationSpace
from synthrelease.privacy.charges import decimal_text
from synthrelease.settings.base import SpecTable
from synthrelease.settings.mistakes import valid
from synthrelease.settings.reading import read_toml
from synthrelease.settings.tables import AttacksTable, NotPromisedTable
from synthrelease.spec.canonical import canonical_text
from synthrelease.spec.release_spec import ReleaseSpec


class ShortlistTable(SpecTable):
    """[[configurations]]: a configuration on the shortlist (bins, generator and projection), with the results of its
    rehearsal.
    """

    transformation: dict[str, str]
    generator: dict[str, Any]
    projection: dict[str, Any]
    acceptance: float | None = None
    interval: list[float] = Field(default=[])
    attempts: int | None = None


class RehearsedTable(SpecTable):
    """[data]: the size and the digests of the public table that was used in the rehearsal.

    With these digests, the program refuses to release the table as private data (`enclave.ingest.check_not_public`). For a
    database table, the size is 0 bytes.
    """

    bytes: int = Field(ge=0)
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    table: str = Field(pattern="^[0-9a-f]{64}$")


class VerdictTable(SpecTable):
    """[verdict]: how well the synthetic tables of the rehearsal preserved the associations between columns of the public
    file.

    Attributes
    ----------
    judged : a digest of the columns, rules, models and criteria that were rehearsed (`judged_digest`).
    hang_together : whether any two columns of the public file are associated. If not, independent columns are as good as
        any table.
    independent_columns_pass : whether independent columns with the distributions of the public file meet all criteria.
    pairs_off, pairs_off_if_independent : the mean share of rows in a wrong cell of the cross-table of two associated
        columns, for a typical synthetic table (None if there is none), and for independent columns.
    lost : the pairs of columns, written as "a:b", whose association the synthetic tables lost, without pairs that a
        criterion tests or a table measures.
    """

    judged: str = Field(pattern="^[0-9a-f]{64}$")
    hang_together: bool
    independent_columns_pass: bool
    pairs_off: float | None = None
    pairs_off_if_independent: float
    lost: tuple[str, ...] = ()

    def mistakes(self, admitted: NotPromisedTable, acceptance: str) -> Iterator[str]:
        """Yield a message for each result of the rehearsal that forbids a release, and that [not_promised] does not declare."""
        if not self.hang_together or admitted.dependence:
            return
        otherwise = "To release the table nevertheless, set `dependence = true` and a `why` under [not_promised] in "
        otherwise += acceptance
        if self.independent_columns_pass:
            fault = "A table with independent columns meets all criteria. So the release would promise nothing about "
            yield f"{fault}associations. Lower the thresholds, or use fewer columns. {otherwise}"
        if self.pairs_off is not None and self.pairs_off >= self.pairs_off_if_independent:
            fault = "The synthetic tables are no better than independent columns. In a typical table of two associated columns"
            fault += f", {self.pairs_off:.1%} of the rows are in a wrong cell (with independent columns, "
            yield f"{fault}{self.pairs_off_if_independent:.1%}). Use fewer columns or coarser bins. {otherwise}"
        if lost := self.unnamed(admitted):
            several = len(lost) > 1
            yield (
                f"The rehearsal lost the association of {so_many(len(lost), 'pair')} of columns that no criterion tests and no "
                f"table measures. Add {'these pairs' if several else 'this pair'} to `tables` of [[generators]] or of a "
                f"criterion, and rehearse again. To release without {'these associations' if several else 'this association'}, "
                f"use `rehearse --accept-lost` or the desk, or write in {acceptance}: [not_promised] pairs = "
                f"[{', '.join(_toml(pair) for pair in lost)}]"
            )

    def unnamed(self, admitted: NotPromisedTable) -> tuple[str, ...]:
        return tuple(pair for pair in self.lost if frozenset(pair.split(":")) not in admitted.named)


class PlanTable(SpecTable):
    """[rehearsed] and [proposal]: the cost of a plan, and how often a release with it finds no acceptable table, on public
    data.

    Attributes
    ----------
    generation, rounds : the generation budget, and a description of the distribution of the number of rounds.
    acceptance, nothing : the probability that a round is accepted, and that a release finds no acceptable table.
    nothing_high : the upper limit of the 95% confidence interval for `nothing`, or None if it is unknown.
    lines : the TOML lines that change a configuration to this plan; empty if it already has this plan.
    judged : a digest of the rehearsed specification (`judged_digest`), for which alone the probabilities are valid.
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    generation: Fraction
    rounds: str
    acceptance: float
    nothing: float
    nothing_high: float | None = None
    lines: str = ""
    judged: str = ""

    def is_about(self, spec: ReleaseSpec) -> bool:
        """Return whether these results come from a rehearsal of this specification, apart from budget, selection and texts."""
        return self.judged == judged_digest(spec.tables)

    def is_of(self, spec: ReleaseSpec) -> bool:
        """Return whether these results are about this specification (`is_about`) with the same cost, generation budget and
        rounds.
        """
        same = (self.generation, self.rounds) == (spec.budget.generation, rounds_words(spec)) and self.is_about(spec)
        return same and abs(self.epsilon - spec.plan.total.epsilon) < _ROUNDING


_ROUNDING = Fraction(1, 10**9)  # Allowed difference of an epsilon, because the file has ten decimals


def rounds_words(spec: ReleaseSpec) -> str:
    law = spec.selection_rule.law
    return "rounds until one is accepted" if law is None else law.words


def judged_digest(tables: Mapping[str, Any]) -> str:
    """Return a digest of the settings of a specification that affect the result of its rehearsal on public data.

    It does not cover the title and other texts, [budget], [selection], [not_promised], and the settings that say who stated
    bounds or agreed to thresholds.
    """
    return hashlib.sha256(canonical_text(judged_tables(tables))).hexdigest()


def judged_tables(tables: Mapping[str, Any], *, whatever_it_costs: bool = True) -> dict[str, Any]:
    """Return the settings of a specification that affect the result of its rehearsal, as in `judged_digest`.

    Parameters
    ----------
    whatever_it_costs : whether [budget] and [selection] are omitted.
    """
    left_out = ("title", "description", "unit", *(("budget", "selection") if whatever_it_costs else ()))
    rest = {name: value for name, value in tables.items() if name not in left_out}
    acceptance = {name: value for name, value in tables["acceptance"].items() if name not in ("description", "not_promised")}
    criteria = acceptance["criteria"]
    acceptance["criteria"] = [{name: value for name, value in table.items() if name != "agreed"} for table in criteria]
    rest["columns"] = {
        column: {name: value for name, value in table.items() if name != "bounds_by"}
        for column, table in rest["columns"].items()
    }
    unit = {name: value for name, value in tables.get("unit", {}).items() if name not in ("name", "why")}
    return {**rest, "acceptance": acceptance, "unit": unit}


FORMAT: Literal[1] = 1


class ShortlistFile(SpecTable):
    """The content of shortlist.toml. Versions before 1.0.0 wrote no format number; their files have format 1."""

    format: Literal[1] = FORMAT
    title: str = ""
    data: RehearsedTable | None = None
    rehearsed: PlanTable | None = None
    proposal: PlanTable | None = None
    verdict: VerdictTable | None = None
    attacks: AttacksTable | None = None
    configurations: list[ShortlistTable] = Field(min_length=1)


def narrowed(spec: ReleaseSpec, path: str | Path) -> ReleaseSpec:
    """Return the specification restricted to the configurations on a shortlist.

    Rounds draw configurations uniformly from the shortlist. The shortlist was fixed beforehand on public data, so the
    charges stay the same (theory 2.3, what rounds may use).

    Raises
    ------
    SpecError : if the file cannot be read, contains an unknown configuration, or comes from a rehearsal with other columns,
        models or criteria; if the rehearsed tables were no better than independent columns, or lost the association of
        pairs of columns, and [not_promised] does not say so; if the result of an attack contradicts the claimed epsilon.
    """
    file = _read(path)
    narrow = replace(_drawn_from(spec, file.configurations, str(path)), attacks=file.attacks)
    mistakes = [] if file.verdict is None else [*file.verdict.mistakes(spec.not_promised, "the acceptance file")]
    if file.verdict is not None and file.verdict.judged != judged_digest(spec.tables):
        fault = "The columns, rules, models, criteria or thresholds have changed since the rehearsal"
        mistakes.append(f"{fault} (only the budget may change). Rehearse again, and release with the new shortlist")
    problems = [Problem(str(path), "verdict", mistake(text)) for text in mistakes]
    if file.attacks is not None and file.attacks.contradicts:
        message = "An attack was right more often than the claimed epsilon allows. Rehearse again. If this happens again, do "
        message += "not release data with this program (docs/audit.md, When it contradicts a claim)"
        problems.append(Problem(str(path), "attacks", message))
    if problems:
        raise SpecError(problems)
    return narrow


def narrowed_to(spec: ReleaseSpec, tables: Any, file: str) -> ReleaseSpec:
    return _drawn_from(spec, valid(ShortlistFile, {"configurations": tables}, file).configurations, file)


def _drawn_from(spec: ReleaseSpec, tables: Sequence[ShortlistTable], path: str) -> ReleaseSpec:
    index_of = _places(spec.space)
    indices: list[int] = []
    problems = []
    for number, table in enumerate(tables):
        described = {
            "transformation": table.transformation,
            "generator": _with_defaults(table.generator, GENERATORS, "family"),
            "projection": _with_defaults(table.projection, PROJECTIONS, "kind"),
        }
        index = _index(spec.space, index_of, described)
        if index is None:
            message = f"{spec.path} has no such configuration. If the file was changed after the rehearsal, rehearse again"
            problems.append(Problem(path, f"configurations[{number}]", message))
        elif index in indices:
            problems.append(Problem(path, f"configurations[{number}]", "The shortlist has this configuration twice"))
        else:
            indices.append(index)
    if problems:
        raise SpecError(problems)
    return replace(spec, space=replace(spec.space, shortlist=tuple(indices)))


def configuration_of(spec: ReleaseSpec, described: Mapping[str, Any]) -> Configuration | None:
    """Return the configuration with this published description, or None if no round could have drawn it."""
    try:
        index = _index(spec.space, _places(spec.space), described)
    except (AttributeError, LookupError, TypeError):  # not the tables of a configuration
        return None
    drawn_from = spec.space.shortlist
    if index is None or (drawn_from is not None and index not in drawn_from):
        return None
    return spec.space[index if drawn_from is None else drawn_from.index(index)]


def rehearsed_on(path: str | Path) -> RehearsedTable | None:
    """Return the size and the digests of the public table of a rehearsal, or None if the shortlist does not contain them.

    Raises SpecError if the file cannot be read.
    """
    return _read(path).data


def known_chances(spec: ReleaseSpec, path: str | Path) -> PlanTable | None:
    """Return the estimates of the rehearsal for the plan of this specification, or None if it did not try or propose this
    plan.

    Raises SpecError if the file cannot be read.
    """
    file = _read(path)
    return next((table for table in (file.rehearsed, file.proposal) if table is not None and table.is_of(spec)), None)


def cheaper_plan(spec: ReleaseSpec, path: str | Path) -> PlanTable | None:
    """Return the plan that the rehearsal proposed, if it costs less than the plan of this specification, or None.

    Raises SpecError if the file cannot be read.
    """
    proposal, total = _read(path).proposal, spec.plan.total
    if proposal is None or not proposal.is_about(spec):
        return None
    return proposal if proposal.epsilon + _ROUNDING < total.epsilon and proposal.delta <= total.delta else None


def unnamed_pairs(spec: ReleaseSpec, path: str | Path) -> tuple[str, ...]:
    """Return the pairs of columns whose association the rehearsal lost, and which [not_promised] does not list.

    The result is empty if other files were rehearsed. Raises SpecError if the file cannot be read.
    """
    verdict = _read(path).verdict
    same = verdict is not None and verdict.judged == judged_digest(spec.tables) and not spec.not_promised.dependence
    return verdict.unnamed(spec.not_promised) if verdict is not None and same else ()


def _read(path: str | Path) -> ShortlistFile:
    tables = read_toml(Path(path))
    if type(number := tables.get("format", FORMAT)) is int and number != FORMAT:
        raise SpecError.at(path, "format", of_another_format(number, (FORMAT,)).message)
    return valid(ShortlistFile, tables, str(path))


def _places(space: ConfigurationSpace) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
    generators = [item.model_dump(mode="json", exclude_none=True) for item in space.generators]
    projections = [item.model_dump(mode="json") for item in space.projections]
    choices = [transformation.choice for transformation in space.transformations]
    first, second, third = ({_key(item): i for i, item in enumerate(items)} for items in (choices, generators, projections))
    return first, second, third


def _index(
    space: ConfigurationSpace, index_of: tuple[dict[str, int], dict[str, int], dict[str, int]], described: Mapping[str, Any]
) -> int | None:
    parts = ("transformation", "generator", "projection")
    transformation, generator, projection = (
        positions.get(_key(described[part])) for positions, part in zip(index_of, parts, strict=True)
    )
    if transformation is None or generator is None or projection is None:
        return None
    return (transformation * len(space.generators) + generator) * len(space.projections) + projection


def _with_defaults(table: Mapping[str, Any], models: Mapping[str, type[BaseModel]], key: str) -> dict[str, Any]:
    model = models.get(str(table.get(key)))
    fields = model.model_fields if model else {}
    defaults = {name: field.default for name, field in fields.items() if not field.is_required() and field.default is not None}
    return {**defaults, **table}


def _key(item: Mapping[str, Any]) -> str:
    """Return a text that identifies settings, the same whether a number is written as 20, 20.0 or the decimal 20."""
    plain = {name: float(value) if isinstance(value, int | float | Decimal) else str(value) for name, value in item.items()}
    return json.dumps(plain, sort_keys=True)


def shortlist_text(
    title: str,
    configurations: Sequence[Mapping[str, Any]],
    data: RehearsedTable | None = None,
    rehearsed: PlanTable | None = None,
    proposal: PlanTable | None = None,
    verdict: VerdictTable | None = None,
    attacks: AttacksTable | None = None,
) -> str:
    lines = [
        "# Written by `synthrelease rehearse` on public data, for `synthrelease release --shortlist`. Configurations may be",
        "# removed by hand, before the release reads private data.",
        f"format = {FORMAT}",
        f"title = {_toml(title)}",
    ]
    if data is not None:
        lines.append(f"data = {_toml(data.model_dump())}  # the public file, which must not be released as private data")
    if verdict is not None:
        lines += [
            "# Associations of columns. `lost`: lost pairs that no criterion tests and no table measures. Other lost pairs",
            "# are only in the acceptance file. `release` refuses a lost pair that the acceptance file does not name.",
        ]
        lines.append(f"verdict = {_toml(verdict.model_dump(mode='json', exclude_none=True))}")
    if attacks is not None:
        lines += ["# Results of the attacks on public rows, for the card and SIGN.md of the release"]
        lines.append(f"attacks = {_toml(attacks.model_dump(mode='json', exclude_none=True))}")
    lines += _plan_lines("rehearsed", "the plan of the rehearsed configuration", rehearsed)
    lines += _plan_lines("proposal", "a cheaper plan: `synthrelease rehearse ... --adopt` writes it", proposal)
    for table in configurations:
        lines += ["", "[[configurations]]"] + [f"{key} = {_toml(value)}" for key, value in table.items()]
    return "\n".join(lines) + "\n"


def _plan_lines(name: str, remark: str, table: PlanTable | None) -> list[str]:
    if table is None:
        return []
    values = {key: value for key, value in table if value is not None and key != "lines"}
    lines = ["", f"[{name}]".ljust(14) + f"# {remark}", *(f"{key} = {_toml(value)}" for key, value in values.items())]
    return [*lines, f'lines = """\n{table.lines.rstrip()}\n"""'] if table.lines else lines


def _toml(value: Any) -> str:
    if isinstance(value, Fraction):
        return decimal_text(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_toml(key)} = {_toml(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(inner) for inner in value) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # TOML knows no surrogate pairs, and no raw DEL
