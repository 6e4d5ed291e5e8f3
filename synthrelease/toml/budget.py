"""The tables [budget], [unit] and [selection]: what may be spent, on whose records, and how rounds are repeated."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Literal

from pydantic import Field, model_validator

from synthrelease.errors import Unexpected
from synthrelease.toml.fields import Line, Reason, SpecTable


class BudgetTable(SpecTable):
    """[budget]: the budget of one fit, and the most that the whole release may cost.

    Attributes
    ----------
    generation : epsilon of one fit; where a family has a zero-concentrated guarantee, rho of one fit, and pure ones beside it
        get the epsilon of which epsilon^2 / 2 is rho. Example: `generation = 4`.
    generation_delta : delta of one fit, for families with an approximate guarantee. Example: `generation_delta = 1e-10`.
    limit : the largest epsilon of the whole release; a plan above it is refused before anything is read. Left out, nothing but
        the ledger limits it. Example: `limit = 9.98`.
    delta : the largest delta of the whole release, at which zero-concentrated guarantees are stated; 0 allows pure
        differential privacy alone. Example: `delta = 1e-9`.
    rows : epsilon of counting the rows that are kept, where [input] rows is "private" and rows can be left out.
        Example: `rows = "1/20"`.
    reason : why this budget, in the steward's words. Example: `reason = "Agreed with the data protection officer"`.
    """

    generation: Fraction = Field(gt=0)
    generation_delta: Fraction = Field(default=Fraction(0), ge=0, lt=1)
    limit: Fraction | None = Field(default=None, gt=0)
    delta: Fraction = Field(default=Fraction(0), ge=0, lt=1)
    rows: Fraction = Field(default=Fraction(1, 20), ge=Fraction(1, 10**6))
    reason: Reason = ""


NOT_ANSWERED = "not answered"
"""Of [unit] records_per_person: nobody has said yet how rows belong to persons. What spends refuses it."""


class UnitTable(SpecTable):
    """[unit]: how the records that the guarantee protects belong to persons.

    Attributes
    ----------
    name : what a record is, in one word or two. Example: `name = "hospital stay"`.
    key : the column of the file that says whose row it is. Of each person the first records_per_person rows that the rules keep
        are released, and all others left out; then all rows of a person are protected together, however many there are. The
        key is used for this alone and never released. 12, 12.0, 1.2e+01 and 0.12E+02 are one key; 007 and 7 are two, and so
        are 1E5 and 100000, because they may be codes. Without a key each row is a record, and nothing is left out.
        Example: `key = "patient"`.
    first_by : with a key, the columns of the file by which a person's rows are ordered: numbers by size, dates by time, other
        texts by their first letters, rows without a value last. Rows that agree in them are ordered by what is released.
        Example: `first_by = ["admitted"]`, `key = "patient"`.
    records_per_person : with a key, how many rows of a person are released at most; without one, in how many rows of the file
        one person can stand at most. "not answered", as in drafts, is refused by what spends.
        Example: `records_per_person = 12`.
    why : where that number comes from. Example: `why = "One stay a month is counted"`.
    """

    name: Line = Field(default="record", min_length=1, max_length=60)
    key: str | None = Field(default=None, min_length=1)
    first_by: list[str] = Field(default=[], max_length=20)
    records_per_person: Annotated[int, Field(ge=1, le=1000)] | Literal["not answered"] = 1
    why: Reason = ""

    @property
    def answered(self) -> bool:
        """Whether somebody has said how rows belong to persons."""
        return self.records_per_person != NOT_ANSWERED

    @property
    def records(self) -> int:
        """The most records of a person; 1 as long as nobody has said anything else."""
        return self.records_per_person if isinstance(self.records_per_person, int) else 1

    @model_validator(mode="after")
    def _order_belongs_to_a_key(self) -> UnitTable:
        if self.first_by and self.key is None:
            raise ValueError("first_by orders the rows of a person, so it needs a key")
        return self


SMALLEST_LAW = Fraction(1, 10**6)
"""Of the stop probability and the shape (0 apart) of a hidden number of rounds; below, the law is slow and inexact to get."""


Rounds = Annotated[str, Field(pattern="^[1-9][0-9]{0,4}$")]
"""A number of rounds, as the key of a TOML table."""


class SelectionTable(SpecTable):
    """[selection]: how rounds are repeated, what is tested in a round, and what is measured.

    Attributes
    ----------
    mode : "known_threshold" (Liu & Talwar 2019), at most a "hidden_number" of rounds with the law of `rounds`, which for pure
        rounds costs least (theory 2b.4, best law), or at most a hidden, "truncated_negative_binomial" number of rounds
        (Papernot & Steinke 2022), whose price for zero-concentrated rounds is a Renyi curve.
        Example: `mode = "truncated_negative_binomial"`, `stop_probability = 0.02`.
    rounds : the law of the hidden number of rounds: numbers of rounds with their probabilities, which are exact and add up to
        1. For mode "hidden_number" alone. The number is drawn before the rounds and never shown.
        Example: `rounds = { 1 = 0.185, 6 = 0.544, 7 = 0.271 }`, `mode = "hidden_number"`.
    stop_probability : the probability that the search ends after a rejected round (gamma of the theorem): a search that never
        accepts ends after about one over it rounds; 0 never ends it, and makes pure rounds cost twice their epsilon. Not for
        mode "hidden_number". Example: `stop_probability = 0.001`.
    shape : eta of the truncated negative binomial law; 1 is geometric, 0 logarithmic. For that mode alone.
        Example: `shape = 1`, `mode = "truncated_negative_binomial"`, `stop_probability = 0.02`.
    test : "each" criterion by its own noisy figure in every round, or all by one noisy test ("joint"; theory 4, joint test),
        with the figures released once after acceptance. Example: `test = "joint"`, `test_epsilon = 0.2`.
    test_epsilon : budget of one joint test; required with test = "joint", and for it alone.
        Example: `test_epsilon = 0.2`, `test = "joint"`.
    false_acceptance : of the joint test: the largest probability that a round with a criterion above its threshold passes.
        Example: `false_acceptance = 0.01`.
    measurements : "fresh" in every round, or made once before the loop and "shared" by all rounds (theory 5, shared
        measurements). Example: `measurements = "shared"`.
    publish_measurements : put the noisy marginals that the released table was made from into the release.
        Example: `publish_measurements = true`.
    bound_risk : the probability, over the noise of shared measurements, that one of the bounds of the criteria that they answer
        is wrong, whichever table is released (theory 13.6, criteria that measurements answer). Example: `bound_risk = 0.01`.
    """

    mode: Literal["known_threshold", "hidden_number", "truncated_negative_binomial"] = "known_threshold"
    rounds: dict[Rounds, Annotated[Fraction, Field(gt=0, le=1)]] | None = Field(default=None, min_length=1, max_length=1000)
    stop_probability: Fraction = Field(default=Fraction(1, 1000), ge=0, le=1)
    shape: Fraction = Field(default=Fraction(1), gt=-1, le=1000)
    test: Literal["each", "joint"] = "each"
    test_epsilon: Fraction | None = Field(default=None, gt=0)
    false_acceptance: Fraction = Field(default=Fraction(1, 100), gt=0, lt=Fraction(1, 2))
    measurements: Literal["fresh", "shared"] = "fresh"
    publish_measurements: bool = False
    bound_risk: Fraction = Field(default=Fraction(1, 100), ge=Fraction(1, 1000000), le=Fraction(1, 2))

    @model_validator(mode="after")
    def _law_fits(self) -> SelectionTable:
        if (self.mode == "hidden_number") != (self.rounds is not None):
            raise ValueError('mode = "hidden_number" needs rounds, and other modes must not have it')
        if self.rounds is not None and "stop_probability" in self.model_fields_set:
            raise ValueError('stop_probability says nothing where mode = "hidden_number"')
        return self

    @model_validator(mode="after")
    def _fits(self) -> SelectionTable:
        if (self.test == "joint") != (self.test_epsilon is not None):
            raise ValueError('test = "joint" needs test_epsilon, and test = "each" must not have it')
        if self.mode == "truncated_negative_binomial":
            if not SMALLEST_LAW <= self.stop_probability < 1:
                expected = f"a stop_probability of at least 1e-6 and below 1, because of {self.mode!r}"
                raise Unexpected(expected, f"{float(self.stop_probability):g}")
            if self.shape and abs(self.shape) < SMALLEST_LAW:
                raise Unexpected("a shape of 0, or of at least 1e-6 above or below", f"{float(self.shape):g}")
        elif "shape" in self.model_fields_set:
            raise ValueError('shape belongs to mode = "truncated_negative_binomial"')
        return self
