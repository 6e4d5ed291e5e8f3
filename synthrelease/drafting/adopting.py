"""Writing what a rehearsal proposes into the configuration: the generation budget and the law of the number of rounds.

Both are chosen on public data, so they are fixed before any private file is read (theory 2b, price of a law).
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

from synthrelease.drafting.edited import Edit, changed, loaded_changed, replace_files
from synthrelease.drafting.toml_text import toml
from synthrelease.errors import OutputError
from synthrelease.privacy.charges import Charge, decimal_text
from synthrelease.privacy.selection import FiniteLaw
from synthrelease.rehearsal.proposal import Offer
from synthrelease.rehearsal.proposal_words import rounds_text
from synthrelease.rehearsal.proposing import with_law
from synthrelease.rehearsal.rehearse import Rehearsal
from synthrelease.settings.mistakes import validated
from synthrelease.settings.reading import read_configuration, read_toml
from synthrelease.sources.paths import checked_path
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.spec.shortlist import ShortlistFile, cheaper_plan
from synthrelease.spec.tried import leave, rows_tried

OF_OTHER_LAWS = ("stop_probability", "shape")
"""Settings of [selection] that a hidden number of rounds takes the place of."""


@dataclass(frozen=True, kw_only=True)
class Adopted:
    """What was written.

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


def why_not(found: Rehearsal) -> str:
    """Why nothing of a rehearsal can be adopted, in a sentence; empty where something can."""
    proposal = found.proposal
    if not found.complete:
        return "the rehearsal is not complete. The same command goes on"
    if proposal is None or proposal.chosen is None or proposal.chosen.total is None:
        return "it proposes no number of rounds"
    if proposal.chosen.total >= found.spec.plan.total.epsilon:
        return "the specification costs no more than what the rehearsal found"
    if proposal.judgement is None:
        return "what it proposes was not confirmed by fresh attempts. The same command goes on"
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
    before = path.read_bytes()
    if load_spec(path).digest != spec.digest:
        raise OutputError(f"{path}: was changed since it was rehearsed. Nothing was adopted: rehearse it as it is now.")
    after = changed(path, before, list(_edits(path, chosen)))
    loaded = loaded_changed(path, after)
    if loaded.plan.total.epsilon != chosen.total:
        raise OutputError(f"{path}: the lines cost something else than what was rehearsed. Nothing was adopted.")
    loaded.plan.check_limit(loaded.limit)
    rows = rows_tried(spec)
    replace_files({path: (before, after)})
    leave(loaded, "rehearsal", rows)
    given = read_configuration(path, before).tables.get("selection", {})
    instead = [f"{name} = {toml(given[name])}" for name in OF_OTHER_LAWS if name in given]
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
    """The same for the plan that the shortlist of a rehearsal proposes, where it costs less than the configuration.

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
    law = FiniteLaw(atoms=tuple((int(number), Fraction(share)) for number, share in rounds.items()))
    changed_spec = with_law(spec, proposal.generation, law)
    chosen = Offer(generation=proposal.generation, chances=(), law=law, total=changed_spec.plan.total.epsilon)
    return adopt(config, spec, chosen)


def _rounds(chosen: Offer) -> str:
    return rounds_text(chosen.law) if chosen.law is not None else "{}"


def _edits(path: Path, chosen: Offer) -> Iterable[Edit]:
    """The changes; a table that another configuration hands down is written out, since it is taken whole or not at all."""
    own, file = read_toml(path), read_configuration(path)
    remark = "adopted from a rehearsal on public data"
    new = {
        "budget": {"generation": decimal_text(chosen.generation)},
        "selection": {"mode": toml("hidden_number"), "rounds": _rounds(chosen)},
    }
    for name, values in new.items():
        handed_down = {} if name in own else file.tables.get(name, {})
        for key, value in handed_down.items():
            if key not in values and key not in OF_OTHER_LAWS:
                yield Edit(path=(name, key), toml=toml(value))
        for key, value in values.items():
            yield Edit(path=(name, key), toml=value, remark=remark if key in ("generation", "rounds") else "")
    for key in OF_OTHER_LAWS:
        if key in own.get("selection", {}):
            yield Edit(path=("selection", key))


def adopted_before(spec: ReleaseSpec, out: Path) -> bool:
    """Whether the rehearsal in this folder was of the specification before its proposal was adopted."""
    path = out / "shortlist.toml"
    if not path.is_file():
        return False
    file = validated(ShortlistFile, read_toml(path), str(path))
    if isinstance(file, list) or file.proposal is None or file.rehearsed is None:
        return False
    return file.proposal.is_of(spec) and not file.rehearsed.is_of(spec)
