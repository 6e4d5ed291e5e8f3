"""How many rows of the file the rules keep, as far as a release tells, and which of them its figures are about.

A release works with m rows, drawn from the K rows of the file that the rules keep (theory 1.7, resizing). Nobody has to know
which: what is said of them is said of all K rows, with the error of the drawing (theory 13.10, numbers of the file). K itself
is known as well as what is published tells: counted with noise, T = K + Z, and m = T - margin; or stated; or exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

from synthrelease.errors import InputError
from synthrelease.generators.measured_noise import DiscreteLaplace
from synthrelease.privacy.charges import NUMBER_OF_ROWS, SHORTFALL
from synthrelease.published import PublishedRelease

RISK = 0.02
"""Of what a statement may be wrong with: the part for the noise of the number of rows, where that is limited by itself."""


@dataclass(frozen=True, kw_only=True)
class KeptRows:
    """What is published about K, the number of rows of the file that the rules keep.

    Attributes
    ----------
    way : "whole" (all rows of the file), "exact" (K is published), "counted" (with noise) or "stated" (K is that or more).
    drawn : rows that the released figures are about: a uniform subset of the kept ones.
    number : K; with its noise where it was counted, and the least that it may be where it was stated.
    most : K is at most so many, for sure: the rows of the file.
    scale : b of the noise of a counted number, Pr[z] proportional to exp(-|z| / b); None where it has none.
    margin : what was taken off the counted number, so that so many rows were kept.
    few : a counted number was too small for its margin: K is anything up to it.
    """

    way: str
    drawn: int
    number: int
    most: int
    scale: float | None = None
    margin: int = 0
    few: bool = False
    persons: int | None = None

    @classmethod
    def of(cls, release: PublishedRelease) -> KeptRows:
        """From the domain, the charges and the number of rows of a release.

        A counted number is the number of rows that the release worked with, plus the margin: unless it was cut to 1, or to the
        rows of the file; then it was below that, or above the rows of the file.
        """
        drawn, domain = release.n_rows, release.domain
        worked = drawn if release.divided_rows is None else release.divided_rows
        if domain.way in ("exact", "whole") or domain.file_rows is None:
            return cls(way=domain.way, drawn=drawn, number=worked, most=worked, persons=domain.persons)
        charged = next((leaf.epsilon for leaf in release.charges.leaves() if leaf.name == NUMBER_OF_ROWS), None)
        if domain.way == "stated" or domain.margin is None or not charged:
            return cls(way="stated", drawn=drawn, number=worked, most=domain.file_rows, persons=domain.persons)
        return cls(
            way="counted",
            drawn=drawn,
            number=min(worked + domain.margin, domain.file_rows),
            most=domain.file_rows,
            scale=float(1 / charged),
            margin=domain.margin,
            few=worked == 1,
            persons=domain.persons,
        )

    @property
    def known(self) -> bool:
        """Whether K is published exactly."""
        return self.way in ("exact", "whole")

    @property
    def shortfall(self) -> float:
        """The probability with which fewer rows were kept than the release worked with, and public rows filled up."""
        return float(SHORTFALL) if self.way == "counted" else 0.0

    @property
    def left_out(self) -> float:
        """The part of the kept rows that the figures are not about; the largest that it may be where K is stated."""
        return 1 - self.drawn / max(self.most if self.way == "stated" else self.number, self.drawn)

    def spare(self, confidence: float) -> float:
        """What else may go wrong at a confidence, beside that public rows filled up.

        Raises
        ------
        InputError : where nothing is left.
        """
        spare = 1 - confidence - self.shortfall
        if spare > 1e-9:
            return spare
        raise InputError(
            f"expected a confidence below {1 - self.shortfall:g}, found {confidence:g}: with a probability of up to "
            f"{self.shortfall:g} the rules kept fewer rows than the release worked with, and public rows filled up."
        )

    def limits(self, risk: float) -> tuple[int, int]:
        """The least and the largest K, wrong with probability `risk` at most, beside the shortfall."""
        if self.scale is None:
            return self.number, self.most
        reach = DiscreteLaplace(self.scale).rounded_up.limit(risk)
        return (0 if self.few else max(0, self.number - reach)), min(self.most, self.number + reach)

    def more(self, risk: float) -> int:
        """So many kept rows are not among the drawn ones, at most; wrong with probability `risk`, beside the shortfall."""
        if self.scale is None:
            return self.most - self.drawn
        reach = DiscreteLaplace(self.scale).rounded_up.limit(min(2 * risk, 0.5))  # the law is symmetric
        return max(0, min(self.most, self.drawn + self.margin + reach) - self.drawn)

    def in_words(self, risk: float) -> str:
        """How many they are, in words that follow "the file:"."""
        all_rows = f"{self.most:,} rows"
        if self.persons is not None:
            all_rows = f"rows, the first ones of each of {self.persons:,} persons,"
        if self.way == "whole":
            return f"its {all_rows}".rstrip(",")
        if self.way == "exact":
            return f"the {self.number:,} of its rows that the rules keep"
        if self.way == "stated":
            return (
                f"those of its {all_rows} that the rules keep, at least {self.number:,}, as is stated (if there are "
                "fewer, public rows fill up, and nothing of this holds)"
            )
        low, high = self.limits(risk)
        about = "few" if self.few else f"about {self.number:,}"
        return f"those of its {all_rows} that the rules keep, {about} (between {low:,} and {high:,})"
