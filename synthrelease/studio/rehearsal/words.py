"""Write the results of a rehearsal as sentences, the same for the report and for the terminal."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from synthrelease.bundle.card.sections import attack_sentences
from synthrelease.criteria import explain, explanation_of
from synthrelease.criteria.facts import figure, words
from synthrelease.errors import listing, percent, so_many
from synthrelease.privacy.charges import decimal_text
from synthrelease.privacy.plan import loss_text
from synthrelease.privacy.selection import FiniteLaw
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.spec.shortlist import PlanTable, judged_digest, rounds_words
from synthrelease.studio.rehearsal.advice import CriterionAdvice, Judgement, Offer, Outlook, with_law
from synthrelease.studio.rehearsal.attempts import ShareEstimate
from synthrelease.studio.rehearsal.closer_look import Conclusion, CriterionLook, UnguardedPair
from synthrelease.studio.rehearsal.rehearse import Rehearsal

# The proposal: a generation budget and a number of rounds.


def proposal_words(rehearsal: Rehearsal) -> list[str]:
    """Say what the proposed plan costs and how often it finds no table. Empty without a proposal."""
    proposal, spec = rehearsal.proposal, rehearsal.spec
    if proposal is None:
        return []
    chosen, wanted = proposal.chosen, f"{100 * proposal.wanted:g}%"
    if chosen is None or chosen.law is None or chosen.total is None:
        return [
            "No plan can be proposed. At every generation budget that was tried, too few rounds are accepted, or the search "
            f"finds no table in more than {wanted} of the releases (--nothing). A larger generation budget, wider thresholds "
            "or a larger --nothing can help. More rounds do not help."
        ]
    present = spec.plan.total.epsilon
    sentences = [
        f"Proposed plan: a generation {spec.generation_unit} of {decimal_text(chosen.generation)} and {law_text(chosen.law)}. "
        f"The release then costs epsilon = {epsilon_text(chosen.total)}. The current plan costs epsilon = "
        f"{epsilon_text(present)}."
    ]
    if proposal.judgement is None:
        sentences.append(
            "The plan is not confirmed, because no time was left to test it with new attempts. Expect fewer accepted rounds "
            "than in the attempts that chose the plan. Run the same command again to continue."
        )
    else:
        sentences += _expected(proposal.judgement, proposal.wanted)
    if proposal.without_limit is not None:
        sentences.append(
            "For comparison: with this generation budget and no limit on the rounds, the release costs epsilon = "
            f"{epsilon_text(proposal.without_limit)} and always releases a table."
        )
    return sentences


def _expected(judgement: Judgement, wanted: float) -> list[str]:
    fits = f", with {so_many(judgement.fits, 'private fit')}" if judgement.fits else ""
    limit, interval = f"{100 * wanted:g}%", f"{percent(judgement.acceptance_low)} to {percent(judgement.acceptance_high)}"
    accepted = f"Of these attempts, {percent(judgement.acceptance)} were accepted (95% interval {interval})"
    sentences = [
        f"This plan ends without a table in {percent(judgement.nothing)} of the releases "
        f"({_at_most(judgement.nothing_high)} by a 95% interval). The estimate comes from {judgement.attempts:,} new attempts "
        f"on the public file{fits}, which had no influence on the budget or the rounds. {accepted}. The search runs "
        f"{judgement.rounds:.1f} rounds on average."
    ]
    if judgement.nothing > wanted:
        sentences.append(
            f"This share is above the {limit} of --nothing, because the attempts that chose the plan were too favourable. "
            "`--adopt` does not write this plan. Use a smaller --nothing to get a plan with more budget or more rounds."
        )
    elif judgement.nothing_high > wanted:
        sentences.append(
            f"The estimate is within the {limit} of --nothing, but its interval is not. Use a smaller --nothing to be safer."
        )
    return sentences


def nothing_words(rehearsal: Rehearsal) -> list[str]:
    """Say how often the proposed plan finds no table. Empty if it is not cheaper than the rehearsed plan, or not confirmed."""
    proposed, rehearsed = proposed_plan(rehearsal), rehearsed_plan(rehearsal)
    if proposed is None or proposed.nothing_high is None:
        return []
    earlier = "" if rehearsed is None else f" Before, this share was {percent(rehearsed.nothing)}."
    return [
        f"The search finds no table in {percent(proposed.nothing)} of the releases ({_at_most(proposed.nothing_high)} by a 95% "
        f"interval).{earlier}"
    ]


def _at_most(share: float) -> str:
    text = percent(share)
    return text if text.startswith("under") else f"at most {text}"


def epsilon_text(value: Fraction) -> str:
    return decimal_text(Fraction(-(-value * 1000 // 1), 1000))


def law_text(law: FiniteLaw) -> str:
    if len(law.atoms) == 1:
        number = law.atoms[0][0]
        return "one round" if number == 1 else f"at most {number} rounds"
    shares = ", ".join(f"{number} (probability {decimal_text(share)})" for number, share in law.atoms)
    return f"at most a hidden number of rounds, drawn from {shares}"


def rounds_text(law: FiniteLaw) -> str:
    """Return the value of `rounds` in [selection], such as `{ 1 = 0.25, 7 = 0.75 }`."""
    return "{ " + ", ".join(f"{number} = {decimal_text(share)}" for number, share in law.atoms) + " }"


def lines(chosen: Offer | None) -> str:
    if chosen is None or chosen.law is None:
        return ""
    return (
        f"[budget]\ngeneration = {decimal_text(chosen.generation)}\n\n"
        f'[selection]  # instead of rounds, stop_probability and shape\nmode = "hidden_number"\n'
        f"rounds = {rounds_text(chosen.law)}\n"
    )


def rehearsed_plan(rehearsal: Rehearsal) -> PlanTable | None:
    """Return the cost of the rehearsed plan and how often it finds no table; None without attempts."""
    outlook = rehearsal.outlook
    return None if outlook is None or not math.isfinite(outlook.nothing) else _plan(rehearsal.spec, outlook)


def proposed_plan(rehearsal: Rehearsal) -> PlanTable | None:
    """Return the cost of the proposed plan and how often it finds no table; None if it is not cheaper or not confirmed."""
    spec, proposal = rehearsal.spec, rehearsal.proposal
    chosen, judgement = (proposal.chosen, proposal.judgement) if proposal and proposal.confirmed else (None, None)
    if chosen is None or chosen.law is None or chosen.total is None or judgement is None:
        return None
    if chosen.total >= spec.plan.total.epsilon:
        return None
    return _plan(with_law(spec, chosen.generation, chosen.law), judgement, lines(chosen))


def _plan(spec: ReleaseSpec, expected: Outlook | Judgement, lines: str = "") -> PlanTable:
    total = spec.plan.total
    return PlanTable(
        epsilon=total.epsilon,
        delta=total.delta,
        generation=spec.budget.generation,
        rounds=rounds_words(spec),
        judged=judged_digest(spec.tables),
        acceptance=_short(expected.acceptance),
        nothing=_short(expected.nothing),
        nothing_high=_short(expected.nothing_high),
        lines=lines,
    )


def _short(share: float) -> float:
    return float(f"{share:.4g}")


def finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def units(rehearsal: Rehearsal) -> dict[str, str]:
    facts = rehearsal.spec.setting.facts(rehearsal.spec.space[0].transformation)
    return {criterion.name: explain(criterion).figure_unit(facts) for criterion in rehearsal.spec.criteria}


def generator_words(rehearsal: Rehearsal) -> list[str]:
    """Say how often the best configuration of each generator family was accepted. Empty with only one family."""
    race, best = rehearsal.race, dict[str, ShareEstimate]()
    for c in sorted(range(len(race.estimates)), key=lambda c: -race.chances[c]):
        if race.estimates[c].trials:
            best.setdefault(rehearsal.spec.space[c].generator.family, race.estimates[c])
    if len(best) < 2:
        return []
    shares = "; ".join(
        f"{family} in {percent(share.share)} of {share.trials} attempts ({percent(share.low)} to {percent(share.high)})"
        for family, share in best.items()
    )
    return [f"The best configuration of each family was accepted: {shares}. If intervals overlap, no family is clearly best."]


def below_zero(rehearsal: Rehearsal) -> str:
    names = [criterion.name for criterion in rehearsal.spec.criteria if criterion.best_figure < 0]
    if not names:
        return ""
    return (
        f"Values of {listing(names)} can be negative. At 0 or less, every quantile of the file is in an allowed bin. The "
        "value -0.02 means that at least 2% of the rows would have to change before a quantile leaves its allowed bins."
    )


def short(value: float | None) -> str:
    """Return a value with three digits, or "" without a value."""
    if value is None or math.isnan(value):
        return ""
    return "no rows kept" if math.isinf(value) else figure(value, 3)


def outlook_words(rehearsal: Rehearsal) -> list[str]:
    """Say what a release with the current settings costs, how often it finds no table, and how many rounds it needs.

    The list is empty without a shortlist.
    """
    outlook, spec = rehearsal.outlook, rehearsal.spec
    if outlook is None or not rehearsal.shortlist:
        return []
    law = spec.selection_rule.law
    at_most = f" ({_at_most(outlook.nothing_high)} by a 95% interval)" if outlook.nothing_high > outlook.nothing else ""
    sentences = [
        f"With the current settings, a release from this shortlist costs {loss_text(spec.plan.total)}. The search finds no "
        f"acceptable table in {percent(outlook.nothing)} of the releases{at_most}. The budget is spent in these cases, too."
    ]
    if law is not None and law.mean == 1:
        return [*sentences, "The search has one round."]
    if outlook.expected_rounds < 1.5:
        return [*sentences, "Usually the first or second round is accepted."]
    typical, mean = map(_rounds, (outlook.typical_rounds, outlook.expected_rounds))
    sentences.append(f"Half of all releases need about {typical} rounds or fewer; the mean is {mean}.")
    if not outlook.unlucky:
        return sentences
    shared = ["the shared measurements"] if spec.shared_measurements else []
    fitted = [f"the private regression of {criterion.name!r}" for criterion in spec.criteria if criterion.once()]
    made_once = " and ".join([*shared, *fitted]) or "the number of rows"
    until = "" if law is None else f", after about {law.mean:,.0f} rounds"
    sentences.append(
        f"The mean is large because of unlucky fits. All rounds of a release share {made_once}, computed once with noise. With "
        f"{outlook.unlucky} of the {outlook.fits} fits in this rehearsal hardly any round is accepted, and the search "
        f"continues until it is stopped{until}. With the other fits, one of the first rounds is accepted."
    )
    advice = [
        "increase the generation budget" if shared else "",
        "give the regression more epsilon, which is charged once and not in every round" if fitted else "",
        "raise the threshold that is missed most often",
        "use the one-step form of the criterion, which needs no private regression" if fitted else "",
        "set fewer `rounds` or a larger stop_probability, to save time and epsilon" if until else "",
    ]
    sentences.append(
        "An unlucky search takes longer, and a search without a table spends the budget, too. To make this less likely: "
        f"{'; or '.join(step for step in advice if step)}."
    )
    return sentences


def _rounds(value: float) -> str:
    if math.isinf(value):
        return "without end"
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


_OPEN = (
    "The configuration does not say how many rows one person can have ([unit]). This rehearsal assumed that every row is a "
    "different person. `plan`, `check` and `release` refuse a configuration without this answer. With a key, a release uses "
    "fewer rows, so rehearse again."
)


def warnings(rehearsal: Rehearsal) -> list[str]:
    """Return warnings about the thresholds of criteria and about a missing [unit]."""
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
    """Say which criterion rejects most often, and where its largest errors are; empty without a closer look."""
    if rehearsal.look is None or not rehearsal.criteria:
        return ""

    def near(pair: tuple[CriterionAdvice, CriterionLook]) -> tuple[float, float]:
        advice, look = pair
        ratio = look.figure / advice.threshold if advice.threshold > 0 and not math.isnan(look.figure) else 0.0
        return advice.fails, ratio

    advice, look = max(zip(rehearsal.criteria, rehearsal.look.criteria, strict=True), key=near)
    if advice.fails:
        sentence = f"The criterion {advice.name} rejects attempts most often: {percent(advice.fails)} of them."
    else:
        sentence = f"No criterion rejected an attempt. The value of {advice.name} is nearest to its threshold."
    if look.places:
        listed = ", ".join(f"{cell} ({so_many(times, 'time')})" for cell, times in look.places[:4])
        tables = so_many(rehearsal.look.candidates, "synthetic table")
        sentence += f" In {tables}, its largest errors were at {listed}."
    if look.offender is not None:
        sentence += f" In a typical synthetic table: {look.offender}."
    elif why := explanation_of(_kind(rehearsal, advice.name)).no_offender:
        sentence += f" No single part of the table causes its error: {why[0].lower()}{why[1:]}"
    return sentence


def _kind(rehearsal: Rehearsal, name: str) -> str:
    return next(criterion.kind for criterion in rehearsal.spec.criteria if criterion.name == name)


def telling_pairs(rehearsal: Rehearsal, limit: int = 6) -> list[str]:
    """Describe at most `limit` associated pairs that no criterion tests, the lost pairs first."""
    pairs = rehearsal.look.pairs if rehearsal.look else ()
    chosen = sorted(pairs, key=lambda pair: not pair.lost)[:limit]
    rest = [f"The report has {so_many(len(pairs) - limit, 'more pair')}."] if len(pairs) > limit else []
    return [*(("LOST: " if pair.lost else "") + pair_words(pair) for pair in chosen), *rest]


def pair_words(pair: UnguardedPair) -> str:
    first, second = map(words, pair.columns)
    in_candidates = "" if pair.candidates_v is None else f", {pair.candidates_v:.2f} in the candidates"
    released = "" if pair.released is None else f", {percent(pair.released)} in the candidates"
    overall = f"among all rows {percent(pair.overall)}"
    return (
        f"{first} : {second}: Cramer's V {pair.cramers_v:.2f} in the public file{in_candidates}; {second}={pair.outcome} among "
        f"{first}={pair.condition}: {percent(pair.original)} in the public file{released}; {overall}"
    )


def verdict_words(rehearsal: Rehearsal) -> list[str]:
    verdict = None if rehearsal.look is None else rehearsal.look.verdict
    if verdict is None or not verdict.hang_together:
        return []
    sentences = []
    if verdict.pairs_off is not None:
        sentences.append(
            f"In a typical cross-table of two associated columns, {percent(verdict.pairs_off)} of the synthetic rows are in a "
            f"wrong cell. With independent columns, this share would be {percent(verdict.pairs_off_if_independent)}."
        )
    chosen = None if rehearsal.proposal is None else rehearsal.proposal.chosen
    if chosen is not None and chosen.generation < rehearsal.spec.budget.generation:
        sentences.append(
            f"These results are for the current generation {rehearsal.spec.generation_unit} of "
            f"{decimal_text(rehearsal.spec.budget.generation)}. The proposed {decimal_text(chosen.generation)} means more "
            "noise and preserves less of the associations. Rehearse again after you adopt a plan."
        )
    refused = verdict.mistakes(rehearsal.spec.not_promised, "the acceptance file")
    return sentences + [f"`release` refuses this shortlist. {fault}." for fault in refused]


def conclusion_words(rehearsal: Rehearsal) -> list[str]:
    """Return the answers to each intended question from the public file and from candidates, or why there is none."""
    return [
        f"{conclusion.question}: {answer_text(conclusion.public, conclusion.unit)} in the public file, "
        f"{_spread(conclusion)} in the candidates"
        if not conclusion.why
        else f"{conclusion.question}: {conclusion.why}"
        for conclusion in (rehearsal.look.conclusions if rehearsal.look else ())
    ]


def answer_text(value: float | None, unit: str) -> str:
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


COSTLY = 0.1
"""The advice on the projection is given if more than this share of the rows is replaced."""


def projection_advice(rehearsal: Rehearsal) -> str:
    """Return advice if the projection replaces more than 10% of the rows (`COSTLY`), otherwise ""."""
    look = rehearsal.look
    if look is None or look.replaced <= COSTLY:
        return ""
    projection = rehearsal.spec.space[look.configuration].projection
    return (
        f"The projection ({projection.in_short}) replaces {percent(look.replaced)} of the rows by copies of other rows. Copies "
        "add no information, so estimates from the copies seem more precise than they are. Use a smaller minimum count, fewer "
        "columns or coarser bins. To remove rare combinations of a few columns, use the projection 'frequent_combinations' "
        "and the criterion 'face_privacy' with the same `columns`."
    )


# Results of attacks on public rows, compared with what the guarantee allows.


def attack_words(rehearsal: Rehearsal) -> list[str]:
    attacks = rehearsal.attacks
    if attacks is None:
        return []
    sentences = [*attack_sentences(attacks, all_columns=True)]
    if attacks.contradicts:
        sentences.append(
            "THE CLAIM DOES NOT HOLD: the attacks guess right more often than the claim allows. If the claim were true, this "
            "would happen with a probability of at most 0.1%. Do not release. Keep this report, and tell the authors "
            "(docs/audit.md, When it contradicts a claim)."
        )
    return sentences


# All sentences, for the terminal, the page and rehearsal.json.


@dataclass(frozen=True, kw_only=True)
class Sentences:
    """All sentences about a rehearsal, for rehearsal.json and report.html."""

    outlook: list[str]
    generators: list[str]
    binding: str
    warnings: list[str]
    verdict: list[str]
    proposal: list[str]
    conclusions: list[str]
    attacks: list[str]

    @classmethod
    def of(cls, rehearsal: Rehearsal) -> Sentences:
        return cls(
            outlook=outlook_words(rehearsal),
            generators=generator_words(rehearsal),
            binding=binding(rehearsal),
            warnings=warnings(rehearsal),
            verdict=verdict_words(rehearsal),
            proposal=proposal_words(rehearsal),
            conclusions=conclusion_words(rehearsal),
            attacks=attack_words(rehearsal),
        )


def sections(rehearsal: Rehearsal) -> dict[str, list[str]]:
    """Return the texts for the terminal by heading, in the order in which a steward decides. A text may be empty."""
    say = Sentences.of(rehearsal)
    return {
        "Budget and rounds:": say.proposal,
        "Generators:": say.generators,
        "Where the errors are:": [say.binding],
        "Thresholds to check before the release:": say.warnings,
        "Pairs that no criterion tests (LOST: less than half of the association is preserved):": telling_pairs(rehearsal),
        "Associations of columns:": say.verdict,
        "Intended questions, answered from synthetic rows:": say.conclusions,
        "Minimum count:": [projection_advice(rehearsal)],
        "Attacks, tried on the public file:": say.attacks,
    }
