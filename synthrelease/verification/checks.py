"""What a verification found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Check:
    """One thing that was checked.

    Attributes
    ----------
    name : what was checked.
    found : what was found when all is well, in a line.
    problems : what is wrong, one sentence each; empty when all is well.
    made : False when it could not be made, because something before it failed.
    limits : what of it could not be checked in this bundle, a sentence each: the verification ends with them.
    absent : whether there is nothing that could be checked, such as a signature; this is no problem, and vouches for nothing.
    """

    name: str
    found: str = ""
    problems: tuple[str, ...] = ()
    made: bool = True
    absent: bool = False
    limits: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return self.made and not self.problems

    @property
    def mark(self) -> str:
        """What it came to, in a word."""
        return "not made" if not self.made else "PROBLEM" if self.problems else "none" if self.absent else "ok"


def made(name: str, check: Callable[[], Check]) -> Check:
    """A check, or the problem that it cannot be made: somebody may have written whatever into release.json."""
    try:
        return check()
    except Exception as error:
        return Check(name=name, problems=(f"release.json: holds values that cannot be checked ({type(error).__name__})",))


@dataclass(frozen=True, kw_only=True)
class Report:
    """All checks of a bundle, and what no check can tell.

    Attributes
    ----------
    signed_by : the fingerprint of the key that signed it, None when nobody did.
    key_given : whether that key came from elsewhere than the bundle.
    commitment : what it was compared with from before the run, a sentence or two; empty where no commitment was given.
    committed : whether the specification was among that.
    beyond : what nobody can check without the private file.
    left_out : parts of the verification that were not asked for.
    """

    checks: tuple[Check, ...]
    signed_by: str | None
    key_given: bool = False
    commitment: str = ""
    committed: bool = False
    beyond: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return all(check.passed for check in self.checks)

    @property
    def vouched_for(self) -> bool:
        """Whether something from elsewhere than the bundle says who made it, or what was fixed before."""
        return self.committed or (self.signed_by is not None and self.key_given)

    @property
    def closing(self) -> str:
        """What a verification without problems shows, and what it does not."""
        how_far = f", as far as they were checked (without {' and '.join(self.left_out)})" if self.left_out else ""
        limits = [limit for check in self.checks for limit in check.limits]
        told = (f"The files fit together{how_far}.", *limits, self._signature, self.commitment, self._unknown)
        return " ".join(filter(None, told))

    @property
    def _signature(self) -> str:
        if self.signed_by is None:
            return "Nobody signed them."
        if self.key_given:
            return f"The key that you gave signed these files: its owner stands for them. Its fingerprint: {self.signed_by}."
        return (
            "They were signed by the key in the folder. It shows who made them only if its fingerprint is the one that the "
            f"publisher made known: {self.signed_by}."
        )

    @property
    def _unknown(self) -> str:
        """What follows where nobody vouches for the files."""
        if self.signed_by is not None:
            return ""
        if self.commitment:
            return (
                "Rows and figures are not covered by a commitment: anybody who has the specification could have written these "
                "files."
            )
        return (
            "No commitment was given: anybody who has this program could have written the whole of them anew, consistent as "
            "they are. So this does not show who made them, nor that there was a private file."
        )
