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
    """

    name: str
    found: str = ""
    problems: tuple[str, ...] = ()
    made: bool = True

    @property
    def passed(self) -> bool:
        return self.made and not self.problems


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
    committed : whether it was compared with a commitment from before the run.
    beyond : what nobody can check without the private file.
    left_out : parts of the verification that were not asked for.
    """

    checks: tuple[Check, ...]
    signed_by: str | None
    key_given: bool = False
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
        if self.signed_by is not None and self.key_given:
            origin = "The key that you gave signed these files: its owner stands for them as they are."
        elif self.signed_by is not None:
            origin = (
                "They were signed by the key in the bundle. It shows who made them only if its fingerprint is the one that the "
                f"publisher made known: {self.signed_by}"
            )
        elif self.committed:
            origin = (
                "Nobody signed them. The specification is the one that was committed to; rows and figures are not covered by "
                "it, so anybody who has the specification could have written these files."
            )
        else:
            origin = (
                "Nobody signed them and no commitment was given: anybody who has this program could have written the whole of "
                "them anew, consistent as they are. So this does not show who made them, nor that there was a private file."
            )
        how_far = f", as far as they were checked (without {' and '.join(self.left_out)})" if self.left_out else ""
        return f"The files fit together{how_far}. {origin}"
