"""Every exception that synthrelease raises on purpose.

No message ever holds a private value: messages name columns, rules, files and places, never the content of a cell
(docs/architecture.md, "Failures"). The exit codes are what the command line returns for each.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any


class SynthreleaseError(Exception):
    """Base of all errors that are meant for the user; the command line prints the message and no traceback.

    An error that always has the same message has it as `words`.
    """

    exit_code = 2
    words = ""

    def __str__(self) -> str:
        return super().__str__() or self.words


MAX_PROBLEMS = 30
"""Mistakes that one message lists."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One mistake in a specification: where it is, what was expected, what was found, and perhaps the name meant."""

    file: str
    path: str
    expected: str
    found: str
    suggestion: str | None = None

    def __str__(self) -> str:
        text = f"{self.file}: {cut(self.path, 200) or '(top level)'}: expected {cut(self.expected)}; found {cut(self.found)}"
        return f"{text}. Did you mean {self.suggestion!r}?" if self.suggestion else f"{text}."


class Unexpected(ValueError):
    """A mistake as a value, where it is found: what was expected, what was found, and perhaps the name meant.

    Whoever knows the file makes a `Problem` of it. pydantic, inside of whose validators it is raised, keeps it as it is.

    Attributes
    ----------
    found : None where it is the whole value that was looked at, which the caller can show.
    place : inside of what was looked at; empty where it is the whole.
    """

    def __init__(self, expected: str, found: str | None = None, suggestion: str | None = None, *, place: str = ""):
        self.expected, self.found, self.suggestion, self.place = expected, found, suggestion, place
        text = f"expected {expected}" if found is None else f"expected {expected}, found {found}"
        super().__init__(f"{place}: {text}" if place else text)


def of_another_format(found: int, reads: Sequence[int], writer: str = "") -> Unexpected:
    """Return what is said of a document of a format that is not read here: which it has, and which program reads it.

    Parameters
    ----------
    reads : the numbers that are read here, the one that is written first.
    writer : the version that wrote it, where the document says so.
    """
    program = f"synthrelease {cut(writer, 40)!r}, which wrote it," if writer else "the version of synthrelease that wrote it"
    numbers = " or ".join(map(str, reads))
    return Unexpected(numbers, f"{found}: {program} reads it, this version reads {numbers}", place="format")


class SpecError(SynthreleaseError):
    """The configuration or acceptance file cannot be used. Carries all the problems that were found."""

    def __init__(self, problems: Iterable[Problem]):
        self.problems = tuple(problems)
        lines = [str(problem) for problem in self.problems[:MAX_PROBLEMS]]
        more = ["There are more mistakes; they are shown when these are corrected."] if len(self.problems) > len(lines) else []
        super().__init__("\n".join(lines + more))

    @classmethod
    def at(cls, file: object, path: str, expected: str, found: str) -> SpecError:
        """Return the error for one mistake, at a TOML path of a file."""
        return cls([Problem(file=str(file), path=path, expected=expected, found=found)])

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.problems,)


class InputError(SynthreleaseError):
    """The private file cannot be read as the specification says. Holds column names and row positions, no values."""


class OutputError(SynthreleaseError):
    """The output folder cannot be written, or exists already."""


class ResourceError(SynthreleaseError):
    """The run does not fit on this machine. Raised before anything is spent."""


class BudgetError(SynthreleaseError):
    """A charge that was not planned, or a plan above the limit. Raised before a private count is read."""

    exit_code = 4


class PrivateFailure(SynthreleaseError):
    """Code that was reading private counts failed.

    Which input makes such code fail may itself depend on a person's record, so there is one message for all causes,
    the whole planned budget counts as spent and nothing is published (theory 2.7, failures).
    """

    exit_code = 1

    words = (
        "The run was stopped while private data were in use. The cause is not shown, because it could depend on the data. The "
        "whole planned privacy budget counts as spent and nothing was published. Rehearse the same configuration on public "
        "data of the same layout to find the cause."
    )


class PublicFailure(SynthreleaseError):
    """Code of a release failed on public data: in a draft, a rehearsal or a comparison. Nothing is spent there."""

    exit_code = 1

    words = (
        "A computation on the public file failed, because of a mistake in the program. No private data were read and no budget "
        "was spent. Please report it, with the command. Fewer columns or wider bins may avoid it."
    )


@contextmanager
def on_public_data() -> Iterator[None]:
    """Run the code of a release on public data alone: its failure costs nothing, and says so."""
    try:
        yield
        return
    except PrivateFailure:
        pass  # raised below, so that no frame or cause is attached
    raise PublicFailure()


class InternalError(SynthreleaseError):
    """Code outside private code failed after the budget was reserved: a mistake in the program or the machine.

    In a round that is after the noise: type and place of the failure are functions of noisy, hence public, values, and to the
    selection theorem an output like an accepted round (`selection`). The message of the failure is left out: it might quote
    what a mistake let through.
    """

    exit_code = 1

    def __init__(self, failure: str):
        self.failure = failure
        super().__init__(
            f"synthrelease stopped because of a mistake in the program or the machine: {failure}. The message is not shown, "
            "because it could hold private values. The whole planned privacy budget counts as spent. Rehearse the same "
            "configuration on public data of the same layout to find the cause."
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.failure,)


class Interrupted(SynthreleaseError):
    """The user stopped the run by hand."""

    exit_code = 1

    words = "Stopped by hand. If private data had been read, the whole planned budget counts as spent."


class OtherRelease(SynthreleaseError):
    """A bundle that was not made by the configuration at hand."""


class VerificationFailed(SynthreleaseError):
    """A published bundle in which something does not fit together."""

    exit_code = 5


class RejectedRound(Exception):
    """A round ended without a candidate for a reason that is a function of noisy values (theory 2.7, failures)."""


@contextmanager
def rejecting(*kinds: type[Exception], because: str) -> Iterator[None]:
    """Make a rejected round of each of these errors in post-processing, which are the noise's doing.

    Any other error ends the run (`InternalError`): one that every round meets would spend the budget on rejected rounds alone.
    """
    try:
        yield
        return
    except kinds:
        pass  # raised below, so that no frame or cause is attached
    raise RejectedRound(because)


def failure_of(error: BaseException) -> str:
    """Type and place of an error, never its message: the line of the innermost frame of this package."""
    return f"{type(error).__name__} at {place_of(error.__traceback__)}"


def place_of(trace: TracebackType | None) -> str:
    """File and line of synthrelease where an error passed last."""
    package, found = Path(__file__).parent, "the start of the program"
    while trace is not None:
        path = Path(trace.tb_frame.f_code.co_filename)
        if package in path.parents:
            found = f"{path.relative_to(package.parent).as_posix()}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found


def cut(text: str, longest: int = 600) -> str:
    """Return a text for a message: as it is, or its beginning."""
    return text if len(text) <= longest else text[: longest - 3] + "..."


def closest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that `name` most probably stands for, or None. Comparing long or very many names would take too
    long.
    """
    candidates = [other for other in islice(known, 1000) if len(other) <= 100]
    matches: Sequence[str] = difflib.get_close_matches(name, candidates, n=1, cutoff=0.6) if len(name) <= 100 else ()
    return matches[0] if matches else None


def percent(value: float) -> str:
    """Return a share in per cent, with a decimal where it is small, or nearly 1: what is not all is not 100%.

    Examples
    --------
    >>> [percent(share) for share in (0, 0.0004, 0.0123, 0.456, 0.996, 0.9996, 1)]
    ['0%', 'under 0.1%', '1.2%', '46%', '99.6%', 'over 99.9%', '100%']
    """
    if 0.995 <= value < 1:
        return f"{value:.1%}" if value < 0.9995 else "over 99.9%"
    return f"{value:.0%}" if value >= 0.1 or value == 0 else f"{value:.1%}" if value >= 0.001 else "under 0.1%"


def so_many(count: int, one: str, more: str = "") -> str:
    """Return a number with what is counted: "1 rule", "2 rules".

    Examples
    --------
    >>> [so_many(1, "rule"), so_many(2, "rule"), so_many(1, "criterion", "criteria"), so_many(0, "criterion", "criteria")]
    ['1 rule', '2 rules', '1 criterion', '0 criteria']
    """
    return f"{count} {one if count == 1 else more or f'{one}s'}"


def listing(names: Iterable[str], limit: int = 12) -> str:
    """Return names for a message: quoted, comma separated, cut after `limit`."""
    names = list(names)
    shown = ", ".join(repr(cut(name, 100)) for name in names[:limit])
    return shown + (f" and {len(names) - limit} more" if len(names) > limit else "")
