"""The cost of a private selection: the theorems behind the loops of `synthrelease.releasing.selection` (theory 2, selection).

This module is the only place where a selection multiplies a charge.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from synthrelease.accounting.charges import HIDDEN_ROUNDS, PRICED, SELECTION, Charge, decimal_text
from synthrelease.accounting.renyi import exp_up, selected
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
    def law(self) -> StoppingLaw | None:
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


def private_selection(name: str, one_round: Charge, rule: SelectionRule | None = None) -> Charge:
    """Rounds until one is accepted, or until the rule says "nothing". Only the accepted output may be published.

    Pure rounds cost the price of the law of the hidden number of rounds (theory 2b.1, price); with a stop coin that is epsilon
    + ln((E + gamma) / (1 + gamma E)), E = e^epsilon (theory 2b.2, price of the stop coin). Without a coin, gamma = 0, they cost
    2 epsilon (theory 2.1, known threshold, pure; Liu & Talwar, STOC 2019, Theorem 3.1).

    Approximate rounds need a coin: theory 2b.3, price of the stop coin, approximate rounds.

    Zero-concentrated rounds need a truncated negative binomial number of rounds: `renyi.selected` (theory 2.5, hidden number of
    rounds; Papernot & Steinke, ICLR 2022, Theorem 2).

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
    if one_round.renyi is not None:
        raise BudgetError(
            f"Private selection with {_named(law)} has no guarantee for zero-concentrated rounds. Set "
            '[selection] mode = "truncated_negative_binomial".'
        )
    if isinstance(law, StopCoin):
        return _approximate(name, one_round, law)
    if law is None:
        raise BudgetError(
            "Private selection with a known threshold has no guarantee for rounds with delta > 0 when the stop probability is "
            f"0: only pure rounds may go on for ever. The round {one_round.name!r} has delta = {float(one_round.delta):g}. "
            "Set [selection] stop_probability above 0."
        )
    raise _only_pure(one_round, law)


def _twice(name: str, one_round: Charge) -> Charge:
    """Pure rounds without end: 2 epsilon (theory 2.1, known threshold, pure)."""
    because = "selection with a known threshold doubles the charge of one round (Liu & Talwar 2019, Theorem 3.1)"
    return Charge(name=name, epsilon=2 * one_round.epsilon, because=because, rule=SELECTION, parts=(one_round,))


def _priced(name: str, one_round: Charge, law: StoppingLaw) -> Charge:
    price = law.price(one_round.epsilon)
    paid = f"with rounds of {decimal_text(one_round.epsilon)} that costs {decimal_text(price)}"
    because = f"{law.words}; {paid} (theory 2b.1, price)"
    return Charge(name=name, epsilon=price, because=because, rule=PRICED, parts=(one_round,))


def _approximate(name: str, one_round: Charge, law: StopCoin) -> Charge:
    """(epsilon + ln R, (1 + c E) delta / gamma), R = (E + gamma) / (1 + gamma E).

    Theory 2b.3, price of the stop coin, approximate rounds.
    """
    gamma, ratio = law.stop_probability, exp_up(one_round.epsilon)
    factor = 1 - gamma
    if ratio > 1:
        worst = (ratio + gamma) / (1 + gamma * ratio)
        share = (worst - 1 / ratio) / (ratio - 1 / ratio)
        factor *= share + (1 - share) / ratio
    delta = tidy_up((1 + factor * ratio) * one_round.delta / gamma * (1 + Fraction(1, 10**30)))
    if delta >= 1:
        raise BudgetError(
            f"The selection gives no guarantee: its delta would be {float(delta):.3g}. Lower the delta of the generation, or "
            "raise the stop probability."
        )
    because = f"{law.words}; that adds ln((E + gamma) / (1 + gamma E)) to epsilon and multiplies delta by (1 + c E) / gamma, "
    because += "c at most 1 - gamma, E = e^epsilon (theory 2b.3, price of the stop coin, approximate rounds)"
    epsilon = law.price(one_round.epsilon)
    return Charge(name=name, epsilon=epsilon, delta=delta, because=because, rule=PRICED, parts=(one_round,))


def _negative_binomial(name: str, one_round: Charge, law: NegativeBinomial) -> Charge:
    if one_round.renyi is None:
        raise _only_pure(one_round, law)
    curve = selected(one_round.renyi, law.shape, law.stop_probability)
    because = "best of a hidden, truncated negative binomial number of rounds (Papernot & Steinke 2022)"
    because += f"; Renyi divergence of order a at most {curve.text()}"
    return Charge(name=name, epsilon=Fraction(0), renyi=curve, because=because, rule=HIDDEN_ROUNDS, parts=(one_round,))


def _named(law: StoppingLaw | None) -> str:
    return "a known threshold" if law is None or isinstance(law, StopCoin) else "a hidden number of rounds"


def _only_pure(one_round: Charge, law: StoppingLaw) -> BudgetError:
    kind = "pure and for zero-concentrated rounds" if isinstance(law, NegativeBinomial) else "pure rounds"
    return BudgetError(
        f"Private selection with this law of the number of rounds is for {kind}; the round {one_round.name!r} has "
        'delta > 0. Set [selection] mode = "known_threshold" with a stop probability above 0.'
    )


def tidy_up(delta: Fraction) -> Fraction:
    """A delta rounded up to six significant digits, so that a ledger can add it exactly."""
    if delta == 0:
        return delta
    step = Fraction(10) ** (len(str(int(delta))) - 1 if delta >= 1 else -len(str(int(1 / delta)))) / 10**6
    return -(-delta // step) * step
