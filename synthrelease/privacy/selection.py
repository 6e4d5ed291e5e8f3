"""Compute the privacy cost of a private selection from the distribution of its hidden number of rounds.

`synthrelease.releasing.selection` runs the loops that these theorems cover (theory 2, selection). This module is the only place
where a selection multiplies a charge.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol, TypeVar

from synthrelease.errors import BudgetError, Unexpected
from synthrelease.privacy.charges import HIDDEN_ROUNDS, PRICED, SELECTION, Charge, check_above_0, decimal_text, epsilon_at
from synthrelease.privacy.curves import SLACK, decimal_of, exp_up, mean_rounds, selected

if TYPE_CHECKING:
    import numpy as np

# Distributions of the hidden number K of rounds, and their cost ("price") for pure rounds (theory 2b, price of a distribution).
# The loop draws K from a public distribution that was fixed beforehand, and runs at most K rounds. The loop publishes the first
# accepted round, or "nothing". For epsilon-DP rounds, the loop costs `law.price(epsilon)`, and no less, because some epsilon-DP
# round attains this cost (theory 2b.1, price). The computed costs ("prices") are rounded up to multiples of 1e-7, and exceed
# the exact costs by less than 1e-6.

Number = TypeVar("Number", Fraction, float, "np.ndarray")

_STEPS = 10**7  # Costs are rounded up to multiples of 1 / _STEPS
_PRECISE = 1000  # Above this epsilon, the closed forms are replaced by bounds that need no e^epsilon

MOST_VALUES = 1_000
LEAST_PROBABILITY = Fraction(1, 10**12)
_SHOWN = 20  # Largest number of values of a distribution that a text lists


class StoppingLaw(Protocol):
    """A distribution of the hidden number K of rounds of a search."""

    @property
    def words(self) -> str:
        """Return a text that describes the stopping rule, for the charge tree."""

    @property
    def mean(self) -> float:
        """Return the mean of K: the mean length of a search that accepts no round."""

    def nothing(self, rejection: Number) -> Number:
        """Return the probability that all K rounds are rejected, each with probability `rejection`."""

    def price(self, epsilon: Fraction) -> Fraction:
        """Return the epsilon of the whole search, rounded up, if every round is pure and has this epsilon."""


PASSING = (2, 10, 100)
"""Assumed acceptance rates if the true rate is unknown: one accepted round in 2, 10 or 100."""


def nothing_where(law: StoppingLaw, passing: Iterable[int] = PASSING) -> dict[int, float]:
    """Return, for each p in `passing`, the probability that a search releases nothing if each round is accepted with
    probability 1 / p."""
    return {rounds: float(law.nothing(1 - Fraction(1, rounds))) for rounds in passing}


@dataclass(frozen=True, kw_only=True)
class StopCoin:
    """A coin that ends the search with probability gamma after each rejected round: Pr[K = k] = gamma (1 - gamma)^(k - 1).

    Attributes
    ----------
    stop_probability : gamma, above 0 and at most 1.
    """

    stop_probability: Fraction

    def __post_init__(self) -> None:
        if not 0 < self.stop_probability <= 1:
            raise Unexpected(f"The stop probability must be above 0 and at most 1. It is {float(self.stop_probability):g}")

    @property
    def words(self) -> str:
        return f"after each rejected round the search ends with probability {decimal_text(self.stop_probability)}"

    @property
    def exact_mean(self) -> Fraction:
        return 1 / self.stop_probability

    @property
    def mean(self) -> float:
        return float(self.exact_mean)

    def nothing(self, rejection: Number) -> Number:
        stop = _like(self.stop_probability, rejection)
        return stop * rejection / (1 - (1 - stop) * rejection)  # type: ignore[return-value]

    def price(self, epsilon: Fraction) -> Fraction:
        """Return the epsilon of a search with pure rounds: epsilon + ln((E + gamma) / (1 + gamma E)), E = e^epsilon (theory
        2b.2, price of the stop coin)."""
        gamma = self.stop_probability
        if epsilon > _PRECISE:  # (E + gamma) / (1 + gamma E) is below 1 / gamma
            return min(2 * epsilon, _up(epsilon + _ln_up(1 / gamma)))
        ratio = exp_up(epsilon)
        return min(2 * epsilon, _up(epsilon + _ln_up((ratio + gamma) / (1 + gamma * ratio))))

    def approximate_price(self, epsilon: Fraction, delta: Fraction) -> Fraction:
        """Return the epsilon of a search whose rounds are (epsilon, delta)-DP: the same as for pure rounds.

        The proof (theory 2b.9, approximate rounds) compares this coin with a coin that stops more often and costs less.
        """
        return self.price(epsilon)


@dataclass(frozen=True, kw_only=True)
class NegativeBinomial:
    """A truncated negative binomial distribution of the number K of rounds: Pr[K = k] is proportional to (1 - gamma)^k prod_{l
    < k} (l + eta) / (l + 1).

    Attributes
    ----------
    shape : eta, above -1. Shape 1 is the stop coin, shape 0 the logarithmic distribution.
    stop_probability : gamma, above 0 and below 1.
    """

    shape: Fraction
    stop_probability: Fraction

    def __post_init__(self) -> None:
        if not (0 < self.stop_probability < 1 and self.shape > -1):
            raise Unexpected(
                "The stop probability must be above 0 and below 1, and the shape above -1. The stop probability is "
                f"{float(self.stop_probability):g}, and the shape is {float(self.shape):g}"
            )

    @property
    def words(self) -> str:
        shape = f"{'-' if self.shape < 0 else ''}{decimal_text(abs(self.shape))}"
        law = f"truncated negative binomial with shape {shape} and stop probability {decimal_text(self.stop_probability)}"
        return f"the first accepted round of a hidden number of rounds ({law})"

    @property
    def mean(self) -> float:
        return float(mean_rounds(self.shape, self.stop_probability))

    def nothing(self, rejection: Number) -> Number:
        """Return the probability that all rounds are rejected, ((1 - (1 - gamma) x)^-eta - 1) / (gamma^-eta - 1) for a
        rejection probability x, or its limit for eta = 0, in floating point."""
        import numpy as np  # imported here, because the ledger does not need numpy

        stop, shape = float(self.stop_probability), float(self.shape)
        left = 1 - (1 - stop) * np.asarray(rejection, dtype=float)
        if not shape:
            return np.log(left) / math.log(stop)  # type: ignore[return-value]
        return np.expm1(-shape * np.log(left)) / math.expm1(-shape * math.log(stop))  # type: ignore[return-value]

    def price(self, epsilon: Fraction) -> Fraction:
        """Return the epsilon of a search in which every round is pure and has this epsilon.

        The cost is attained at an acceptance probability of 1 / (1 + e^epsilon), where both likelihood ratios are largest
        (theory 2b.6, price of truncated negative binomial distributions).
        """
        most = (2 + self.shape) * epsilon
        if epsilon > _PRECISE:
            return most
        with localcontext(Context(prec=60 + int(epsilon))):
            ratio = decimal_of(exp_up(epsilon))
            near, far = self._none(ratio / (1 + ratio)), self._none(1 / (1 + ratio))
            accepted = ratio * ratio * (1 - near) / (1 - far)
            log_ratio = Fraction(max(accepted, near / far).ln())
        return min(most, _up(log_ratio + SLACK))

    def _none(self, rejection: Decimal) -> Decimal:
        stop, shape = decimal_of(self.stop_probability), decimal_of(self.shape)
        left = (1 - (1 - stop) * rejection).ln()
        return ((-shape * left).exp() - 1) / ((-shape * stop.ln()).exp() - 1) if self.shape else left / stop.ln()


@dataclass(frozen=True, kw_only=True)
class FiniteLaw:
    """A distribution of the number of rounds with finitely many values.

    Attributes
    ----------
    atoms : pairs (rounds, probability) in ascending order of rounds, from at least 1. The exact probabilities are at least
        1e-12, and sum to 1.
    """

    atoms: tuple[tuple[int, Fraction], ...]

    def __post_init__(self) -> None:
        from synthrelease.privacy.law_prices import MOST_ROUNDS  # imported here, because the ledger starts without numpy

        rounds = [k for k, _ in self.atoms]
        if not (rounds and rounds == sorted(set(rounds)) and rounds[0] >= 1 and rounds[-1] <= MOST_ROUNDS):
            listed = ", ".join(map(str, [*rounds[:5], *rounds[5:][-5:]])) or "no number"
            raise Unexpected(f"numbers of rounds from 1 to {MOST_ROUNDS:,} in ascending order", listed)
        if len(rounds) > MOST_VALUES:
            raise Unexpected(
                f"The distribution has {len(rounds):,} different numbers of rounds. At most {MOST_VALUES:,} are allowed"
            )
        for k, probability in self.atoms:
            if not probability >= LEAST_PROBABILITY:
                expected = f"a probability of at least {float(LEAST_PROBABILITY):g}"
                raise Unexpected(expected, f"{float(probability):g}", place=str(k))
        total = sum((probability for _, probability in self.atoms), Fraction(0))
        if total != 1:
            raise Unexpected(
                f"The probabilities must sum to 1. Their sum is {float(abs(total - 1)):g} {'below' if total < 1 else 'above'} 1"
            )

    @classmethod
    def of(cls, rounds: Mapping[int, Fraction] | Iterable[tuple[int, Fraction]]) -> FiniteLaw:
        """Return the distribution from the probability of each number of rounds, in any order."""
        return cls(atoms=tuple(sorted(dict(rounds).items())))

    @property
    def words(self) -> str:
        law = ", ".join(f"{rounds} with probability {_shown(probability)}" for rounds, probability in self.atoms[:_SHOWN])
        rest = f" and {len(self.atoms) - _SHOWN} more" if len(self.atoms) > _SHOWN else ""
        return f"the first accepted round of a hidden number of rounds ({law}{rest})"

    @property
    def exact_mean(self) -> Fraction:
        return sum((k * probability for k, probability in self.atoms), Fraction(0))

    @property
    def mean(self) -> float:
        return float(self.exact_mean)

    def nothing(self, rejection: Number) -> Number:
        terms = [_like(probability, rejection) * rejection**k for k, probability in self.atoms]
        return sum(terms[1:], start=terms[0])  # type: ignore[return-value]

    def price(self, epsilon: Fraction) -> Fraction:
        """Return a proved upper bound on the epsilon of a search with pure rounds: the larger of two suprema (theory 2b.1,
        price), bounded by `privacy.law_prices`.

        Raises
        ------
        BudgetError : if the epsilon of a round is above 300, where rounding errors are not bounded.
        """
        from synthrelease.privacy.law_prices import LARGEST_EPSILON, largest_log_ratio

        most = self.atoms[-1][0] * epsilon  # sequential composition of the longest search
        if not epsilon or len(self.atoms) == 1:
            return most
        if epsilon > LARGEST_EPSILON:
            raise BudgetError(
                f"Each round costs epsilon = {float(epsilon):g}. With a hidden number of rounds, a round may cost at most "
                f"epsilon = {LARGEST_EPSILON}."
            )
        return min(most, _up(largest_log_ratio(self.atoms, epsilon)))

    def approximate_price(self, epsilon: Fraction, delta: Fraction) -> Fraction:
        """Return the epsilon of a search with (epsilon, delta)-DP rounds, rounded up: the epsilon for pure rounds plus at least
        (k - 1) ln(1 / (1 - delta)), k the largest number of rounds (theory 2b.9, approximate rounds)."""
        extra = (self.atoms[-1][0] - 1) * delta / (1 - delta)
        return _up(self.price(epsilon) + extra) if extra else self.price(epsilon)


def _like(probability: Fraction, number: Fraction | float | np.ndarray) -> Fraction | float:
    return probability if isinstance(number, Fraction) else float(probability)


def _shown(probability: Fraction) -> str:
    text = decimal_text(probability)
    return text if Fraction(text) == probability else str(probability)


def _ln_up(value: Fraction) -> Fraction:
    with localcontext(Context(prec=50)):
        return Fraction(decimal_of(value).ln()) + SLACK if value != 1 else Fraction(0)


def _up(value: Fraction) -> Fraction:
    return Fraction(-(-value * _STEPS // 1), _STEPS)


@dataclass(frozen=True, kw_only=True)
class SelectionRule:
    """The rule that says how often a round (fit, draw, test) is repeated: until one is accepted, until a stop coin ends the
    search, or for a hidden random number of rounds.

    Attributes
    ----------
    stop_probability : gamma. Without a shape, the probability, from 0 to 1, that the search ends after a rejected round.
    shape : eta of a truncated negative binomial number of rounds, or None for a stop coin.
    rounds : a distribution with finitely many values, which replaces the other two attributes, or None.
    """

    stop_probability: Fraction = Fraction(0)
    shape: Fraction | None = None
    rounds: FiniteLaw | None = None

    @property
    def law(self) -> StopCoin | NegativeBinomial | FiniteLaw | None:
        """Return the distribution of the hidden number of rounds, or None if rounds are repeated until one is accepted.

        Raises
        ------
        BudgetError : if parameters are outside their range.
        """
        if self.rounds is not None:
            return self.rounds
        try:
            if self.shape is not None:
                return NegativeBinomial(shape=self.shape, stop_probability=self.stop_probability)
            return StopCoin(stop_probability=self.stop_probability) if self.stop_probability else None
        except Unexpected as error:
            problem = f"{error}."
        raise BudgetError(problem)


def private_selection(name: str, one_round: Charge, rule: SelectionRule | None = None, delta: Fraction = Fraction(0)) -> Charge:
    """Return the charge of a selection: rounds are repeated until one is accepted or the rule ends the search. Only the output
    of the accepted round may be published.

    For pure rounds, the distribution of the hidden number of rounds determines the cost (theory 2b.1, price). With a stop coin,
    the cost is epsilon + ln((E + gamma) / (1 + gamma E)), E = e^epsilon (theory 2b.2, price of the stop coin). Without a stop
    coin (gamma = 0), pure rounds cost 2 epsilon (theory 2.1, known threshold, pure; Liu & Talwar, STOC 2019, Theorem 3.1).

    Other rounds have an epsilon at some delta. The epsilon of their selection is `approximate_price` of the distribution; its
    delta is the mean number of rounds times the delta of a round (theory 2b.9, approximate rounds). Curves are converted at
    `delta` divided by the mean number of rounds. Zero-concentrated rounds may also have a truncated negative binomial number of
    rounds: `curves.selected` (theory 2.5, hidden number of rounds; Papernot & Steinke, ICLR 2022, Theorem 2).

    Parameters
    ----------
    rule : the rule by which rounds are repeated; by default until one is accepted.
    delta : the delta of the whole selection, for rounds that are curves.

    Raises
    ------
    BudgetError : if the rule gives no guarantee for these rounds.
    """
    rule = rule or SelectionRule()
    law = rule.law
    if one_round.pure:
        return _twice(name, one_round) if law is None else _priced(name, one_round, law)
    if isinstance(law, NegativeBinomial):
        return _negative_binomial(name, one_round, law)
    if law is None:
        problem = "a budget in rho" if one_round.renyi is not None else f"delta = {float(one_round.delta):g}"
        raise BudgetError(
            f"Each round has {problem}. If rounds are repeated until one is accepted, the selection has a guarantee only if "
            "the rounds satisfy pure differential privacy. Set [selection] stop_probability above 0."
        )
    return _approximate(name, one_round, law, delta)


def _twice(name: str, one_round: Charge) -> Charge:
    """Return the charge of a search with pure rounds until one is accepted: twice the epsilon of a round (theory 2.1, known
    threshold, pure)."""
    because = "selection with a known threshold doubles the charge of one round (Liu & Talwar 2019, Theorem 3.1)"
    return Charge(name=name, epsilon=2 * one_round.epsilon, because=because, rule=SELECTION, parts=(one_round,))


def _priced(name: str, one_round: Charge, law: StoppingLaw) -> Charge:
    """Return the charge of a search whose rounds are pure, with `law` as the distribution of their number (theory 2b.1,
    price)."""
    price = law.price(one_round.epsilon)
    paid = f"with rounds of {decimal_text(one_round.epsilon)} that costs {decimal_text(price)}"
    because = f"{law.words}; {paid} (theory 2b.1, price)"
    return Charge(name=name, epsilon=price, because=because, rule=PRICED, parts=(one_round,))


def _approximate(name: str, one_round: Charge, law: StopCoin | FiniteLaw, delta: Fraction) -> Charge:
    """Return the charge of a search whose rounds have an epsilon at some delta. Its delta is the mean number of rounds times
    the delta of a round."""
    if one_round.renyi is None:
        epsilon, share, whole = one_round.epsilon, one_round.delta, tidy_up(law.exact_mean * one_round.delta)
    else:
        check_above_0(delta)
        share, whole = delta / law.exact_mean, delta
        epsilon = epsilon_at(one_round, share)
    if whole >= 1:
        raise BudgetError(
            f"The selection has no guarantee, because its delta would be {float(whole):.3g}. Choose a smaller delta for the "
            "generation, or fewer rounds on average."
        )
    price = law.approximate_price(epsilon, share)
    because = f"{law.words}; rounds of epsilon = {decimal_text(epsilon)} at delta = {float(share):.3g} cost "
    because += f"{decimal_text(price)}, and the mean number of rounds times that delta (theory 2b.9, approximate rounds)"
    return Charge(name=name, epsilon=price, delta=whole, because=because, rule=PRICED, parts=(one_round,))


def _negative_binomial(name: str, one_round: Charge, law: NegativeBinomial) -> Charge:
    """Return the charge of a search with zero-concentrated rounds and a truncated negative binomial number of them: a Renyi
    curve (theory 2.5, hidden number of rounds)."""
    if one_round.renyi is None:
        raise BudgetError(
            f"Each round has delta = {float(one_round.delta):g}. With a truncated negative binomial number of rounds, every "
            'round must be pure or zero-concentrated. Set [selection] mode to "hidden_number", or to "known_threshold" with a '
            "stop probability above 0."
        )
    curve = selected(one_round.renyi, law.shape, law.stop_probability)
    because = "best of a hidden, truncated negative binomial number of rounds (Papernot & Steinke 2022)"
    because += f"; Renyi divergence of order a at most {curve.text()}"
    return Charge(name=name, epsilon=Fraction(0), renyi=curve, because=because, rule=HIDDEN_ROUNDS, parts=(one_round,))


def tidy_up(delta: Fraction) -> Fraction:
    """Round a delta up to about six significant digits, so that a ledger can add it exactly."""
    if delta == 0:
        return delta
    step = Fraction(10) ** (len(str(int(delta))) - 1 if delta >= 1 else -len(str(int(1 / delta)))) / 10**6
    return -(-delta // step) * step
