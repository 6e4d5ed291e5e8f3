"""Which planned charges may still be spent, each once."""

from __future__ import annotations

from collections.abc import Sequence

from synthrelease.accounting.charges import Charge
from synthrelease.errors import BudgetError


class Meter:
    """Which planned charges may still be spent, each once."""

    def __init__(self, planned: Sequence[Charge]):
        self._left = {charge.name: charge for charge in planned}

    def take(self, charge: Charge) -> None:
        """Strike a charge off the plan. Raises BudgetError when it was not planned, or was spent already."""
        planned = self._left.get(charge.name)
        if planned is None or planned.price != charge.price:
            raise BudgetError(
                f"Refused: the charge {charge.name!r} was not planned, or was spent already. No private count was read."
            )
        del self._left[charge.name]

    def take_all(self, charges: Charge | Sequence[Charge]) -> None:
        """Strike a charge off the plan, or several that pay for one output together. Raises BudgetError as `take`."""
        for charge in [charges] if isinstance(charges, Charge) else charges:
            self.take(charge)
