"""Define the exceptions of synthrelease, and format their messages.

Messages never contain private values. They may name columns, rules, files and row numbers, but never show the content of a cell
(docs/architecture.md, "Failures").
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
    """Base class of all errors that are shown to the user, without a traceback.

    If all errors of a class have the same message, it is the class attribute `words`.
    """

    exit_code = 2
    words = ""

    def __str__(self) -> str:
        return super().__str__() or self.words


MAX_PROBLEMS = 30
"""The maximum number of mistakes that one message lists."""


def mistake(text: str, found: str | None = None) -> str:
    """Return an error message without a full stop at the end. Long texts are shortened; long sentences lose their middle.

    Parameters
    ----------
    text : sentences or, if `found` is given, a noun phrase for the expected value.
    found : the wrong value, or None.

    Examples
    --------
    >>> mistake("The table has no column 'age'")
    "The table has no column 'age'"
    >>> mistake("a number of at least 0", "-1")
    'expected a number of at least 0, found -1'
    """
    if found is not None:
        return f"expected {cut(text)}, found {cut(found)}"
    text = text.rstrip(".")
    return text if len(text) <= 1200 else cut(text) + text[-600:]


@dataclass(frozen=True)
class Problem:
    """One mistake in a specification: the file, the TOML path ("" for the whole file), the message, and the name that the user
    probably meant."""

    file: str
    path: str
    message: str
    suggestion: str | None = None

    def __str__(self) -> str:
        where = f"{self.file}: {cut(self.path, 200)}" if self.path else self.file
        return f"{where}: {_ended(self.message)}{_meant(self.suggestion)}"

    @property
    def sentence(self) -> str:
        """Return the message as a sentence, without the file and the path."""
        return _ended(f"{self.message[0].upper()}{self.message[1:]}")


def _ended(text: str) -> str:
    return text if text.endswith("?") else f"{text}."


def _meant(suggestion: str | None) -> str:
    return f" Did you mean {suggestion!r}?" if suggestion else ""


class Unexpected(ValueError):
    """A mistake that is raised before its file is known. Callers that know the file convert it to a `Problem`.

    Parameters
    ----------
    text, found : the parameters of `mistake`, which formats the message.
    place : the TOML path of the wrong part within the checked value, or "" for the whole value.
    """

    def __init__(self, text: str, found: str | None = None, suggestion: str | None = None, *, place: str = ""):
        self.message, self.suggestion, self.place = mistake(text, found), suggestion, place
        super().__init__(f"{place}: {self.message}" if place else self.message)

    def about(self, value: str) -> str:
        """Return the message for the checked value, which `UnexpectedValue` quotes."""
        return self.message


class UnexpectedValue(Unexpected):
    """A mistake that concerns the whole checked value, which `about` adds to the message, such as "expected a number above
    0"."""

    def __init__(self, expected: str):
        super().__init__(f"expected {expected}")
        self.expected = expected

    def about(self, value: str) -> str:
        return mistake(self.expected, value)


def of_another_format(found: int, reads: Sequence[int], writer: str = "") -> Unexpected:
    """Return the error for a document whose format this version cannot read.

    Parameters
    ----------
    found : the format number of the document.
    reads : the format numbers that this version can read.
    writer : the program version that wrote the document, or "" if unknown.
    """
    program = f"synthrelease {cut(writer, 40)!r}, which wrote it" if writer else "the version of synthrelease that wrote it"
    numbers = " or ".join(map(str, reads))
    return Unexpected(
        f"This version reads format {numbers}, and the file has format {found}. Read the file with {program}", place="format"
    )


class SpecError(SynthreleaseError):
    """The configuration or the acceptance file contains mistakes, all of which are in `problems`."""

    def __init__(self, problems: Iterable[Problem]):
        self.problems = tuple(problems)
        lines = [str(problem) for problem in self.problems[:MAX_PROBLEMS]]
        more = ["There are more mistakes. Correct those above to see the others."] if len(self.problems) > len(lines) else []
        super().__init__("\n".join(lines + more))

    @classmethod
    def at(cls, file: object, path: str, text: str, found: str | None = None) -> SpecError:
        """Return the error for a single mistake at a TOML path of a file. `mistake` formats `text` and `found`."""
        return cls([Problem(str(file), path, mistake(text, found))])

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.problems,)


class InputError(SynthreleaseError):
    """An input cannot be used: a file, an option of a command, or a question.

    Messages about a private file contain column names and row numbers, but no values.
    """


class OutputError(SynthreleaseError):
    """The program cannot write a file or folder, or the output already exists."""


class ResourceError(SynthreleaseError):
    """The run needs more memory than this machine has. No budget was spent."""


class BudgetError(SynthreleaseError):
    """The privacy guarantee or the budget does not allow a step, such as a plan above its limit. The message says whether
    budget was spent."""

    exit_code = 4


class PrivateFailure(SynthreleaseError):
    """The program failed while it was using private counts.

    The message is the same for all causes, because the cause may depend on a person's record. The whole planned budget counts
    as spent, and nothing is published (theory 2.7, failures).
    """

    exit_code = 1

    words = (
        "The run was stopped while private data were in use. The cause is not shown, because it could depend on the data. The "
        "whole planned privacy budget counts as spent and nothing was published. Rehearse the same configuration on public "
        "data of the same layout to find the cause."
    )


class PublicFailure(SynthreleaseError):
    """The computation of a release failed on public data. No budget was spent."""

    exit_code = 1

    words = (
        "A computation on the public file failed, because of an error in the program. No private data were read and no budget "
        "was spent. Please report the error, with the command. Fewer columns or wider bins may avoid it."
    )


@contextmanager
def on_public_data() -> Iterator[None]:
    """Run code of a release on public data. PrivateFailure becomes PublicFailure, because no budget was spent."""
    try:
        yield
        return
    except PrivateFailure:
        pass  # raised below, so that the new error holds no reference to the cause
    raise PublicFailure()


class InternalError(SynthreleaseError):
    """A step without private counts failed after the budget was reserved, because of a bug or a fault of the machine.

    In a round, such a step runs after the noise was added, so the type of the failure and the line of code depend only on noisy
    values. The selection theorem treats the failure as an output, like an accepted round (`selection`). The message of the
    original error is not shown, because a bug could have put private values into it.
    """

    exit_code = 1

    def __init__(self, failure: str):
        self.failure = failure
        super().__init__(
            f"synthrelease stopped because of an error in the program or the machine: {failure}. The message is not shown, "
            "because it could contain private values. The whole planned privacy budget counts as spent. Rehearse the same "
            "configuration on public data of the same layout to find the cause."
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.failure,)


class Interrupted(SynthreleaseError):
    """The user interrupted the run."""

    exit_code = 1

    words = "Stopped by hand. If private data had been read, the whole planned budget counts as spent."


class OtherRelease(SynthreleaseError):
    """The published folder has another configuration, or is not the release that a correction names."""


class VerificationFailed(SynthreleaseError):
    """The published folder did not pass the checks of `verify`."""

    exit_code = 5


class RejectedRound(Exception):
    """A round produced no synthetic table. The reason depends only on noisy values (theory 2.7, failures)."""


@contextmanager
def rejecting(*kinds: type[Exception], because: str) -> Iterator[None]:
    """Convert errors of the given types, which noise can cause in post-processing, to a RejectedRound with the message
    `because`.

    All other errors end the run (`InternalError`): an error that occurs in every round would spend the budget without a result.
    """
    try:
        yield
        return
    except kinds:
        pass  # raised below, so that the new error holds no reference to the cause
    raise RejectedRound(because)


def failure_of(error: BaseException) -> str:
    """Return the type of an error and its innermost line in this package, never its message."""
    return f"{type(error).__name__} at {place_of(error.__traceback__)}"


def place_of(trace: TracebackType | None) -> str:
    """Return the innermost place in this package of a traceback, such as "synthrelease/data/counts.py:43"."""
    package, found = Path(__file__).parent, "the start of the program"
    while trace is not None:
        path = Path(trace.tb_frame.f_code.co_filename)
        if package in path.parents:
            found = f"{path.relative_to(package.parent).as_posix()}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found


def cut(text: str, longest: int = 600) -> str:
    return text if len(text) <= longest else text[: longest - 3] + "..."


def closest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name most similar to `name`, or None. Only the first 1,000 known names and names of at most 100
    characters are compared."""
    candidates = [other for other in islice(known, 1000) if len(other) <= 100]
    matches: Sequence[str] = difflib.get_close_matches(name, candidates, n=1, cutoff=0.6) if len(name) <= 100 else ()
    return matches[0] if matches else None


def percent(value: float) -> str:
    """Format a share as a percentage, with one decimal below 10% and near 100%. Only exactly 1 is "100%", and only exactly 0 is
    "0%".

    Examples
    --------
    >>> [percent(share) for share in (0, 0.0004, 0.0123, 0.456, 0.996, 0.9996, 1)]
    ['0%', 'under 0.1%', '1.2%', '46%', '99.6%', 'over 99.9%', '100%']
    """
    if 0.995 <= value < 1:
        return f"{value:.1%}" if value < 0.9995 else "over 99.9%"
    return f"{value:.0%}" if value >= 0.1 or value == 0 else f"{value:.1%}" if value >= 0.001 else "under 0.1%"


def so_many(count: int, one: str, more: str = "") -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> [so_many(1, "rule"), so_many(2000, "rule"), so_many(1, "criterion", "criteria"), so_many(0, "criterion", "criteria")]
    ['1 rule', '2,000 rules', '1 criterion', '0 criteria']
    """
    return f"{count:,} {one if count == 1 else more or f'{one}s'}"


def listing(names: Iterable[str], limit: int = 12) -> str:
    """Return at most `limit` quoted names, separated by commas, for a message."""
    names = list(names)
    shown = ", ".join(repr(cut(name, 100)) for name in names[:limit])
    return shown + (f" and {len(names) - limit:,} more" if len(names) > limit else "")
