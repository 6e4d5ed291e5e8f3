"""The cost of a private selection: the theorems behind the loops of `synthrelease.releasing.selection` (theory 2, selection).

This module is the only place where a selection multiplies a charge.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from synthrelease.accounting.charges import HIDDEN_ROUNDS, PRICED, SELECTION, Charge, check_above_0, decimal_text, epsilon_at
from synthrelease.accounting.renyi import selected
from synthrelease.accounting.stopping_laws import FiniteLaw, NegativeBinomial, StopCoin, StoppingLaw
from synthrelease.errors import BudgetError, Unexpected


@dataclass(frozen=True, kw_only=True)
class SelectionRule:
    """How rounds are repeated.

    Attributes
    ----------
    stop_probability : gamma. Without a shape, the probability of "nothing" after a rejected round, in [0, 1].
    shape : eta of the truncated negative binomial number of rounds; None for a known threshold.
    rounds : a hidden number of rounds with finitely many values; the other two then say nothing.
    """

    stop_probability: Fraction = Fraction(0)
    shape: Fraction | None = None
    rounds: FiniteLaw | None = None

    @property
    def law(self) -> StopCoin | NegativeBinomial | FiniteLaw | None:
        """The law of the hidden number of rounds; None where rounds are repeated without end.

        Raises
        ------
        BudgetError : for numbers that make no law.
        """
        if self.rounds is not None:
            return self.rounds
        try:
            if self.shape is not None:
                return NegativeBinomial(shape=self.shape, stop_probability=self.stop_probability)
            return StopCoin(stop_probability=self.stop_probability) if self.stop_probability else None
        except Unexpected as error:
            problem = f"The number of rounds: {error}."
        raise BudgetError(problem)


def private_selection(name: str, one_round: Charge, rule: SelectionRule | None = None, delta: Fraction = Fraction(0)) -> Charge:
    """Rounds until one is accepted, or until the rule says "nothing". Only the accepted output may be published.

    Pure rounds cost the price of the law of the hidden number of rounds (theory 2b.1, price); with a stop coin that is epsilon
    + ln((E + gamma) / (1 + gamma E)), E = e^epsilon (theory 2b.2, price of the stop coin). Without a coin, gamma = 0, they cost
    2 epsilon (theory 2.1, known threshold, pure; Liu & Talwar, STOC 2019, Theorem 3.1).

    Other rounds cost the price at the epsilon that they have at a delta, and the mean number of rounds times that delta (theory
    2b.9, approximate rounds): zero-concentrated and Gaussian ones at `delta` over that mean, for which their epsilon is
    computed. Zero-concentrated rounds may also have a truncated negative binomial number of rounds: `renyi.selected` (theory
    2.5, hidden number of rounds; Papernot & Steinke, ICLR 2022, Theorem 2).

    Parameters
    ----------
    delta : of the whole, for rounds that are curves.

    Raises
    ------
    BudgetError : for a round that the rule gives no guarantee for.
    """
    rule = rule or SelectionRule()
    law = rule.law
    if one_round.pure:
        return _twice(name, one_round) if law is None else _priced(name, one_round, law)
    if isinstance(law, NegativeBinomial):
        return _negative_binomial(name, one_round, law)
    if law is None:
        found = "a curve" if one_round.renyi is not None else f"delta = {float(one_round.delta):g}"
        raise BudgetError(
            "Private selection with a known threshold has no guarantee for rounds with delta > 0 when the stop probability is "
            f"0: only pure rounds may go on for ever. The round {one_round.name!r} has {found}. "
            "Set [selection] stop_probability above 0."
        )
    return _approximate(name, one_round, law, delta)


def _twice(name: str, one_round: Charge) -> Charge:
    """Pure rounds without end: 2 epsilon (theory 2.1, known threshold, pure)."""
    because = "selection with a known threshold doubles the charge of one round (Liu & Talwar 2019, Theorem 3.1)"
    return Charge(name=name, epsilon=2 * one_round.epsilon, because=because, rule=SELECTION, parts=(one_round,))


def _priced(name: str, one_round: Charge, law: StoppingLaw) -> Charge:
    price = law.price(one_round.epsilon)
    paid = f"with rounds of {decimal_text(one_round.epsilon)} that costs {decimal_text(price)}"
    because = f"{law.words}; {paid} (theory 2b.1, price)"
    return Charge(name=name, epsilon=price, because=because, rule=PRICED, parts=(one_round,))


def _approximate(name: str, one_round: Charge, law: StopCoin | FiniteLaw, delta: Fraction) -> Charge:
    """The price of the law at the epsilon of a round, and the mean number of rounds times its delta."""
    if one_round.renyi is None:
        epsilon, share, whole = one_round.epsilon, one_round.delta, tidy_up(law.exact_mean * one_round.delta)
    else:
        check_above_0(delta)
        share, whole = delta / law.exact_mean, delta
        epsilon = epsilon_at(one_round, share)
    if whole >= 1:
        raise BudgetError(
            f"The selection gives no guarantee: its delta would be {float(whole):.3g}. Lower the delta of the generation, or "
            "raise the stop probability."
        )
    price = law.approximate_price(epsilon, share)
    because = f"{law.words}; rounds of epsilon = {decimal_text(epsilon)} at delta = {float(share):.3g} cost "
    because += f"{decimal_text(price)}, and the mean number of rounds times that delta (theory 2b.9, approximate rounds)"
    return Charge(name=name, epsilon=price, delta=whole, because=because, rule=PRICED, parts=(one_round,))


def _negative_binomial(name: str, one_round: Charge, law: NegativeBinomial) -> Charge:
    if one_round.renyi is None:
        raise _only_pure(one_round)
    curve = selected(one_round.renyi, law.shape, law.stop_probability)
    because = "best of a hidden, truncated negative binomial number of rounds (Papernot & Steinke 2022)"
    because += f"; Renyi divergence of order a at most {curve.text()}"
    return Charge(name=name, epsilon=Fraction(0), renyi=curve, because=because, rule=HIDDEN_ROUNDS, parts=(one_round,))


def _only_pure(one_round: Charge) -> BudgetError:
    return BudgetError(
        "Private selection with this law of the number of rounds is for pure and for zero-concentrated rounds; the round "
        f"{one_round.name!r} has delta > 0. "
        'Set [selection] mode = "known_threshold" with a stop probability above 0, or "hidden_number".'
    )


def tidy_up(delta: Fraction) -> Fraction:
    """A delta rounded up to six significant digits, so that a ledger can add it exactly."""
    if delta == 0:
        return delta
    step = Fraction(10) ** (len(str(int(delta))) - 1 if delta >= 1 else -len(str(int(1 / delta)))) / 10**6
    return -(-delta // step) * step
