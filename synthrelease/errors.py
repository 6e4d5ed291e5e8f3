"""Define the exceptions of synthrelease with their exit codes, and small functions that format messages.

No message contains a private value: messages name columns, rules, files and row numbers, never the content of a cell
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
    """Base class of all errors that are meant for the user. The command line prints the message and no traceback.

    `words` is the message of an error that always has the same message.
    """

    exit_code = 2
    words = ""

    def __str__(self) -> str:
        return super().__str__() or self.words


MAX_PROBLEMS = 30
"""Largest number of mistakes in one message."""


def mistake(text: str, found: str | None = None) -> str:
    """Return the message of a mistake, without a full stop at the end.

    Parameters
    ----------
    text : one or more sentences; with `found`, a noun for the expected value, such as "a number of at least 0".
    found : the wrong value.

    Examples
    --------
    >>> mistake("The table has no column 'age'")
    "The table has no column 'age'"
    >>> mistake("a number of at least 0", "-1")
    'expected a number of at least 0, found -1'
    """
    return cut(text, 1200).rstrip(".") if found is None else f"expected {cut(text)}, found {cut(found)}"


@dataclass(frozen=True)
class Problem:
    """One mistake in a specification: the file, the TOML path, the message (`mistake`) and the name that was probably meant."""

    file: str
    path: str
    message: str
    suggestion: str | None = None

    def __str__(self) -> str:
        return f"{self.file}: {cut(self.path, 200) or '(top level)'}: {self.message}.{_meant(self.suggestion)}"

    @property
    def sentence(self) -> str:
        """Return the message as a sentence, without file and path."""
        return f"{self.message[0].upper()}{self.message[1:]}."


def _meant(suggestion: str | None) -> str:
    return f" Did you mean {suggestion!r}?" if suggestion else ""


class Unexpected(ValueError):
    """A mistake at the place where the program detects it.

    A caller that knows the file turns the mistake into a `Problem`. A validator of pydantic may raise the mistake; pydantic
    passes it on unchanged.

    Parameters
    ----------
    text, found : the message, as for `mistake`.
    suggestion : the name that was probably meant.
    place : the path of the wrong part inside of the checked value; empty if the whole value is wrong.
    """

    def __init__(self, text: str, found: str | None = None, suggestion: str | None = None, *, place: str = ""):
        self.message, self.suggestion, self.place = mistake(text, found), suggestion, place
        super().__init__(f"{place}: {self.message}" if place else self.message)

    def about(self, value: str) -> str:
        """Return the message of the mistake in this value."""
        return self.message


class UnexpectedValue(Unexpected):
    """A mistake that concerns the whole checked value. The caller knows this value and shows it."""

    def __init__(self, expected: str):
        super().__init__(f"expected {expected}")
        self.expected = expected

    def about(self, value: str) -> str:
        return mistake(self.expected, value)


def of_another_format(found: int, reads: Sequence[int], writer: str = "") -> Unexpected:
    """Return the mistake for a document in a format that this version does not read. The message names the program that reads
    the document.

    Parameters
    ----------
    found : the format number of the document.
    reads : the format numbers that this version reads. The first of them is the number that this version writes.
    writer : the version that wrote the document; empty if the version is not known.
    """
    program = f"synthrelease {cut(writer, 40)!r}, which wrote it" if writer else "the version of synthrelease that wrote it"
    numbers = " or ".join(map(str, reads))
    return Unexpected(
        f"This version reads format {numbers}, and the file has format {found}. Read the file with {program}", place="format"
    )


class SpecError(SynthreleaseError):
    """The configuration or the acceptance file cannot be used. `problems` has all mistakes that were found."""

    def __init__(self, problems: Iterable[Problem]):
        self.problems = tuple(problems)
        lines = [str(problem) for problem in self.problems[:MAX_PROBLEMS]]
        more = ["There are more mistakes. Correct those above to see the others."] if len(self.problems) > len(lines) else []
        super().__init__("\n".join(lines + more))

    @classmethod
    def at(cls, file: object, path: str, text: str, found: str | None = None) -> SpecError:
        """Return the error for one mistake, at a TOML path of a file. `text` and `found` are as for `mistake`."""
        return cls([Problem(str(file), path, mistake(text, found))])

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.problems,)


class InputError(SynthreleaseError):
    """The private file cannot be read as the specification requires. The message has column names and row numbers, but no
    values.
    """


class OutputError(SynthreleaseError):
    """The output folder cannot be written, or exists already."""


class ResourceError(SynthreleaseError):
    """The run does not fit on this machine. Raised before anything is spent."""


class BudgetError(SynthreleaseError):
    """A plan costs more than a limit, or a charge was not planned. Raised before any private count is used."""

    exit_code = 4


class PrivateFailure(SynthreleaseError):
    """Code that was using private counts failed.

    A failure of such code may depend on a person's record. So there is one message for all causes, the whole planned budget
    counts as spent, and nothing is published (theory 2.7, failures).
    """

    exit_code = 1

    words = (
        "The run was stopped while private data were in use. The cause is not shown, because it could depend on the data. The "
        "whole planned privacy budget counts as spent and nothing was published. Rehearse the same configuration on public "
        "data of the same layout to find the cause."
    )


class PublicFailure(SynthreleaseError):
    """Code of a release failed on public data, in a draft, a rehearsal or a comparison. Nothing was spent."""

    exit_code = 1

    words = (
        "A computation on the public file failed, because of a mistake in the program. No private data were read and no budget "
        "was spent. Please report the mistake, with the command. Fewer columns or wider bins may avoid it."
    )


@contextmanager
def on_public_data() -> Iterator[None]:
    """Run the code of a release on public data. Raises PublicFailure in place of PrivateFailure, because nothing was spent."""
    try:
        yield
        return
    except PrivateFailure:
        pass  # raised below, so that the new error holds no reference to the cause
    raise PublicFailure()


class InternalError(SynthreleaseError):
    """Code that uses no private counts failed after the budget was reserved, because of a mistake in the program or the
    machine.

    In a round, such code runs after the noise. So the type and the place of the failure depend only on noisy values. The
    selection theorem treats the failure as an output, like an accepted round (`selection`). The message of the failure is not
    shown, because a mistake in the program could have put private values into it.
    """

    exit_code = 1

    def __init__(self, failure: str):
        self.failure = failure
        super().__init__(
            f"synthrelease stopped because of a mistake in the program or the machine: {failure}. The message is not shown, "
            "because it could contain private values. The whole planned privacy budget counts as spent. Rehearse the same "
            "configuration on public data of the same layout to find the cause."
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.failure,)


class Interrupted(SynthreleaseError):
    """The user stopped the run by hand."""

    exit_code = 1

    words = "Stopped by hand. If private data had been read, the whole planned budget counts as spent."


class OtherRelease(SynthreleaseError):
    """A published folder was not made with the given configuration."""


class VerificationFailed(SynthreleaseError):
    """A published folder did not pass its checks."""

    exit_code = 5


class RejectedRound(Exception):
    """A round ended without a candidate, for a reason that depends only on noisy values (theory 2.7, failures)."""


@contextmanager
def rejecting(*kinds: type[Exception], because: str) -> Iterator[None]:
    """Turn errors of these kinds, which noise can cause in post-processing, into a RejectedRound.

    Any other error ends the run (`InternalError`). If every round had such an error, rejecting rounds would only spend the
    budget.
    """
    try:
        yield
        return
    except kinds:
        pass  # raised below, so that the new error holds no reference to the cause
    raise RejectedRound(because)


def failure_of(error: BaseException) -> str:
    """Return the type of an error and the innermost line of this package through which it passed, but never its message."""
    return f"{type(error).__name__} at {place_of(error.__traceback__)}"


def place_of(trace: TracebackType | None) -> str:
    """Return the last file and line of this package through which an error passed."""
    package, found = Path(__file__).parent, "the start of the program"
    while trace is not None:
        path = Path(trace.tb_frame.f_code.co_filename)
        if package in path.parents:
            found = f"{path.relative_to(package.parent).as_posix()}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found


def cut(text: str, longest: int = 600) -> str:
    """Return a text for a message, cut to at most `longest` characters."""
    return text if len(text) <= longest else text[: longest - 3] + "..."


def closest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name of which `name` is probably a misspelling, or None. Only short names and the first 1,000 names are
    compared.
    """
    candidates = [other for other in islice(known, 1000) if len(other) <= 100]
    matches: Sequence[str] = difflib.get_close_matches(name, candidates, n=1, cutoff=0.6) if len(name) <= 100 else ()
    return matches[0] if matches else None


def percent(value: float) -> str:
    """Return a share in per cent, with one decimal below 10% and near 100%. Only 1 is shown as 100%, and only 0 as 0%.

    Examples
    --------
    >>> [percent(share) for share in (0, 0.0004, 0.0123, 0.456, 0.996, 0.9996, 1)]
    ['0%', 'under 0.1%', '1.2%', '46%', '99.6%', 'over 99.9%', '100%']
    """
    if 0.995 <= value < 1:
        return f"{value:.1%}" if value < 0.9995 else "over 99.9%"
    return f"{value:.0%}" if value >= 0.1 or value == 0 else f"{value:.1%}" if value >= 0.001 else "under 0.1%"


def so_many(count: int, one: str, more: str = "") -> str:
    """Return a number with its noun in the singular or plural: "1 rule", "2 rules".

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
