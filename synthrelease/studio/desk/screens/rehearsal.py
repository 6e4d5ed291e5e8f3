"""What the screen of the rehearsal shows, from the documents that a rehearsal leaves."""

from __future__ import annotations

from typing import Any

from synthrelease.errors import SynthreleaseError, percent
from synthrelease.privacy.charges import decimal_text
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.spec.shortlist import cheaper_plan
from synthrelease.studio.desk.files import Rehearsals, Rehearsed, Running
from synthrelease.studio.desk.strips import heat_map

AGAIN = 5
"""Seconds after which a page is loaded again while a rehearsal runs."""
MAPS = {"public": "The public file", "candidate": "A candidate of this draft", "independent": "Independent columns"}


def gathered(spec: ReleaseSpec, rehearsals: Rehearsals) -> dict[str, Any]:
    """Progress, results, and what can be adopted."""
    running, found = rehearsals.running(), rehearsals.found(spec)
    shown: dict[str, Any] = {
        "running": running,
        "progress": "" if running is None else progress_words(running),
        "share": _share(running),
        "data": rehearsals.data,
        "begun": rehearsals.folder(spec).is_dir(),
        "lines": rehearsals.last_lines(),
        "found": found,
        "refresh": AGAIN if running is not None else 0,
        "look": None,
        "cheaper": None,
    }
    if found is None:
        return shown
    document = found.document
    shown |= {"document": document, "words": document["words"], "look": document["look"], "cheaper": cheaper(spec, found)}
    shown["shortlisted"] = [each for each in document.get("configurations", []) if each.get("shortlisted")]
    if document["look"] is not None:
        shown |= _of_look(document["look"])
    return shown


def cheaper(spec: ReleaseSpec, found: Rehearsed | None) -> dict[str, Any] | None:
    """The plan that a rehearsal of these files confirmed, where it costs less; None where there is none."""
    shortlist = None if found is None else found.folder / "shortlist.toml"
    try:
        plan = cheaper_plan(spec, shortlist) if shortlist is not None and shortlist.is_file() else None
    except SynthreleaseError:
        plan = None
    if plan is None or plan.nothing_high is None:
        return None
    return {"epsilon": decimal_text(plan.epsilon), "nothing": percent(plan.nothing), "lines": plan.lines}


def progress_words(running: Running) -> str:
    """How far a rehearsal is."""
    known = running.standing
    if known is None or not known.phase:
        return "It reads the public file."
    counted = f": {known.done} of {known.total}" if known.total else ""
    return f"Now: {known.phase}{counted}. {known.attempts} attempts are kept so far."


def _share(running: Running | None) -> int | None:
    known = None if running is None else running.standing
    return None if known is None or not known.total else round(100 * known.done / known.total)


def _of_look(look: dict[str, Any]) -> dict[str, Any]:
    pairs, rows = look["pair_map"], look["rows"]
    names = pairs["columns"]
    return {
        "maps": [
            (title, heat_map(names, pairs[name], pairs["unseen"] if name == "public" else (), title))
            for name, title in MAPS.items()
            if pairs[name]
        ],
        "strongest": _strongest(pairs),
        "names": names,
        "rows": [
            (name, [row[place] for row in rows["public"]], [row[place] for row in rows["candidate"]])
            for place, name in enumerate(rows["columns"])
        ],
        "errors": [each for each in look["criteria"] if each["largest_error"]],
    }


def _strongest(pairs: dict[str, Any]) -> list[dict[str, Any]]:
    """The ten pairs with the strongest associations, for those who cannot see the map."""
    names, unseen = pairs["columns"], {tuple(pair) for pair in pairs["unseen"]}
    places = [(first, second) for first in range(len(names)) for second in range(first + 1, len(names))]
    order = sorted(range(len(places)), key=lambda place: -pairs["public"][place])[:10]
    return [
        {
            "first": names[places[place][0]],
            "second": names[places[place][1]],
            "public": pairs["public"][place],
            "candidate": pairs["candidate"][place] if pairs["candidate"] else None,
            "independent": pairs["independent"][place],
            "unseen": places[place] in unseen,
        }
        for place in order
    ]
