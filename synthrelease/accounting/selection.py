"""The cost of a private selection: the theorems behind the loops of `synthrelease.releasing.selection` (theory 2, selection).

This module is the only place where a selection multiplies a charge.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from synthrelease.accounting.charges import HIDDEN_ROUNDS, SELECTION, Charge, decimal_text
from synthrelease.accounting.renyi import exp_up, selected
from synthrelease.errors import BudgetError


@dataclass(frozen=True, kw_only=True)
class SelectionRule:
    """How rounds are repeated.

    Attributes
    ----------
    stop_probability : gamma. Without a shape, the probability of "nothing" after a rejected round, in [0, 1].
    shape : eta of the truncated negative binomial number of rounds; None for a known threshold.
    """

    stop_probability: Fraction = Fraction(0)
    shape: Fraction | None = None


def private_selection(name: str, one_round: Charge, rule: SelectionRule | None = None) -> Charge:
    """Rounds until one is accepted, or until the rule says "nothing". Only the accepted output may be published.

    Known threshold, pure rounds: eps1-DP rounds with no cap on their number give 2 eps1 for any stop probability in [0, 1]:
    with A = Pr[accept] and B = A + gamma (1 - A), every output has probability p_o / B, and p_o and B each move by at most
    e^eps1 (theory 2.1, known threshold, pure; Liu & Talwar, STOC 2019, Theorem 3.1).

    Known threshold, approximate rounds: (eps1, delta1)-DP rounds and gamma > 0 give (2 eps1, (1 + (1 - gamma) e^eps1) delta1 /
    gamma). Proof for a set S of outputs: Pr[S] = s / B with s the expectation of a function of one round with values in [0, 1],
    so s <= e^eps1 s' + delta1; likewise B' <= e^eps1 B + (1 - gamma) delta1, so 1/B <= (e^eps1 + (1 - gamma) delta1 / B) / B'.
    Hence s / B <= e^(2 eps1) s' / B' + e^eps1 (1 - gamma) delta1 / B + delta1 / B, with s' <= B' and B >= gamma. It is never
    more than Liu & Talwar's 3 e^(2 eps1 + eps0) delta1 / gamma, and needs no cap on the rounds (docs/accounting.md).

    Truncated negative binomial: at most K rounds, K hidden (Papernot & Steinke, ICLR 2022): pure rounds cost (2 + eta) eps1,
    and curves become `renyi.selected`.

    Raises
    ------
    BudgetError : for a round that the rule gives no guarantee for.
    """
    rule = rule or SelectionRule()
    gamma = rule.stop_probability
    if rule.shape is not None:
        return _truncated_negative_binomial(name, one_round, gamma, rule.shape)
    if one_round.renyi is not None:
        raise BudgetError(
            "Private selection with a known threshold has no guarantee for zero-concentrated rounds. Set "
            '[selection] mode = "truncated_negative_binomial".'
        )
    if one_round.pure:
        delta, because = Fraction(0), "doubles the charge of one round (Liu & Talwar 2019, Theorem 3.1)"
    elif gamma > 0:
        delta = tidy_up((1 + (1 - gamma) * exp_up(one_round.epsilon)) * one_round.delta / gamma)
        because = "doubles epsilon and multiplies delta by (1 + (1 - gamma) e^epsilon) / gamma, gamma the stop probability"
    else:
        raise BudgetError(
            "Private selection with a known threshold has no guarantee for rounds with delta > 0 when the stop probability is "
            f"0: only pure rounds may go on for ever. The round {one_round.name!r} has delta = {float(one_round.delta):g}. "
            "Set [selection] stop_probability above 0."
        )
    if delta >= 1:
        raise BudgetError(
            f"The selection gives no guarantee: its delta would be {float(delta):.3g}. Lower the delta of the generation, or "
            "raise the stop probability."
        )
    return Charge(
        name=name,
        epsilon=2 * one_round.epsilon,
        delta=delta,
        because=f"selection with a known threshold {because}",
        rule=SELECTION,
        parts=(one_round,),
    )


def _truncated_negative_binomial(name: str, one_round: Charge, gamma: Fraction, shape: Fraction) -> Charge:
    if not (0 < gamma < 1 and shape > -1):
        raise BudgetError(
            "A truncated negative binomial number of rounds needs a stop probability in (0, 1) and a shape above -1."
        )
    because = "best of a hidden, truncated negative binomial number of rounds (Papernot & Steinke 2022)"
    if one_round.pure:
        return Charge(
            name=name,
            epsilon=(2 + shape) * one_round.epsilon,
            because=f"{because}: {decimal_text(2 + shape)} times one round",
            rule=HIDDEN_ROUNDS,
            parts=(one_round,),
        )
    if one_round.renyi is None:
        raise BudgetError(
            "Private selection with a truncated negative binomial number of rounds is implemented for pure and for "
            f"zero-concentrated rounds; the round {one_round.name!r} has delta > 0. Set "
            '[selection] mode = "known_threshold" with a stop probability above 0.'
        )
    curve = selected(one_round.renyi, shape, gamma)
    because += f"; Renyi divergence of order a at most {curve.text()}"
    return Charge(name=name, epsilon=Fraction(0), renyi=curve, because=because, rule=HIDDEN_ROUNDS, parts=(one_round,))


def tidy_up(delta: Fraction) -> Fraction:
    """A delta rounded up to six significant digits, so that a ledger can add it exactly."""
    if delta == 0:
        return delta
    step = Fraction(10) ** (len(str(int(delta))) - 1 if delta >= 1 else -len(str(int(1 / delta)))) / 10**6
    return -(-delta // step) * step
