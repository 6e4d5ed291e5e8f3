"""The advice on the number of rounds in sentences, as lines for the specification, and as a part of rehearsal.json."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from synthrelease.errors import percent
from synthrelease.privacy.charges import decimal_text
from synthrelease.privacy.selection import FiniteLaw, StopCoin, StoppingLaw
from synthrelease.rehearsal.intervals import ShareEstimate
from synthrelease.rehearsal.proposal import Offer, Proposal
from synthrelease.rehearsal.proposing import with_law
from synthrelease.rehearsal.rehearse import Rehearsal
from synthrelease.spec.shortlist import PlanTable, judged_digest, rounds_words


def proposal_words(rehearsal: Rehearsal) -> list[str]:
    """What is proposed, what else costs, and what to expect of it; nothing where nothing is offered."""
    proposal, spec = rehearsal.proposal, rehearsal.spec
    if proposal is None:
        return []
    wanted = percent(proposal.wanted)
    chosen = proposal.chosen
    if chosen is None or chosen.law is None or chosen.total is None:
        return [
            f"At no generation budget that was tried does a hidden number of rounds end with nothing with a probability of at "
            f"most {wanted} and rounds pass at the target rate: some private fits, or all configurations, pass too seldom. "
            "More budget for what is fitted once, wider thresholds, or a larger --nothing help; more rounds do not."
        ]
    now = spec.plan.total.epsilon
    least = (
        f"epsilon = {shown(chosen.total)} in all, where this specification costs {shown(now)}"
        if chosen.total < now
        else f"epsilon = {shown(chosen.total)} in all; this specification costs no more, {shown(now)}"
    )
    told = [
        f"The cheapest plan found that ends with nothing in at most {wanted} of the releases: a generation "
        f"{spec.generation_unit} of {decimal_text(chosen.generation)}, and {law_text(chosen.law)}. That is {least}."
    ]
    coin = "" if proposal.coin is None else _coin_words(proposal)
    never = "" if proposal.doubled is None else f"a search that never gives up costs {shown(proposal.doubled)}"
    if coin or never:
        compared = "; ".join(text for text in (coin, never) if text)
        told.append(f"For comparison, at the same generation budget: {compared}.")
    return [*told, _expected(proposal)]


def nothing_words(rehearsal: Rehearsal) -> list[str]:
    """How often the proposed plan ends with nothing, and the one that was rehearsed."""
    found, before = proposed_plan(rehearsal), rehearsed_plan(rehearsal)
    if found is None or found.nothing_high is None:
        return []
    earlier = "" if before is None else f", before {percent(before.nothing)}"
    return [
        f"nothing is released with probability {percent(found.nothing)} (at most {percent(found.nothing_high)}, by a 95% "
        f"interval){earlier}"
    ]


def _coin_words(proposal: Proposal) -> str:
    coin = proposal.coin
    if coin is None or not isinstance(coin.law, StopCoin):
        return ""
    gamma = decimal_text(coin.law.stop_probability)
    return f"the stop coin that ends with nothing as seldom (stop_probability = {gamma}) costs {shown(coin.total)}"


def _expected(proposal: Proposal) -> str:
    found = proposal.judgement
    if found is None:
        return (
            "Not confirmed: the time was used up before it could be tried with fresh attempts. The best of several estimates "
            "is flattered: expect fewer accepted rounds. The same command goes on."
        )
    once = f", with {found.fits} private fits" if found.fits else ""
    warning = ""
    if found.nothing_high > proposal.wanted:
        warning = (
            f" That it is at most {percent(proposal.wanted)} is the best guess, not certain: a smaller --nothing is the way to "
            "be surer."
        )
    return (
        f"In {found.attempts} fresh attempts{once}, by which neither the budget nor the law was chosen, a round is accepted "
        f"with a probability of {percent(found.acceptance)} (95% interval {percent(found.acceptance_low)} to "
        f"{percent(found.acceptance_high)}). So nothing is released with a probability of {percent(found.nothing)}, and of "
        f"{percent(found.nothing_high)} at the unlucky end of its interval; {found.rounds:.1f} rounds are run in the mean. All "
        f"this is about the public file.{warning}"
    )


def shown(value: Fraction) -> str:
    """An epsilon with three decimals, rounded up."""
    return decimal_text(Fraction(-(-value * 1000 // 1), 1000))


def law_text(law: StoppingLaw) -> str:
    """A law in words: with a list of rounds and probabilities."""
    if isinstance(law, StopCoin):
        return f"a stop coin of {decimal_text(law.stop_probability)}"
    atoms = law.atoms if isinstance(law, FiniteLaw) else ()
    if len(atoms) == 1:
        number = atoms[0][0]
        return "one round and no more" if number == 1 else f"at most {number} rounds"
    shares = ", ".join(f"{number} ({decimal_text(share)})" for number, share in atoms)
    return f"at most a hidden number of rounds, drawn from {shares}"


def rounds_text(law: FiniteLaw) -> str:
    """The value of `rounds` in [selection]."""
    return "{ " + ", ".join(f"{number} = {decimal_text(share)}" for number, share in law.atoms) + " }"


def lines(chosen: Offer | None) -> str:
    """What to put into the specification; empty without an offer."""
    if chosen is None or chosen.law is None:
        return ""
    return (
        f"[budget]\ngeneration = {decimal_text(chosen.generation)}\n\n"
        f'[selection]                  # in place of rounds, or of stop_probability and shape\nmode = "hidden_number"\n'
        f"rounds = {rounds_text(chosen.law)}\n"
    )


def rehearsed_plan(rehearsal: Rehearsal) -> PlanTable | None:
    """What a release by the specification as it is costs, and how often it ends with nothing; None without an outlook."""
    spec, found = rehearsal.spec, rehearsal.outlook
    if found is None or not math.isfinite(found.nothing):
        return None
    total = spec.plan.total
    return PlanTable(
        epsilon=total.epsilon,
        delta=total.delta,
        generation=spec.generation_budget,
        rounds=rounds_words(spec),
        judged=judged_digest(spec.tables),
        acceptance=_short(found.acceptance),
        nothing=_short(found.nothing),
        nothing_high=_short(found.nothing_high),
    )


def proposed_plan(rehearsal: Rehearsal) -> PlanTable | None:
    """The same of what is proposed; None where it costs no less, or was not confirmed by fresh attempts."""
    spec, proposal = rehearsal.spec, rehearsal.proposal
    chosen, found = (proposal.chosen, proposal.judgement) if proposal else (None, None)
    if chosen is None or chosen.law is None or chosen.total is None or found is None:
        return None
    if chosen.total >= spec.plan.total.epsilon:
        return None
    proposed = with_law(spec, chosen.generation, chosen.law)
    return PlanTable(
        epsilon=chosen.total,
        delta=proposed.plan.total.delta,
        generation=chosen.generation,
        rounds=rounds_words(proposed),
        judged=judged_digest(spec.tables),
        acceptance=_short(found.acceptance),
        nothing=_short(found.nothing),
        nothing_high=_short(found.nothing_high),
        lines=lines(chosen),
    )


def _short(share: float) -> float:
    """Four digits, as of an estimate."""
    return float(f"{share:.4g}")


def offer_rows(rehearsal: Rehearsal) -> list[dict[str, Any]]:
    """One row for every generation budget: what it costs by the specification's own rule, and with the best law."""
    proposal = rehearsal.proposal
    offers = {each.generation: each for each in proposal.offers} if proposal is not None else {}
    rows = []
    for point in rehearsal.budgets:
        one = offers.get(point.generation)
        estimate: ShareEstimate = point.acceptance
        rows.append(
            {
                "generation": decimal_text(point.generation),
                "total": shown(point.total),
                "share": estimate.share,
                "low": estimate.low,
                "high": estimate.high,
                "trials": estimate.trials,
                "anew": _share(one) if one is not None and one.anew else "",
                "law_total": "" if one is None or one.total is None else shown(one.total),
                "rounds": "none" if one is None or one.law is None else rounds_text(one.law),
                "chosen": one is not None and proposal is not None and one is proposal.chosen,
            }
        )
    return rows


def _share(one: Offer) -> str:
    return percent(sum(one.chances) / len(one.chances))


def proposal_document(proposal: Proposal | None) -> dict[str, Any] | None:
    """The advice as a part of rehearsal.json."""
    if proposal is None:
        return None
    return {
        "nothing_at_most": proposal.wanted,
        "proposed": _offer_document(proposal.chosen),
        "judged": None if proposal.judgement is None else vars(proposal.judgement),
        "stop_coin": None
        if proposal.coin is None or not isinstance(proposal.coin.law, StopCoin)
        else {"stop_probability": float(proposal.coin.law.stop_probability), "total": float(proposal.coin.total)},
        "never_giving_up": None if proposal.doubled is None else float(proposal.doubled),
        "budgets": [_offer_document(each) for each in proposal.offers],
        "frontier": [
            {"total": float(point.total), "nothing": point.nothing, "rounds": _rounds_document(point.law)}
            for point in proposal.frontier
        ],
    }


def _offer_document(one: Offer | None) -> dict[str, Any] | None:
    if one is None:
        return None
    return {
        "generation": float(one.generation),
        "looked_at_anew": one.anew,
        "acceptance": sum(one.chances) / len(one.chances) if one.chances else None,
        "rounds": None if one.law is None else _rounds_document(one.law),
        "total": None if one.total is None else float(one.total),
        "nothing": one.nothing,
    }


def _rounds_document(law: StoppingLaw) -> dict[str, float]:
    return {str(number): float(share) for number, share in law.atoms} if isinstance(law, FiniteLaw) else {}
