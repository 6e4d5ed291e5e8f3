"""What somebody can do who has this program: edits of release.json, with everything that follows from it written anew."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from typing import Any

from synthrelease.bundle.document import interval_part
from synthrelease.bundle.limits import with_file_ends
from synthrelease.bundle.verify import verify_files
from synthrelease.bundle.write import _sealed, written
from synthrelease.published.base import Files
from synthrelease.published.charges import ChargePart, GuaranteePart
from synthrelease.published.document import FlavourPart, ReleaseDocument
from synthrelease.published.table import read_csv
from synthrelease.published.verify.alone import verify_alone
from synthrelease.published.verify.checks import Report
from synthrelease.spec.canonical import NAME
from synthrelease.spec.load import read_specification
from synthrelease.spec.release_spec import ReleaseSpec, stated_guarantee

Steps = tuple[str | int, ...]
Tables = dict[str, Any]
SEALS = ("SHA256SUMS", "SHA256SUMS.sig", "public-key.pem")


def looked_at(files: Mapping[str, bytes], edited: Mapping[str, Any], *, plan: bool = True) -> Report | None:
    """What `verify` says to an edited release.json, all other documents of which were written anew; None where it is none.

    What the forger writes anew is by construction what `verify` would write anew, so these checks say nothing, and the others
    of that part are made where nothing was found before.
    """
    try:
        content = ReleaseDocument.model_validate_json(json.dumps(edited)).dumped()
    except ValueError:
        return None
    if content == files["release.json"]:
        return None
    kept = {name: content for name, content in files.items() if name not in SEALS}
    forged = _sealed({**kept, "release.json": content}, None)
    report = verify_files(forged, plan=plan, documents=False)
    if problems(report) or not plan:
        return report
    whole = verify_files(forged)
    return replace(whole, checks=tuple(check for check in whole.checks if check.name not in ("documents", "statistical files")))


def resealed(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files with checksums that are right again."""
    return dict(_sealed({name: content for name, content in files.items() if name not in SEALS}, None))


def written_anew(files: Mapping[str, bytes], edited: Mapping[str, Any]) -> dict[str, bytes]:
    """The bundle of an edited release.json, with every document and all checksums as they follow from it.

    Where the table cannot be read with it, documents are as they were.
    """
    document = ReleaseDocument.model_validate_json(json.dumps(edited))
    kept = {name: content for name, content in files.items() if name not in SEALS} | {"release.json": document.dumped()}
    read = verify_alone(Files(_sealed(kept, None))).read
    if read is not None:
        kept |= written(document, read[2], {name: len(kept[name]) for name in document.files}, kept.get("measurements.json"))
    return dict(_sealed(kept, None))


def of_version(files: Mapping[str, bytes], version: str) -> dict[str, bytes]:
    """The bundle, run and written by another version according to its own words."""
    tables = json.loads(files["release.json"])
    return written_anew(files, tables | {"versions": tables["versions"] | {"synthrelease": version}, "written_by": version})


def problems(report: Report) -> list[str]:
    return [problem for check in report.checks for problem in check.problems]


# --- Single edits at random


def single_edits(document: Tables, seed: int) -> Iterator[tuple[Steps, Any]]:
    """Every place of release.json with other values of its kind: places first that were not edited yet, in a random order."""
    order = random.Random(seed)
    places = sorted(_places(document, ()), key=str)
    order.shuffle(places)
    variants = {place: [new for new in _variants(at(document, place)) if new != at(document, place)] for place in places}
    for chosen in variants.values():
        order.shuffle(chosen)
    for turn in range(max(map(len, variants.values()))):
        yield from ((place, chosen[turn]) for place, chosen in variants.items() if turn < len(chosen))


def edited(document: Tables, place: Steps, value: Any) -> Tables:
    found = deepcopy(document)
    at(found, place[:-1])[place[-1]] = value
    return found


def at(document: Any, place: Steps) -> Any:
    for step in place:
        document = document[step]
    return document


def named(document: Tables, place: Steps) -> str:
    """A place by its names, criteria by theirs."""
    return ".".join("N" if isinstance(step, int) else step for step in place)


def _places(value: Any, steps: Steps) -> Iterator[Steps]:
    if steps:
        yield steps
    if isinstance(value, dict | list):
        for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _places(inner, (*steps, step))


def _variants(value: Any) -> Iterator[Any]:
    """Other values: near ones, far ones, none; of lists and tables with one part less, more or elsewhere."""
    if isinstance(value, bool):
        yield from (not value, None)
    elif isinstance(value, int | float):
        yield from (value + 1, value - 1, value * 10, 0, -value, value * 1.01, value * (1 + 1e-9), value / 2, None)
    elif value is None:
        yield from (0, "x", 1.5, False)
    elif isinstance(value, str):
        yield from (f"{value}x", value[:-1], "", value.upper(), f"{value}\x1b[31m")
        if re.fullmatch(r"\d+(/\d+)?", value):
            number = Fraction(value)
            yield from map(str, (number / 2, number + 1, number * 10, Fraction(1, 1000)))
    elif isinstance(value, list):
        yield from (value[1:], value[:-1], value[::-1], value + value[-1:], [])
    elif isinstance(value, dict):
        yield from ({name: inner for name, inner in value.items() if name != left_out} for left_out in list(value)[:3])


# --- Forgeries on purpose


def with_budgets(files: Mapping[str, bytes], document: Tables, change: Callable[[ReleaseSpec], ReleaseSpec]) -> Tables:
    """release.json with the charges of another specification, and with all that follows from them."""
    spec = change(read_specification(files[NAME]))
    read = ReleaseDocument.model_validate_json(json.dumps(document))
    n = read.rows_worked_with
    guarantee = stated_guarantee(spec, n if read.domain.file_rows is None else read.domain.file_rows, n)
    return document | {
        "charges": ChargePart.of(spec.plan.total).model_dump(mode="json"),
        "guarantee": GuaranteePart.of(guarantee).model_dump(mode="json"),
        "flavour": FlavourPart.of(guarantee, read.domain, list(read.parts.values())).model_dump(mode="json"),
    }


def interval_of(document: Tables, name: str, files: Mapping[str, bytes] | None = None) -> Tables:
    """The interval that follows from the figure of a criterion as it now stands; with `files`, and their rows, its limit for
    the file, too."""
    read = ReleaseDocument.model_validate_json(json.dumps(document))
    interval = interval_part(next(part for part in read.criteria if part.name == name), read.n_rows, read.selection.bounds)
    assert interval is not None
    if files is not None:
        criteria = [one.model_copy(update={"interval": interval} if one.name == name else {}) for one in read.criteria]
        table = read_csv(files[read.csv], read.shape)
        whole = with_file_ends(read.model_copy(update={"criteria": criteria}), table.counts)
        return next(one["interval"] for one in whole.model_dump(mode="json")["criteria"] if one["name"] == name)
    return interval.model_dump(mode="json")


def without_criterion(files: Mapping[str, bytes], document: Tables, name: str) -> Tables:
    """A criterion taken away, with its charge and all sums."""

    def less(spec: ReleaseSpec) -> ReleaseSpec:
        return replace(spec, criteria=tuple(each for each in spec.criteria if each.name != name))

    found = with_budgets(files, document, less)
    return found | {"criteria": [each for each in document["criteria"] if each["name"] != name]}
