"""Write ask.html, a page that answers questions from the published noisy tables, in each language of the card.

The page computes its answers by the same rules as `estimate` (templates/answers.js), without a program or a network. Its
data depend only on release.json, measurements.json and the released rows, so the same release gives the same bytes. They
already contain an exact count of 0 for every cell that the plausibility rules exclude.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from math import isfinite
from typing import Any

import numpy as np
from markupsafe import Markup

from synthrelease.answers.averages import Sampling
from synthrelease.answers.limits import RISK, measured_times
from synthrelease.answers.models import answered_by_models, measured_questions
from synthrelease.answers.questions import Condition, Question, possible_cells, tells_values
from synthrelease.answers.stated import CONFIDENCE, open_bins
from synthrelease.answers.tables import MAX_CELLS, PublishedTables
from synthrelease.answers.words import INTERVAL
from synthrelease.bundle.card.numbers import FOLDER, environment, labelled
from synthrelease.bundle.estimates import with_tables
from synthrelease.criteria.facts import words
from synthrelease.data.counts import Counts
from synthrelease.data.marginals import added_up
from synthrelease.data.questions import split_question
from synthrelease.data.schema import PublishedColumn
from synthrelease.errors import InputError
from synthrelease.published import PublishedRelease
from synthrelease.published.base import number, six_digits
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.names import ask_name, has_ask_page, page_name
from synthrelease.published.table import ReleasedTable
from synthrelease.settings.card import CardTexts, direction

MOST_CELLS = 100_000
"""Largest number of cells of all noisy tables for which the page also shows counts of the released rows."""
_DIGITS = 12  # Significant digits of computed numbers in the data, few enough to be the same on every machine


def ask_files(document: ReleaseDocument, table: ReleasedTable, measured: bytes | None) -> dict[str, bytes]:
    """Return the pages ask.html in each language of the card, or an empty dict if noisy tables give no estimates.

    Parameters
    ----------
    measured : the content of measurements.json, or None if the release has no such file.

    Raises
    ------
    Unexpected : if synthrelease would not write such measurements.
    """
    names = {language: ask_name(document, language) for language in document.card.languages}
    if measured is None or not has_ask_page(document):
        return {}
    data = data_of(with_tables(document, measured), table.counts)
    return {name: _page(document, language, data, names) for language, name in names.items()}


def data_of(release: PublishedRelease, rows: Counts) -> dict[str, Any]:
    """Collect the data for the page ask.html: the noisy tables, the columns, and what is known about the number of rows.

    Parameters
    ----------
    rows : the released rows.
    """
    tables = PublishedTables(release)
    kept, n_cells = tables.kept, sum(table.values.size for table in tables.tables)
    names = [column.name for column in release.schema]
    listed = []
    for table in tables.tables:
        columns = [names.index(name) for name in table.columns]
        ordered = sorted(columns)
        of_rows = rows.marginal(ordered) if n_cells <= MOST_CELLS else None
        noises = np.unique(table.cells)
        part = {
            "columns": ordered,
            "noise": table.noise.name,
            "scale": _rounded(table.noise.scale),
            "variance": _rounded(table.noise.variance),
            "counts": added_up(table.values, columns, ordered).ravel().tolist(),
            "noises": int(noises[0]) if len(noises) == 1 else added_up(table.cells, columns, ordered).ravel().tolist(),
        }
        listed.append(part | ({} if of_rows is None else {"rows": of_rows.ravel().tolist()}))
    low, high = kept.limits(RISK * (1 - CONFIDENCE))
    return {
        "rows": release.n_rows,
        "confidence": CONFIDENCE,
        "risk": _rounded(kept.spare(CONFIDENCE) / (measured_times(release, None) or 1.0)),
        "kept": {
            "way": "few" if kept.few else kept.way,
            "drawn": kept.drawn,
            "number": kept.number,
            "most": kept.most,
            "scale": None if kept.scale is None else _rounded(kept.scale),
            "leftOut": _rounded(kept.left_out),
            "low": low,
            "high": high,
            "persons": kept.persons,
        },
        "members": [] if release.linked is None else list(release.linked.names),
        "weight": "" if release.design is None else release.design.weight or "",
        "population": _population(release, ""),
        "columns": [_column(release, column) for column in release.schema],
        "tables": listed,
        "measured": list(_measured(release)),
    }


def _measured(release: PublishedRelease) -> Iterator[dict[str, Any]]:
    """Yield the questions that were answered by their own measurements ([[models]]), with their answers.

    Each answer has intervals that hold one by one, and wider ones that all hold at once. Numbers have six digits, as in
    release.json.
    """
    place = {column.name: index for index, column in enumerate(release.schema)}
    for question, limits in () if release.models is None else measured_questions(release.models).items():
        asked = split_question(question)
        of_question = {
            "question": question,
            "kind": asked.kind,
            "column": place[asked.head],
            "on": asked.on,
            "to": place.get(asked.to),
            "by": place.get(asked.by),
            "where": asked.where,
            "groups": list(asked.groups),
            "limits": [[place[name], *ends] for name, ends in limits.items()],
        }
        try:
            alone, together = (
                answered_by_models(release, question, confidence=CONFIDENCE, together=of_all) for of_all in (False, True)
            )
        except InputError as error:
            yield of_question | {"refused": str(error), "reasons": [], "terms": []}
            continue
        if alone is None or together is None:
            continue
        terms = [
            {
                "name": term.name,
                "group": term.group,
                "unit": term.unit,
                "estimate": six_digits(term.estimate),
                "ends": [six_digits(getattr(term, name)) for name in INTERVAL],
                "together": [six_digits(getattr(wider, name)) for name in INTERVAL],
            }
            for term, wider in zip((*alone.terms, *alone.contrasts), (*together.terms, *together.contrasts), strict=True)
        ]
        yield of_question | {"reasons": list(alone.not_a_sample), "terms": terms}


def _column(release: PublishedRelease, column: PublishedColumn) -> dict[str, Any]:
    never = [rule.never for rule in release.rules if "raw" in rule.applies_to]
    of_column = {
        "name": column.name,
        "text": column.description,
        "unit": column.unit,
        "kind": column.kind,
        "ordered": column.ordered,
        "labels": list(column.labels),
        "present": column.present,
        "impossible": np.flatnonzero(~possible_cells((column,), release, never, MAX_CELLS)).tolist(),
    }
    if column.kind != "category":
        of_column |= {"lower": _finite(column.lower), "upper": _finite(column.upper)}
    if None not in column.numbers[: column.present]:
        of_column["numbers"] = _finite(float(value or 0) for value in column.numbers[: column.present])
        if not tells_values(column):
            least, most = column.value_limits
            of_column |= {"least": _finite(least), "most": _finite(most), "open": bool(open_bins(column))}
    population = _population(release, column.name)
    return of_column if population == _population(release, "") else of_column | {"population": population}


def _population(release: PublishedRelease, column: str) -> dict[str, Any]:
    """Return the factor of the sampling variance for questions about a column, and the reasons for no interval for the
    population.

    The factor is relative to a simple random sample from an infinite population.
    """
    every = Condition(text="", rule=None)
    survey = Sampling.of(Question(kind="share", text="", column=column, met=every, where=every), release)
    reasons = [*survey.reasons, *(["clusters"] if survey.groups else [])]  # the page has no intervals from groups of clusters
    return {"factor": _rounded(survey.factor), "reasons": reasons}


def _rounded(value: float) -> float | int:
    return number(float(f"{value:.{_DIGITS}g}"))


def _finite(values: Iterable[float]) -> list[float | int | None]:
    return [number(value) if isfinite(value) else None for value in map(float, values)]


@lru_cache(maxsize=8)
def _words(language: str) -> Mapping[str, str]:
    import tomllib

    return tomllib.loads((FOLDER.parent / "words" / f"{language}.ask.toml").read_text(encoding="utf-8"))


def _page(document: ReleaseDocument, language: str, data: Mapping[str, Any], names: Mapping[str, str]) -> bytes:
    """Render the page in a language. Its Content Security Policy allows only its own script and style."""
    texts = document.card.texts(language) or CardTexts()
    titles = [texts.columns.get(column.name) or words(column.name) for column in document.columns]
    script, style = "".join(_source(name) for name in ("answers.js", "ask.js")), _source("ask.css")
    contents = {**data, "titles": titles, "contact": document.card.contact, "words": dict(_words(language))}
    text = (
        environment()
        .get_template("ask.html")
        .render(
            language=language,
            direction=direction(language),
            title=labelled(texts.title or document.title),
            card=page_name(document, language),
            others=[(name, other, _words(other)["language"]) for other, name in names.items() if other != language],
            w=_words(language),
            measured=data["measured"],
            data=Markup(json_in_page(contents)),
            script=Markup(script),
            script_digest=policy_digest(script),
            style=Markup(style),
            style_digest=policy_digest(style),
        )
    )
    return text.encode("utf-8")


def json_in_page(contents: Mapping[str, Any]) -> str:
    """Encode the contents as JSON that cannot end the HTML element around it."""
    return json.dumps(contents, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def _source(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def policy_digest(source: str) -> str:
    """Return the digest of a script or style for a Content Security Policy."""
    return f"sha256-{b64encode(hashlib.sha256(source.encode('utf-8')).digest()).decode('ascii')}"
