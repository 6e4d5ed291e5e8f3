"""What a rehearsal found out, in sentences: the same for the report and for the terminal."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from synthrelease.bundle.card.sections import attack_sentences
from synthrelease.criteria import explain, explanation_of
from synthrelease.criteria.facts import figure, words
from synthrelease.errors import listing, percent
from synthrelease.privacy.charges import decimal_text
from synthrelease.privacy.plan import loss_text
from synthrelease.privacy.selection import FiniteLaw, StopCoin, StoppingLaw
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.spec.shortlist import PlanTable, judged_digest, rounds_words
from synthrelease.studio.rehearsal.advice import CriterionAdvice, Judgement, Offer, Outlook, Proposal, with_law
from synthrelease.studio.rehearsal.closer_look import COSTLY, Conclusion, CriterionLook, ProjectionEffect, UnguardedPair
from synthrelease.studio.rehearsal.rehearse import Rehearsal

# The advice on the number of rounds in sentences, as lines for the specification, and as a part of rehearsal.json.


def proposal_words(rehearsal: Rehearsal) -> list[str]:
    """What is proposed, what else costs, and what to expect of it; nothing where nothing is offered."""
    proposal, spec = rehearsal.proposal, rehearsal.spec
    if proposal is None:
        return []
    bound = percent(proposal.wanted)
    chosen = proposal.chosen
    if chosen is None or chosen.law is None or chosen.total is None:
        return [
            f"At no generation budget that was tried does a hidden number of rounds find no table with a probability of at "
            f"most {bound} and rounds pass at the target rate: some private fits, or all configurations, pass too seldom. "
            "More budget for what is fitted once, wider thresholds, or a larger --nothing help; more rounds do not."
        ]
    present = spec.plan.total.epsilon
    price = (
        f"epsilon = {shown(chosen.total)} in all, where this specification costs {shown(present)}"
        if chosen.total < present
        else f"epsilon = {shown(chosen.total)} in all; this specification costs no more, {shown(present)}"
    )
    sentences = [
        f"The cheapest plan found that finds no table in at most {bound} of the releases: a generation "
        f"{spec.generation_unit} of {decimal_text(chosen.generation)}, and {law_text(chosen.law)}. That is {price}."
    ]
    coin = "" if proposal.coin is None else _coin_words(proposal)
    never = "" if proposal.doubled is None else f"a search that never gives up costs {shown(proposal.doubled)}"
    if coin or never:
        compared = "; ".join(text for text in (coin, never) if text)
        sentences.append(f"For comparison, at the same generation budget: {compared}.")
    return [*sentences, _expected(proposal)]


def nothing_words(rehearsal: Rehearsal) -> list[str]:
    """How often the proposed plan finds no table, and the one that was rehearsed."""
    proposed, rehearsed = proposed_plan(rehearsal), rehearsed_plan(rehearsal)
    if proposed is None or proposed.nothing_high is None:
        return []
    earlier = "" if rehearsed is None else f", before {percent(rehearsed.nothing)}"
    return [
        f"nothing is released with probability {percent(proposed.nothing)} (at most {percent(proposed.nothing_high)}, by a 95% "
        f"interval){earlier}"
    ]


def _coin_words(proposal: Proposal) -> str:
    coin = proposal.coin
    if coin is None or not isinstance(coin.law, StopCoin):
        return ""
    gamma = decimal_text(coin.law.stop_probability)
    return f"the stop coin that finds no table as seldom (stop_probability = {gamma}) costs {shown(coin.total)}"


def _expected(proposal: Proposal) -> str:
    judgement = proposal.judgement
    if judgement is None:
        return (
            "Not confirmed: the time was used up before it could be tried with fresh attempts. The best of several estimates "
            "is flattered: expect fewer accepted rounds. The same command goes on."
        )
    once = f", with {judgement.fits} private fits" if judgement.fits else ""
    warning = ""
    if judgement.nothing_high > proposal.wanted:
        warning = (
            f" That it is at most {percent(proposal.wanted)} is the best guess, not certain: a smaller --nothing is the way to "
            "be surer."
        )
    return (
        f"In {judgement.attempts} fresh attempts{once}, by which neither the budget nor the law was chosen, a round is "
        f"accepted with a probability of {percent(judgement.acceptance)} (95% interval {percent(judgement.acceptance_low)} to "
        f"{percent(judgement.acceptance_high)}). So nothing is released with a probability of {percent(judgement.nothing)}, "
        f"and of {percent(judgement.nothing_high)} at the unlucky end of its interval; {judgement.rounds:.1f} rounds are run "
        f"in the mean. All this is about the public file.{warning}"
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
    """What a release by the specification as it is costs, and how often it finds no table; None without an outlook."""
    outlook = rehearsal.outlook
    return None if outlook is None or not math.isfinite(outlook.nothing) else _plan(rehearsal.spec, outlook)


def proposed_plan(rehearsal: Rehearsal) -> PlanTable | None:
    """The same of what is proposed; None where it costs no less, or was not confirmed by fresh attempts."""
    spec, proposal = rehearsal.spec, rehearsal.proposal
    chosen, judgement = (proposal.chosen, proposal.judgement) if proposal else (None, None)
    if chosen is None or chosen.law is None or chosen.total is None or judgement is None:
        return None
    if chosen.total >= spec.plan.total.epsilon:
        return None
    return _plan(with_law(spec, chosen.generation, chosen.law), judgement, lines(chosen))


def _plan(spec: ReleaseSpec, expected: Outlook | Judgement, lines: str = "") -> PlanTable:
    """The price of a specification, with what is expected of its search, in four digits."""
    total = spec.plan.total
    return PlanTable(
        epsilon=total.epsilon,
        delta=total.delta,
        generation=spec.generation_budget,
        rounds=rounds_words(spec),
        judged=judged_digest(spec.tables),
        acceptance=_short(expected.acceptance),
        nothing=_short(expected.nothing),
        nothing_high=_short(expected.nothing_high),
        lines=lines,
    )


def _short(share: float) -> float:
    """Four digits, as of an estimate."""
    return float(f"{share:.4g}")


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
        "budgets": [_offer_document(offer) for offer in proposal.offers],
        "frontier": [
            {"total": float(point.total), "nothing": point.nothing, "rounds": _rounds_document(point.law)}
            for point in proposal.frontier
        ],
    }


def _offer_document(offer: Offer | None) -> dict[str, Any] | None:
    if offer is None:
        return None
    return {
        "generation": float(offer.generation),
        "looked_at_anew": offer.anew,
        "acceptance": offer.acceptance if offer.chances else None,
        "rounds": None if offer.law is None else _rounds_document(offer.law),
        "total": None if offer.total is None else float(offer.total),
        "nothing": offer.nothing,
    }


def _rounds_document(law: StoppingLaw) -> dict[str, float]:
    return {str(number): float(share) for number, share in law.atoms} if isinstance(law, FiniteLaw) else {}


def finite(value: float) -> float | None:
    """A number for JSON, which knows no NaN and nothing infinite."""
    return value if math.isfinite(value) else None


def units(rehearsal: Rehearsal) -> dict[str, str]:
    """In what the figure and the threshold of each criterion are measured; empty for a plain number."""
    facts = rehearsal.spec.setting.facts(rehearsal.spec.space[0].transformation)
    return {criterion.name: explain(criterion).figure_unit(facts) for criterion in rehearsal.spec.criteria}


def below_zero(rehearsal: Rehearsal) -> str:
    """What figures below 0 mean, of criteria that have them; empty where none has."""
    names = [criterion.name for criterion in rehearsal.spec.criteria if criterion.best_figure < 0]
    if not names:
        return ""
    return (
        f"Figures of {listing(names)} below 0 are room to spare: at 0 or less every original quantile lies in the bins that "
        "are allowed, and the figure says by what share of the rows."
    )


def short(value: float | None) -> str:
    """A figure to three digits; empty where there is none."""
    if value is None or math.isnan(value):
        return ""
    return "kept nothing" if math.isinf(value) else figure(value, 3)


def outlook_words(rehearsal: Rehearsal) -> list[str]:
    """Price and chance of nothing, what the numbers of rounds mean, and what to do about them; nothing without an outlook."""
    outlook = rehearsal.outlook
    if outlook is None or not rehearsal.shortlist:
        return []
    typical, mean = map(_rounds, (outlook.typical_rounds, outlook.expected_rounds))
    price = loss_text(rehearsal.spec.plan.total)
    law, high = rehearsal.spec.selection_rule.law, ""
    if outlook.nothing_high > outlook.nothing:
        high = f" (at most {percent(outlook.nothing_high)}, by a 95% interval of these attempts on the public file)"
    chance = f"{percent(outlook.nothing)}{high}"
    sentences = [f"A release from this shortlist costs {price}, and spends it on nothing with probability {chance}."]
    if law is not None and law.mean == 1:
        return [*sentences, "It has one round."]
    if outlook.expected_rounds < 1.5:
        return [*sentences, "As a rule the first or second round is accepted."]
    sentences.append(f"Half of all releases need about {typical} rounds or fewer; the mean is {mean}.")
    if not outlook.unlucky:
        return sentences
    spec = rehearsal.spec
    shared = ["the measurements that all rounds share"] if spec.shared_measurements else []
    fitted = [f"the private line of {criterion.name!r}" for criterion in spec.criteria if criterion.once()]
    shared_fits = " and ".join([*shared, *fitted]) or "the number of rows"
    longest = "" if law is None else f" (after about {law.mean:,.0f} rounds)"
    sentences.append(
        f"Why the mean is so large: before the rounds, {shared_fits} is fitted or measured once, with noise, and all rounds "
        f"of a release share its luck. "
        f"{outlook.unlucky} of the {outlook.fits} such fits of this rehearsal were unlucky: with them "
        f"hardly any round passes, and the search goes on until it is stopped{longest}; with the others a release comes soon. "
        "The mean is made by the unlucky ones and describes no release."
    )
    advice = [
        "give the generation more budget" if shared else "",
        "give it more epsilon (it is paid for once, not in every round)" if fitted else "",
        "widen the threshold that it fails by",
        "take the criterion in its one-step form, which needs no private line" if fitted else "",
        "give up sooner, by a larger stop_probability or fewer `rounds` (that saves time and epsilon)" if longest else "",
    ]
    sentences.append(
        "What to do about it: an unlucky search costs time and, when it finds no table, the budget of the release. If the "
        f"probability above is too large for you: {'; or '.join(step for step in advice if step)}. Otherwise let it run."
    )
    return sentences


def _rounds(value: float) -> str:
    """A number of rounds; that of a search without end."""
    if math.isinf(value):
        return "without end"
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


_OPEN = (
    "How many rows one person can have is not answered yet ([unit] in the configuration). Here each row counted as another; "
    "`plan`, `check` and `release` refuse until it is said. With a key fewer rows are released: rehearse again then."
)


def warnings(rehearsal: Rehearsal) -> list[str]:
    """The open question about persons, and what is wrong with thresholds, one sentence each."""
    open_questions = [] if rehearsal.spec.unit.answered else [_OPEN]
    if rehearsal.look is None:
        return open_questions
    looks, of_each = zip(rehearsal.spec.criteria, rehearsal.look.criteria, strict=True), units(rehearsal)
    sentences = []
    for criterion, look in looks:
        unit = f" (in: {of_each[criterion.name]})" if of_each[criterion.name] else ""
        sentences += [f"{criterion.name}{unit}: {verdict.text}" for verdict in look.verdicts]
    return open_questions + sentences


def binding(rehearsal: Rehearsal) -> str:
    """Which criterion refuses most often, and where its error is; empty without a closer look."""
    if rehearsal.look is None or not rehearsal.criteria:
        return ""

    def near(pair: tuple[CriterionAdvice, CriterionLook]) -> tuple[float, float]:
        advice, look = pair
        ratio = look.figure / advice.threshold if advice.threshold > 0 and not math.isnan(look.figure) else 0.0
        return advice.fails, ratio

    advice, look = max(zip(rehearsal.criteria, rehearsal.look.criteria, strict=True), key=near)
    if advice.fails:
        sentence = f"{advice.name} refuses most often: {percent(advice.fails)} of the attempts."
    else:
        sentence = f"No criterion refused an attempt; {advice.name} is nearest to its threshold."
    if look.places:
        listed = ", ".join(f"{cell} ({times})" for cell, times in look.places[:4])
        sentence += f" Where its largest error was, in {rehearsal.look.candidates} candidates (times): {listed}."
    if look.offender is not None:
        sentence += f" In a typical one: {look.offender}."
    elif why := explanation_of(_kind(rehearsal, advice.name)).no_offender:
        sentence += f" It has no worst place: {why[0].lower()}{why[1:]}"
    return sentence


def _kind(rehearsal: Rehearsal, name: str) -> str:
    return next(criterion.kind for criterion in rehearsal.spec.criteria if criterion.name == name)


def telling_pairs(rehearsal: Rehearsal, limit: int = 6) -> list[str]:
    """A few of the pairs that nothing looks at: those that candidates lost, and the strongest."""
    pairs = rehearsal.look.pairs if rehearsal.look else ()
    chosen = sorted(pairs, key=lambda pair: not pair.lost)[:limit]
    rest = [f"{len(pairs) - limit} more are in the report."] if len(pairs) > limit else []
    return [*(("LOST: " if pair.lost else "") + pair_words(pair) for pair in chosen), *rest]


def pair_words(pair: UnguardedPair) -> str:
    """A pair that nothing looks at, in a line."""
    first, second = map(words, pair.columns)
    in_candidates = "" if pair.candidates_v is None else f", {pair.candidates_v:.2f} in the candidates"
    released = "" if pair.released is None else f", {percent(pair.released)} in the candidates"
    overall = f"among all rows {percent(pair.overall)}"
    return (
        f"{first} : {second}: Cramer's V {pair.cramers_v:.2f} in the public file{in_candidates}; {second}={pair.outcome} among "
        f"{first}={pair.condition}: {percent(pair.original)} in the public file{released}; {overall}"
    )


def verdict_words(rehearsal: Rehearsal) -> list[str]:
    """Candidates beside independent columns, and what a release from this shortlist is refused for."""
    verdict = None if rehearsal.look is None else rehearsal.look.verdict
    if verdict is None or not verdict.hang_together:
        return []
    sentences = []
    if verdict.pairs_off is not None:
        sentences.append(
            f"In a typical candidate {percent(verdict.pairs_off)} of the rows are in a wrong cell of a table of two columns "
            f"that are associated, on average; independent columns have {percent(verdict.pairs_off_if_independent)}."
        )
    chosen = None if rehearsal.proposal is None else rehearsal.proposal.chosen
    if chosen is not None and chosen.generation < rehearsal.spec.generation_budget:
        sentences.append(
            f"These are candidates at the configuration's generation {rehearsal.spec.generation_unit} of "
            f"{decimal_text(rehearsal.spec.generation_budget)}. At {decimal_text(chosen.generation)}, which is proposed, more "
            "noise hides more of the associations, as far as criteria allow it: rehearse what you adopt."
        )
    refused = verdict.mistakes(rehearsal.spec.not_promised, "the acceptance file")
    return sentences + [f"`release` refuses this shortlist: expected {expected}; found {fault}." for expected, fault in refused]


def conclusion_words(rehearsal: Rehearsal) -> list[str]:
    """For each intended question what a reader would take from candidates, and the answer of the public file."""
    return [
        f"{conclusion.question}: {answer_text(conclusion.public, conclusion.unit)} in the public file, "
        f"{_spread(conclusion)} in the candidates"
        if not conclusion.why
        else f"{conclusion.question}: {conclusion.why}"
        for conclusion in (rehearsal.look.conclusions if rehearsal.look else ())
    ]


def answer_text(value: float | None, unit: str) -> str:
    """An answer in its unit."""
    if value is None:
        return "no such rows"
    if unit == "rows":
        return f"{value:,.0f} rows"
    return f"{100 * value:.1f}%" if unit == "share" else " ".join(filter(None, (figure(value, 4), unit)))


def _spread(concluded: Conclusion) -> str:
    values = [value for value in concluded.candidates if value is not None]
    if not values:
        return "no answer"
    low, high = (answer_text(end, concluded.unit) for end in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def projection_advice(rehearsal: Rehearsal) -> str:
    """What the projection of the configuration costs, and what to do where that is much; empty where it changes little."""
    look = rehearsal.look
    drafted = None if look is None else next((projection for projection in look.projections if projection.drafted), None)
    if look is None or drafted is None:
        return ""
    if drafted.changed is None:
        return "The minimum count leaves no row. Take a smaller one, fewer columns, or one about combinations of few columns."
    if drafted.changed <= COSTLY:
        return ""
    hurt = _most_hurt(rehearsal, drafted)
    milder = [
        projection
        for projection in look.projections
        if projection.changed is not None and projection.changed < drafted.changed / 2
    ]
    offers = "; ".join(f"{effect.words} ({percent(effect.changed or 0.0)})" for effect in milder)
    return (
        f"The projection ({drafted.words}) replaces {percent(drafted.changed)} of the rows by copies of "
        f"others; {percent(drafted.repeated)} of the rows then stand there just that often.{hurt} Such copies are no further "
        "persons, and estimates from them look more certain than they are. "
        + (f"Milder ones, with the share they replace: {offers}. " if milder else "")
        + "Fewer columns or coarser bins help, too. To remove rare combinations of a few columns, use the projection "
        "'frequent_combinations' and the criterion 'face_privacy' with the same `columns`."
    )


def _most_hurt(rehearsal: Rehearsal, effect: ProjectionEffect) -> str:
    shares = [
        added / criterion.threshold if criterion.threshold > 0 and math.isfinite(added) else 0.0
        for criterion, added in zip(rehearsal.spec.criteria, effect.added, strict=True)
    ]
    if not shares or max(shares) <= 0:
        return ""
    worst = int(np.argmax(shares))
    name, added = rehearsal.spec.criteria[worst].name, figure(effect.added[worst], 2)
    return f" It adds {added} to {name!r}, {percent(shares[worst])} of its threshold."


# What attacks on public twins got, beside what the guarantee allows.


def attack_words(rehearsal: Rehearsal) -> list[str]:
    """What each attack got; nothing where there was none."""
    attacks = rehearsal.attacks
    if attacks is None:
        return []
    said = [*attack_sentences(attacks.table(), all_columns=True)]
    if attacks.contradicts:
        said.append(
            "THE CLAIM DOES NOT HOLD: the guesses are right more often than it allows, and chance explains that with a "
            "probability of at most 0.1%. Do not release; keep the report, and say what happened "
            "(docs/audit.md, When it contradicts a claim)."
        )
    return said
