"""The change of a number from what the release.json of two years state of it: for cards, which have no noisy tables at hand.

`trend` says the same from the noisy tables (theory 13.15, changes between releases); here the intervals are those that were
published, in six digits. An end that was cut off at what is possible is taken to be as far from the estimate as the other one.
"""

from __future__ import annotations

from dataclasses import dataclass

from synthrelease.estimates.contrasts import Interval, less
from synthrelease.published.measurements import IntendedEstimatePart

_COVERED = ("share ", "mean ")
"""Questions whose intervals are those of 13.8: a median's ends are those of bins."""


@dataclass(frozen=True, kw_only=True)
class StatedChange:
    """The later number less the earlier one, with an interval at the level of both.

    Attributes
    ----------
    of_bins : of the numbers that stand for bins, and not of the file's own values.
    """

    estimate: float
    low: float
    high: float
    unit: str
    of_bins: bool

    @property
    def within_noise(self) -> bool:
        """Whether it may be none."""
        return self.low <= 0 <= self.high


def stated_change(before: IntendedEstimatePart, after: IntendedEstimatePart) -> StatedChange | None:
    """None for another kind of question, another unit, and where one of them has no estimate or no interval."""
    one, other = _interval(after), _interval(before)
    if one is None or other is None or (before.question, before.unit) != (after.question, after.unit):
        return None
    of_bins = after.binned_low is not None
    if of_bins != (before.binned_low is not None):
        return None
    low, middle, high = less(one, other, 0.0)
    return StatedChange(estimate=middle, low=low, high=high, unit=after.unit, of_bins=of_bins)


def _interval(part: IntendedEstimatePart) -> Interval | None:
    """Low end, estimate, high end."""
    low, high = (part.low, part.high) if part.binned_low is None else (part.binned_low, part.binned_high)
    if part.ratios or not part.question.startswith(_COVERED) or None in (part.estimate, low, high):
        return None
    middle, low, high = float(part.estimate or 0), float(low or 0), float(high or 0)
    below, above = middle - low, high - middle
    if part.unit in ("", "rows") and low <= 0:
        below = max(below, above)
    if part.unit == "" and part.question.startswith("share ") and high >= 1:
        above = max(below, above)
    return middle - below, middle, middle + above
