"""Print plans, progress, tables and probabilities in the terminal."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from synthrelease.data.texts import alike, quoted_path, visible
from synthrelease.errors import Interrupted, OutputError, listing, percent
from synthrelease.privacy.charges import NOT_COVERED, Charge, decimal_text
from synthrelease.privacy.curves import epsilon_of
from synthrelease.privacy.selection import StoppingLaw, nothing_where

if TYPE_CHECKING:
    from rich.console import Console
    from rich.tree import Tree


def chance_of_nothing(spec: Any, shortlist: Path | None) -> Iterator[str]:
    """Yield sentences about the probability that no table is accepted, from the rehearsal or the distribution of the number
    of rounds.
    """
    from synthrelease.spec.shortlist import known_chances

    law, rehearsed = spec.selection_rule.law, None if shortlist is None else known_chances(spec, shortlist)
    if rehearsed is not None:
        chance = f"{percent(rehearsed.nothing)}{_at_most(rehearsed)}"
        yield (
            f"With probability {chance}, the search finds no acceptable table, and the budget is spent. This is an estimate "
            f"from the rehearsal on public data, where {percent(rehearsed.acceptance)} of the rounds were accepted."
        )
        return
    if shortlist is not None:
        yield (
            f"{shortlist} was made for another budget, other rounds or other criteria. So nobody has estimated how often this "
            "plan finds no acceptable table."
        )
    if law is None:
        return
    first, *further = nothing_where(law).items()
    chances = f"{percent(first[1])} if 1 in {first[0]} rounds is accepted"
    chances += "".join(f", {percent(chance)} if 1 in {rounds}" for rounds, chance in further)
    yield (
        "The search has one round. If this round is rejected, there is no table, and the budget is spent."
        if law.mean == 1
        else f"The search may find no table, and the budget is then spent. The probability is {chances}."
    )
    if shortlist is None and spec.options.scout is not None:
        yield "Without a public file, nobody can estimate the share of accepted rounds. `release` needs --unrehearsed."
    elif shortlist is None:
        yield "To estimate the share of accepted rounds, run `rehearse` on public data, then `plan --shortlist FILE`."


def cheaper_text(spec: Any, proposal: Any, config: Path, shortlist: Path) -> str:
    from synthrelease.spec.shortlist import known_chances

    rehearsed = known_chances(spec, shortlist)
    present = "" if rehearsed is None else f", and the current plan with {percent(rehearsed.nothing)}{_at_most(rehearsed)}"
    return (
        f"The rehearsal found a cheaper plan: epsilon = {decimal_text(proposal.epsilon)} in place of "
        f"{decimal_text(spec.plan.total.epsilon)}. On public data, the cheaper plan found no acceptable table with probability "
        f"{percent(proposal.nothing)}{_at_most(proposal)}{present}. This command continues with the current configuration. To "
        f"write the cheaper plan into the configuration: `synthrelease rehearse {quoted_path(config)} --data PUBLIC_FILE --out "
        f"{quoted_path(shortlist.parent)} --adopt`."
    )


def _at_most(plan: Any) -> str:
    return "" if plan.nothing_high is None else f" (at most {percent(plan.nothing_high)}, by a 95% interval)"


NOTHING_RELEASED = 3
STOPPED = 1


class _Terminal:
    """A console that loads the library rich only when the first line is printed.

    Strings are printed without markup, and hidden characters, which could reverse a line or disguise a name, as their
    codes.
    """

    def __init__(self, stderr: bool) -> None:
        self._stderr = stderr

    @cached_property
    def console(self) -> Console:
        from rich.console import Console
        from rich.segment import Segment

        class VisibleConsole(Console):
            def _render_buffer(self, buffer: Any) -> str:
                shown = (part if part.control else Segment(visible(part.text), part.style) for part in buffer)
                return super()._render_buffer(shown)

        return VisibleConsole(stderr=self._stderr, markup=False, emoji=False, highlight=False)

    def print(self, *texts: Any, **how: Any) -> None:
        self.console.print(*texts, **how)

    def bullets(self, texts: Iterable[str]) -> None:
        for text in texts:
            self.print(f"- {text}")

    def table(self, headings: Sequence[str], rows: Iterable[Iterable[Any]], **how: Any) -> None:
        from rich.table import Table

        table = Table(*headings, **how)
        for row in rows:
            table.add_row(*row)
        self.print(table)


screen, err = _Terminal(stderr=False), _Terminal(stderr=True)


def print_or_write(text: str, out: Path | None) -> None:
    """Print a text, or write it to a file, replacing an existing one. Raises OutputError if the file cannot be written."""
    if out is None:
        print(text, end="")
        return
    try:
        out.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise OutputError(f"Cannot write {out} ({error.strerror}).") from None
    err.print(f"Wrote {out!s}.")


@contextmanager
def progress_line(*, public: bool = False) -> Iterator[Any]:
    """Show a line with the current phase and the elapsed time, never the number of rounds.

    Without a terminal, print a line when a phase begins. Only work on public data prints more, because the number of lines
    would reveal how long a search took.

    Raises Interrupted if the user stops the command.
    """
    try:
        if not err.console.is_terminal:
            with _LogLines(reminds=public) as lines:
                yield lambda phase: lines.tell(phase, 0, 0)
            return
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()
        with Progress(*columns, console=err.console, transient=True) as bar:
            task = bar.add_task("starting", total=None)
            yield lambda phase: bar.update(task, description=phase)
    except KeyboardInterrupt:
        raise Interrupted() from None


@contextmanager
def progress_bars() -> Iterator[Any]:
    """Show progress bars with the remaining time, for work on public data. Without a terminal, print at most one line every
    10 seconds.
    """
    if not err.console.is_terminal:
        with _LogLines() as lines:
            yield lines.tell
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    phase_, rate_ = (TextColumn(f"{{task.{field}}}", markup=False) for field in ("description", "fields[rate]"))
    remaining = TextColumn("left"), TimeRemainingColumn()
    columns = phase_, BarColumn(), MofNCompleteColumn(), rate_, TimeElapsedColumn()
    with Progress(*columns, *remaining, console=err.console) as bars:
        tasks: dict[str, Any] = {}

        def progress(phase: str, done: int, total: int) -> None:
            if phase not in tasks:
                for earlier in bars.tasks:
                    if earlier.total is None:  # a phase without a count ends when the next phase begins
                        bars.update(earlier.id, total=1, completed=1)
                tasks[phase] = bars.add_task(phase, total=total or None, rate="")
            task = next(task for task in bars.tasks if task.id == tasks[phase])
            rate = f"{task.speed:.1f}/s" if task.speed else ""
            bars.update(tasks[phase], completed=done, total=total or None, rate=rate)

        yield progress


SECONDS_BETWEEN_LINES, SECONDS_BETWEEN_REMINDERS, SECONDS_BETWEEN_LOOKS = 10.0, 30.0, 1.0


class _LogLines:
    """A printer of progress for logs: a line when a phase begins, then at most one every 10 seconds with the remaining
    time.

    Parameters
    ----------
    reminds : whether a thread prints the phase and its elapsed time again after 30 seconds without a line.
    """

    def __init__(self, *, reminds: bool = True) -> None:
        self._phase, self._began, self._told = "", 0.0, 0.0
        self._ended, self._reminds = threading.Event(), reminds

    def __enter__(self) -> _LogLines:
        if self._reminds:
            threading.Thread(target=self._remind, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()

    def _remind(self) -> None:
        while not self._ended.wait(SECONDS_BETWEEN_LOOKS):
            time_now = time.monotonic()
            if self._phase and time_now - self._told >= SECONDS_BETWEEN_REMINDERS:
                self._told = time_now
                print(f"{self._phase}: {time_now - self._began:.0f} s so far", file=sys.stderr, flush=True)

    def tell(self, phase: str, done: int, total: int) -> None:
        time_now = time.monotonic()
        if phase != self._phase:
            self._phase, self._began, self._told = phase, time_now, time_now
            print(f"{phase} ..." if not total else f"{phase}: {done:,} of {total:,} done", file=sys.stderr, flush=True)
        elif 0 < done < total and time_now - self._told >= SECONDS_BETWEEN_LINES:
            self._told = time_now
            seconds = (time_now - self._began) / done * (total - done)
            remaining = f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
            print(f"{phase}: {done:,} of {total:,} done, about {remaining} left", file=sys.stderr, flush=True)


LARGE_DELTA = 1e-5
"""The largest delta without a warning. For most tables with n records, a larger delta is not small compared with 1/n."""


def print_plan(spec: Any, shortlist: Path | None = None) -> None:
    from synthrelease.spec.record import guarantee_in_words
    from synthrelease.spec.register import pieces_in_words

    total = spec.plan.total
    screen.print(charge_tree(spec.title, total))
    for text in chance_of_nothing(spec, shortlist):
        screen.print(text)
    for line in guarantee_in_words(spec.unit, total):
        screen.print(line)
    style = "yellow" if spec.rows.way == "exact" else None
    rows = ROWS_IN_WORDS[spec.rows.way].format(stated=spec.rows.stated, margin=spec.rows.margin)
    if spec.unit.key is not None:
        rows = rows.replace("number of rows in the file", "number of persons in the file")
    screen.print(rows, style=style)
    for line in [*refusals_in_words(spec), *said_in_words(spec), *alike_in_words(spec)]:
        screen.print(line)
    for text in pieces_in_words(spec.options.partition, spec.options.split):
        screen.print(text)
    screen.print(rounds_in_words(spec.selection_rule.law))
    if spec.generation_unit == "rho":
        alone = epsilon_of(spec.budget.generation, spec.budget.delta) if spec.budget.delta else None
        screen.print(
            f"generation = {decimal_text(spec.budget.generation)} is a rho, because some generators use zero-concentrated "
            "privacy (docs/accounting.md)" + (f". It costs epsilon {float(alone):.4g} by itself." if alone is not None else ".")
        )
    if total.delta:
        screen.print(
            "The ledger needs a limit on delta: `synthrelease ledger open FILE --dataset NAME --limit EPSILON "
            "--delta-limit 1e-8`."
        )
    if total.delta > LARGE_DELTA:
        screen.print("This delta is large. Choose a delta far below 1 / number of rows (docs/accounting.md).", style="yellow")


def charge_tree(title: str, total: Charge) -> Tree:
    from rich.text import Text
    from rich.tree import Tree

    tree = Tree(Text.assemble((title, "bold"), f": epsilon = {decimal_text(total.epsilon)}, delta = {float(total.delta):g}"))
    for part in total.parts:
        _grow(tree, part)
    return tree


def refusals(spec: Any) -> dict[str, list[str]]:
    """Return the columns with `missing = "error"` and with `outside = "error"`. One such value makes a release refuse the
    file.
    """
    columns = spec.schema.columns
    return {kind: [column.name for column in columns if getattr(column, kind) == "error"] for kind in ("missing", "outside")}


def refusals_in_words(spec: Any) -> list[str]:
    """Return a warning, if any, about what the setting "error" can reveal about a file."""
    sentences = [f'{kind} = "error" for {listing(names)}' for kind, names in refusals(spec).items() if names]
    warning = (
        f"Epsilon does not cover {'; '.join(sentences)}. Such a value in one record ends the run after the budget is spent. So "
        'a release reveals that no record has such a value. Use "drop", "bin" or "clip", which reveal nothing.'
    )
    return [warning] if sentences else []


def alike_in_words(spec: Any) -> list[str]:
    """Return a warning for each group of different categories whose names look the same."""
    groups = [(column, texts) for column in spec.schema.columns for texts in alike(column.values)]
    return [
        f"Different categories of {column.name!r} look the same: {' and '.join(map(ascii, texts))}. A row gets the category "
        "with its exact text. If the categories mean the same, list both texts under one label."
        for column, texts in groups
        if len({column.values[text] for text in texts}) > 1
    ]


def said_in_words(spec: Any) -> list[str]:
    """Return who stated the limits of a column, agreed to a threshold, or signed."""
    limits = [f"{column.name}: {column.bounds_by}" for column in spec.schema.columns if column.bounds_by]
    agreed = [f"{criterion.name}: {criterion.agreed.words}" for criterion in spec.criteria if criterion.agreed]
    sources = [f"Sources of the limits: {'; '.join(limits)}."] if limits else []
    return [*sources, *agreed, *([f"Signed by {' and '.join(spec.card.signed_by)}."] if spec.card.signed_by else [])]


def print_untried(spec: Any, shortlist: Path | None = None) -> None:
    """Warn that the configuration and its acceptance file were never tried on public data.

    Raises SpecError if the files have been changed since they were tried.
    """
    from synthrelease.spec.tried import NEVER, tried

    if not tried(spec, shortlist):
        screen.print(NEVER, style="yellow")


def accepts_untried(spec: Any) -> bool:
    """Ask in the terminal whether to use the files without a rehearsal. Without a terminal, return False."""
    from synthrelease.spec.tried import NEVER, leave

    if not (sys.stdin.isatty() and screen.console.is_terminal):
        return False
    screen.print(NEVER, style="yellow")
    accepted = typer.confirm("Use these files without a rehearsal? The program asks this question once for these files.")
    if accepted:
        leave(spec, "answer")
    return accepted


ROWS_IN_WORDS = {
    "whole": "Rows: the number of rows in the file is published. The specification excludes no row.",
    "counted": "Rows: the number of rows in the file is published. The number that passes the rules is estimated with noise. "
    "The release uses as many rows as the estimate minus {margin:,}, drawn at random.",
    "stated": "Rows: the number of rows in the file is published. The number that passes the rules stays secret. The release "
    "uses {stated:,} rows, drawn at random. If fewer rows pass, rows of a public pattern are added. The table becomes less "
    "accurate, but the guarantee stays the same.",
    "exact": "Rows: the number of rows that pass the rules is published exactly. People whose rows are excluded are not "
    f"protected: {NOT_COVERED}.",
}
"""Sentences on what is published about the number of rows, by the way in which the release determines this number."""


def rounds_in_words(law: StoppingLaw | None) -> str:
    if law is None:
        return "Rounds: as many as needed to accept a table. The guarantee does not cover a run that somebody stops."
    if law.mean == 1:
        return "Rounds: one round. Keep the duration of the run secret."
    return f"Rounds: {law.words}. Keep the number of rounds and the duration of the run secret."


def _stated(charge: Charge) -> str:
    if charge.renyi is not None:
        return f"Renyi {charge.renyi.text()}"
    return decimal_text(charge.epsilon) + (f", delta {float(charge.delta):.3g}" if charge.delta else "")


def _grow(tree: Tree, charge: Charge, because: str = "") -> None:
    """Add a charge and its parts to a tree, with `because` or the explanation of the charge in brackets."""
    from rich.text import Text

    reason = f" Reason: {charge.reason}" if charge.reason else ""
    branch = tree.add(Text.assemble(f"{_stated(charge)}  {charge.name}", (f" ({because or charge.explained})", "dim"), reason))
    for part in charge.parts:
        ratio = re.search(r"^K-norm.*, (\S+) of the standard", part.because)
        _grow(branch, part, f"{ratio[1]} times the standard deviation of separate noise" if ratio else "")
