"""Define the exceptions of synthrelease, their exit codes, and helper functions that format messages.

Messages never contain private values. They may name columns, rules, files and row numbers, but they never show the content of a
cell (docs/architecture.md, "Failures").
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
    """Base class of all errors that are shown to the user. The command line prints only the message, without a traceback.

    If all errors of a class have the same message, the class attribute `words` contains this message.
    """

    exit_code = 2
    words = ""

    def __str__(self) -> str:
        return super().__str__() or self.words


MAX_PROBLEMS = 30
"""The maximum number of mistakes that one message lists."""


def mistake(text: str, found: str | None = None) -> str:
    """Return an error message without a full stop at the end. Long texts are shortened. Sentences are shortened in the middle,
    because they may begin with a long value and end with the reason.

    Parameters
    ----------
    text : sentences that describe the mistake or, if `found` is given, a noun phrase for the expected value, such as "a number
        of at least 0".
    found : the wrong value, as text, or None. With a value, the message is "expected ..., found ...".

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
    """One mistake in a specification: the file, the TOML path (such as `columns.age.bounds`), the error message (see `mistake`)
    and the name that the user probably meant, if there is one. The path is empty if the mistake concerns the whole file."""

    file: str
    path: str
    message: str
    suggestion: str | None = None

    def __str__(self) -> str:
        where = f"{self.file}: {cut(self.path, 200)}" if self.path else self.file
        return f"{where}: {_ended(self.message)}{_meant(self.suggestion)}"

    @property
    def sentence(self) -> str:
        """Return the message with a capital letter and a full stop, without the file and the path."""
        return _ended(f"{self.message[0].upper()}{self.message[1:]}")


def _ended(text: str) -> str:
    return text if text.endswith("?") else f"{text}."


def _meant(suggestion: str | None) -> str:
    return f" Did you mean {suggestion!r}?" if suggestion else ""


class Unexpected(ValueError):
    """A mistake that is raised before the file that contains it is known.

    A caller that knows the file converts this exception to a `Problem`. Validators of pydantic models may raise it, too,
    because it is a ValueError.

    Parameters
    ----------
    text, found : the parameters of `mistake`, which formats the message.
    suggestion : the name that the user probably meant.
    place : the TOML path of the wrong part within the checked value, or "" if the whole value is wrong.
    """

    def __init__(self, text: str, found: str | None = None, suggestion: str | None = None, *, place: str = ""):
        self.message, self.suggestion, self.place = mistake(text, found), suggestion, place
        super().__init__(f"{place}: {self.message}" if place else self.message)

    def about(self, value: str) -> str:
        """Return the error message for the checked value. This class ignores the value; `UnexpectedValue` quotes it."""
        return self.message


class UnexpectedValue(Unexpected):
    """A mistake that concerns the whole checked value, such as "expected a number above 0". The caller calls `about` to get the
    message with the value that was found."""

    def __init__(self, expected: str):
        super().__init__(f"expected {expected}")
        self.expected = expected

    def about(self, value: str) -> str:
        return mistake(self.expected, value)


def of_another_format(found: int, reads: Sequence[int], writer: str = "") -> Unexpected:
    """Return the error for a document in a format that this version cannot read. The message says which version of the program
    can read the document.

    Parameters
    ----------
    found : the format number of the document.
    reads : the format numbers that this version can read. The first number is the format that this version writes.
    writer : the program version that wrote the document, or an empty text if this version is unknown.
    """
    program = f"synthrelease {cut(writer, 40)!r}, which wrote it" if writer else "the version of synthrelease that wrote it"
    numbers = " or ".join(map(str, reads))
    return Unexpected(
        f"This version reads format {numbers}, and the file has format {found}. Read the file with {program}", place="format"
    )


class SpecError(SynthreleaseError):
    """The configuration or the acceptance file contains mistakes. The attribute `problems` lists all of these mistakes."""

    def __init__(self, problems: Iterable[Problem]):
        self.problems = tuple(problems)
        lines = [str(problem) for problem in self.problems[:MAX_PROBLEMS]]
        more = ["There are more mistakes. Correct those above to see the others."] if len(self.problems) > len(lines) else []
        super().__init__("\n".join(lines + more))

    @classmethod
    def at(cls, file: object, path: str, text: str, found: str | None = None) -> SpecError:
        """Return the error for a single mistake at a TOML path of a file. `mistake` formats the message from `text` and
        `found`."""
        return cls([Problem(str(file), path, mistake(text, found))])

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.problems,)


class InputError(SynthreleaseError):
    """An input cannot be used: a file that cannot be read or does not fit the specification, an option of a command, or a
    question. The message about a private file contains column names and row numbers, but no values."""


class OutputError(SynthreleaseError):
    """The program cannot write a file or folder, or the output already exists."""


class ResourceError(SynthreleaseError):
    """The run needs more memory than this machine has. This error is raised before any budget is spent."""


class BudgetError(SynthreleaseError):
    """The privacy guarantee or the budget does not allow a step. For example, the cost of a plan exceeds the limit, the plan
    does not contain a charge, or the private table is also a public table. The message says whether budget was spent."""

    exit_code = 4


class PrivateFailure(SynthreleaseError):
    """The program failed while it was using private counts.

    Such a failure may depend on a person's record. The message is therefore the same for all causes. The whole planned budget
    counts as spent, and nothing is published (theory 2.7, failures).
    """

    exit_code = 1

    words = (
        "The run was stopped while private data were in use. The cause is not shown, because it could depend on the data. The "
        "whole planned privacy budget counts as spent and nothing was published. Rehearse the same configuration on public "
        "data of the same layout to find the cause."
    )


class PublicFailure(SynthreleaseError):
    """The computation of a release failed on public data, during a draft, a rehearsal or a comparison. No budget was spent."""

    exit_code = 1

    words = (
        "A computation on the public file failed, because of an error in the program. No private data were read and no budget "
        "was spent. Please report the error, with the command. Fewer columns or wider bins may avoid it."
    )


@contextmanager
def on_public_data() -> Iterator[None]:
    """Run code of a release on public data. If the code raises PrivateFailure, raise PublicFailure instead, because no budget
    was spent."""
    try:
        yield
        return
    except PrivateFailure:
        pass  # raised below, so that the new error holds no reference to the cause
    raise PublicFailure()


class InternalError(SynthreleaseError):
    """A step that uses no private counts failed after the budget was reserved. The cause is a bug in the program or a fault of
    the machine.

    In a round, such a step runs after the noise was added. The type of the failure and the line of code therefore depend only
    on noisy values. The selection theorem treats the failure as an output, like an accepted round (`selection`). The message of
    the original error is not shown, because a bug could have put private values into it.
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
    """The published folder was made with a different configuration, or is not the release that a correction names."""


class VerificationFailed(SynthreleaseError):
    """The published folder did not pass the checks of `verify`."""

    exit_code = 5


class RejectedRound(Exception):
    """A round produced no synthetic table. The reason depends only on noisy values (theory 2.7, failures)."""


@contextmanager
def rejecting(*kinds: type[Exception], because: str) -> Iterator[None]:
    """Convert errors of the given types to a RejectedRound with the message `because`. Use this context for errors that noise
    can cause in post-processing.

    All other errors end the run (`InternalError`). Such an error might occur in every round, and the search would then spend
    the budget without a result.
    """
    try:
        yield
        return
    except kinds:
        pass  # raised below, so that the new error holds no reference to the cause
    raise RejectedRound(because)


def failure_of(error: BaseException) -> str:
    """Return the type of an error and the innermost line of this package in its traceback. The result never contains the
    message of the error."""
    return f"{type(error).__name__} at {place_of(error.__traceback__)}"


def place_of(trace: TracebackType | None) -> str:
    """Return the file and the line number of the innermost frame of a traceback that is in this package, such as
    "synthrelease/data/counts.py:43"."""
    package, found = Path(__file__).parent, "the start of the program"
    while trace is not None:
        path = Path(trace.tb_frame.f_code.co_filename)
        if package in path.parents:
            found = f"{path.relative_to(package.parent).as_posix()}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found


def cut(text: str, longest: int = 600) -> str:
    """Shorten a text to at most `longest` characters. A shortened text ends with "..."."""
    return text if len(text) <= longest else text[: longest - 3] + "..."


def closest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most similar to `name`, or None if no known name is similar. Only the first 1,000 known
    names and names of at most 100 characters are compared."""
    candidates = [other for other in islice(known, 1000) if len(other) <= 100]
    matches: Sequence[str] = difflib.get_close_matches(name, candidates, n=1, cutoff=0.6) if len(name) <= 100 else ()
    return matches[0] if matches else None


def percent(value: float) -> str:
    """Format a share as a percentage, with one decimal below 10% and near 100%. Only a share of exactly 1 is shown as 100%, and
    only a share of exactly 0 as 0%.

    Examples
    --------
    >>> [percent(share) for share in (0, 0.0004, 0.0123, 0.456, 0.996, 0.9996, 1)]
    ['0%', 'under 0.1%', '1.2%', '46%', '99.6%', 'over 99.9%', '100%']
    """
    if 0.995 <= value < 1:
        return f"{value:.1%}" if value < 0.9995 else "over 99.9%"
    return f"{value:.0%}" if value >= 0.1 or value == 0 else f"{value:.1%}" if value >= 0.001 else "under 0.1%"


def so_many(count: int, one: str, more: str = "") -> str:
    """Return a number with its noun in the singular or plural, such as "1 rule" or "2,000 rules".

    Examples
    --------
    >>> [so_many(1, "rule"), so_many(2000, "rule"), so_many(1, "criterion", "criteria"), so_many(0, "criterion", "criteria")]
    ['1 rule', '2,000 rules', '1 criterion', '0 criteria']
    """
    return f"{count:,} {one if count == 1 else more or f'{one}s'}"


def listing(names: Iterable[str], limit: int = 12) -> str:
    """Return a list of quoted names, separated by commas, for a message. At most `limit` names are shown."""
    names = list(names)
    shown = ", ".join(repr(cut(name, 100)) for name in names[:limit])
    return shown + (f" and {len(names) - limit:,} more" if len(names) > limit else "")
