"""What two people sign: the claim, what is missing, the digest that can be published before, and the command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from synthrelease.bundle.write import commitment
from synthrelease.data.texts import program, quoted_path
from synthrelease.errors import SpecError, SynthreleaseError
from synthrelease.privacy.charges import decimal_text
from synthrelease.spec.record import guarantee_in_words
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.spec.shortlist import narrowed
from synthrelease.spec.tried import Changed, standing
from synthrelease.studio.desk.files import CARD_LISTS, CARD_TEXTS, Rehearsals, Rehearsed

LABELS = {
    "description": "What one row is, and where the data come from",
    "card:contact": "How to reach the publisher",
    "card:licence": "Licence, such as CC-BY-4.0",
    "card:licence_url": "Where the licence can be read",
    "card:region": "Whom or what place the data are about",
    "card:url": "Where the release can be had",
    "card:version": "Version of this release",
    "card:justification": "How epsilon, thresholds and bins were chosen",
    "card:tuning": "What was done with data before the release",
    "card:access": "Who can reach the private data",
    "card:organisation": "Who publishes",
    "card:source": "Where the original records come from",
    "card:purpose": "Why the data are released",
    "card:funding": "With whose means",
    "card:ethics": "Review and consent",
    "card:maintenance": "Updates and errata",
    "card:feedback": "What readers should tell the publisher",
    "card:uses": "What the data are meant for, one a line",
    "card:unsuitable": "What the data are not fit for, one a line",
    "card:registry_authors": "Who answers for the entry in registries, one a line",
}


def gathered(spec: ReleaseSpec, path: Path, rehearsals: Rehearsals, ledger: Path | None) -> dict[str, Any]:
    """What two people sign: the claim, what is missing, the digest that can be published before, and the command.

    The commands work in the folder in which the desk was started: `path` and `ledger` are as they were typed there.
    """
    found: dict[str, Any] = {"words": guarantee_in_words(spec.unit, spec.plan.total), "digest": "", "open": []}
    unstated = spec.unstated
    for check in (
        spec.check_unit_answered,
        spec.check_can_fail,
        spec.check_limit,
    ):
        try:
            check()
        except SynthreleaseError as error:
            found["open"].append(str(error))
    found["open"] += _untried(spec)
    if not found["open"]:
        found["digest"] = commitment(spec).digest
    rehearsed = rehearsals.found(spec)
    listed, refused = _shortlist(spec, rehearsed)
    card, config = spec.card, quoted_path(path)
    charged = f"--ledger {'LEDGER' if ledger is None else quoted_path(ledger)}"
    private = "--data PRIVATE" if spec.schema.linked is None else "--data PRIVATE --members PRIVATE_MEMBERS"
    own = {name: getattr(card, name) for name in CARD_TEXTS} | {
        name: "\n".join(getattr(card, name)) for name in CARD_LISTS if name != "signed_by"
    }
    fields = [("description", spec.description.strip()), *((f"card:{name}", text) for name, text in own.items())]
    missing = {each.replace("card.", "card:", 1) for each in unstated}
    return found | {
        "epsilon": decimal_text(spec.plan.total.epsilon),
        "delta": f"{float(spec.plan.total.delta):g}",
        "commit": f"{program()} commit {config} --out commitment.json",
        "command": f"{program()} release {config} {private} --out FOLDER {charged}{listed}",
        "refused": refused,
        "warnings": rehearsed.document["words"]["warnings"] if rehearsed is not None and rehearsed.stands else [],
        "rehearsed": rehearsed,
        "gaps": [each for each in fields if each[0] in missing],
        "stated": [each for each in fields if each[0] not in missing],
        "others": [each for each in unstated if each.replace("card.", "card:", 1) not in dict(fields)],
        "labels": LABELS,
        "lists": {f"card:{name}" for name in CARD_LISTS},
        "program": card.program,
        "signed": (*card.signed_by, "", "")[:2],
    }


def _untried(spec: ReleaseSpec) -> list[str]:
    """What was changed since the two files were tried, in the words of a page: the desk has no options to say."""
    try:
        found = standing(spec)
    except SpecError as error:
        return [f"{each.file}: expected {each.expected}. Run a rehearsal, which writes it anew." for each in error.problems]
    if not isinstance(found, Changed):
        return []
    return [f"The two files were changed since {found.by}: {found.parts}. Run a rehearsal of the files as they are now."]


def _shortlist(spec: ReleaseSpec, rehearsed: Rehearsed | None) -> tuple[str, str]:
    """The option that names the shortlist of a rehearsal of these files, and why `release` would refuse it."""
    path = None if rehearsed is None or not rehearsed.stands else rehearsed.folder / "shortlist.toml"
    if path is None or not path.is_file():
        return "", ""
    try:
        narrowed(spec, path)
    except SpecError as error:
        return "", "\n".join(f"Expected {each.expected}; found {each.found}." for each in error.problems)
    return f" --shortlist {quoted_path(path)}", ""
