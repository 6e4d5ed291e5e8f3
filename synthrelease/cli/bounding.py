"""bound: queries on a published release. Reads nothing private, spends nothing."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from synthrelease.cli.terminal import out as terminal
from synthrelease.errors import InputError

if TYPE_CHECKING:
    from synthrelease.answers.bounds import Bound
    from synthrelease.answers.words import Estimate
    from synthrelease.published import PublishedRelease
    from synthrelease.settings.questions import QuestionTable


def bound(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a release.")],
    query: Annotated[
        str,
        typer.Argument(
            metavar="QUERY", help="A condition, for example \"age >= 35 and sex == 'F'\", or a question.", show_default=False
        ),
    ] = "",
    given: Annotated[str, typer.Option(metavar="CONDITION", help="Ask for a share among the rows that meet this.")] = "",
    mean: Annotated[str | None, typer.Option(metavar="COLUMN", help="Ask for the mean of this column.")] = None,
    minus: Annotated[
        str | None, typer.Option(metavar="QUERY", help="Ask for the difference to this condition's answer.")
    ] = None,
    confidence: Annotated[float, typer.Option(help="Of all bounds together.")] = 0.95,
    acceptance: Annotated[
        float | None, typer.Option(metavar="P", help="Your word that a round is accepted with at least this probability.")
    ] = None,
    intended: Annotated[
        bool, typer.Option("--intended", help="Say of every question that the release is meant to answer what is stated.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of text.")] = False,
) -> None:
    """Answer a query from a release, and bound the answer of the file: of those of its rows that the rules keep.

    The bound follows from the released figures alone and holds for all queries together (docs/estimates.md). QUERY is written
    like a plausibility rule, with limits between the released bins. It asks for the number of rows; with --given for a share,
    with --mean for a mean. Or QUERY is a question as `synthrelease estimate` takes it: "share weight < 2500: age >= 35
    against < 35". Where noisy tables are published that answer it, the estimate stands beside the bound.
    """
    from synthrelease.answers.bounds import bound as ask
    from synthrelease.answers.stated import verdict
    from synthrelease.published import load
    from synthrelease.settings.questions import QuestionTable

    if intended:
        _intended(folder, as_json)
        return
    release = load(folder)
    found = ask(release, query, given=given, mean_of=mean, minus=minus, confidence=confidence, acceptance=acceptance)
    # as it was asked, of any length: it has just been read
    asked = QuestionTable.model_construct(query=query, given=given, mean=mean, minus=minus)
    said, estimated = verdict(release, asked), _estimated(release, asked, confidence)
    if as_json:
        beside = None if estimated is None else [asdict(term) for term in (*estimated.terms, *estimated.contrasts)]
        print(json.dumps(_plain(found) | {"stated": said.word, "because": said.because, "estimated": beside}, indent=2))
    else:
        terminal.print(str(found), highlight=False)
        if estimated is not None:
            terminal.print(
                f"\nBeside it, from noisy tables (synthrelease estimate): {estimated.short}\n", highlight=False, soft_wrap=True
            )
        terminal.print(f"Stated: {said.word} ({said.because}).", highlight=False)


def _estimated(release: PublishedRelease, asked: QuestionTable, confidence: float) -> Estimate | None:
    """The same question, estimated; None where no noisy table answers it."""
    from synthrelease.answers.stated import in_words

    words = in_words(asked)
    if release.measurements is None or not words:
        return None
    from synthrelease.answers.estimates import estimate

    try:
        return estimate(release, words, confidence=confidence)
    except InputError:
        return None


def _intended(folder: Path, as_json: bool) -> None:
    """What is stated about every question of the release's own list."""
    from synthrelease.answers.stated import question, verdict
    from synthrelease.published import load

    release = load(folder)
    found = [(question(asked), verdict(release, asked)) for asked in release.intended]
    if as_json:
        print(
            json.dumps(
                [
                    {"question": asked, "stated": said.word, "because": said.because, "estimated": said.estimated or None}
                    for asked, said in found
                ],
                indent=2,
            )
        )
        return
    for asked, said in found:
        more = f"; estimate: {said.estimated}" if said.estimated else ""
        terminal.print(f"{asked}: {said.word} ({said.because}){more}", highlight=False)
    if not found:
        terminal.print("The release names no intended queries.")


def _plain(found: Bound) -> dict[str, Any]:
    """The figures of a bound for programs; a limit that says nothing is null."""
    return {
        "question": found.question,
        "kind": found.kind,
        "answer": found.answer,
        "low": found.low,
        "high": found.high,
        "unit": found.unit,
        "confidence": found.confidence,
        "acceptance": found.acceptance,
        "n_rows": found.n_rows,
        "shares": list(found.shares) if found.kind == "count" else None,
        "binned": None if found.binned_low is None else [found.binned_low, found.binned_high],
        "about": found.about,
        "measured": found.measured or None,
        "ratios": [asdict(ratio) for ratio in found.ratios],
        "limits": {limit.score.name: limit.limit if limit.limit < float("inf") else None for limit in found.limits},
    }
