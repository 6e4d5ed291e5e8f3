"""Check the charges and the answers of the questions that were measured directly, by separate code."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from synthrelease.data.questions import split_question
from synthrelease.errors import so_many
from synthrelease.privacy.charges import MODELS
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.models import ModelAnswerPart, ModelPart, ModelsPart, ModelTermPart
from synthrelease.published.verify.checks import Check

_SHARES = 2**30  # Number of parts that each row of a group divides among its three sums
# Tolerance, as a share of the interval's width, when a coefficient is compared with the plain solution of the normal
# equations.
_NEAR = 0.25
_COMMA = re.compile(r",(?![^\[(]*[\])])")

Key = tuple[tuple[str, ...], str, tuple[str, ...]]


def models(document: ReleaseDocument, part: ModelsPart) -> Check:
    """Check the cost, the noise and the answers of the questions that had their own measurements ([[models]])."""
    problems = [*_charges(document, part), *_noises(part)]
    if not problems:
        for model, answer in zip(part.models, part.answers, strict=False):
            problems += [f"models: {model.question}: {problem}" for problem in _answer(document, part, model, answer)]
    if part.answers and [model.question for model in part.models] != [answer.question for answer in part.answers]:
        problems.append("models: the answers must belong to the questions, one by one and in the same order")
    numbers = len(part.sums) + 3 * sum(len(model.groups) for model in part.models)
    summary = f"{so_many(len(part.answers), 'answer')} from {so_many(numbers, 'noisy sum')}, for epsilon {part.epsilon}"
    return Check(name="models", found=summary, problems=tuple(problems))


def _charges(document: ReleaseDocument, part: ModelsPart) -> Iterator[str]:
    paid = sum((Fraction(noise.epsilon) for noise in part.noises), Fraction(0))
    paid += sum((Fraction(model.epsilon) for model in part.models if model.epsilon), Fraction(0))
    charged = [leaf.epsilon_exact for leaf in document.charges.planned() if leaf.name == MODELS]
    if paid != Fraction(part.epsilon) or charged != [part.epsilon]:
        listed = f"release.json states epsilon {part.epsilon} and the charges list {', '.join(charged) or 'none'}"
        yield f"models: the noise of all sums costs epsilon {paid}, but {listed}"


def _noises(part: ModelsPart) -> Iterator[str]:
    for index, noise in enumerate(part.noises):
        if not math.isclose(float(noise.scale), float(part.steps / Fraction(noise.epsilon)), rel_tol=1e-12):
            yield f"models: noise {index}: its scale {noise.scale} is not {part.steps} / {noise.epsilon}"
        if (size := sum(entry.noise == index for entry in part.sums)) != noise.size:
            sums = so_many(size, "sum shares", "sums share")
            yield f"models: noise {index}: {sums} this noise, but release.json states {noise.size}"
    for entry in part.sums:
        square = len(entry.of) == 2 and entry.of[0] == entry.of[1]
        low = -1 if any(_limits(text) for text in entry.of) and not square else 0
        if entry.noise >= len(part.noises) or (float(entry.low), float(entry.high)) != (low, 1):
            yield f"models: sum {' * '.join(entry.of)}: its noise is unknown, or `low` or `high` is wrong"
    for model in part.models:
        if model.groups and not (
            model.epsilon and model.scale and math.isclose(float(model.scale), float(2 * _SHARES / Fraction(model.epsilon)))
        ):
            yield f"models: {model.question}: its scale {model.scale} is not 2^31 / {model.epsilon}"


def _limits(text: str) -> tuple[float, float] | None:
    """Read the limits in the name of a noisy sum, such as 0 and 5000 in "income(0..5000)", or None for a condition."""
    match = re.fullmatch(r"\w+\(([^()]+?)\.\.([^()]+)\)", text)
    return None if match is None else (float(match[1]), float(match[2]))


def _answer(document: ReleaseDocument, part: ModelsPart, model: ModelPart, answer: ModelAnswerPart) -> Iterator[str]:
    """Yield a sentence for each estimate that differs from the one recomputed from the published noisy sums."""
    expected = _of_groups(model) if model.groups else _of_sums(document, part, model)
    for term in answer.terms:
        if term.estimate is None or term.low is None or term.high is None:
            continue
        name = term.group or term.name
        computed = expected.get(name)
        if computed is None or not _near(answer, term, computed):
            given = "no such number" if computed is None else f"about {computed:.6g}"
            yield f"{name}: the published sums give {given}, but the estimate is {term.estimate}"


def _near(answer: ModelAnswerPart, term: ModelTermPart, computed: float) -> bool:
    width = float(term.high or 0) - float(term.low or 0)
    share = _NEAR if answer.kind == "slope" else 1e-4
    return abs(float(term.estimate or 0) - computed) <= share * width + 1e-5 * abs(computed)


def _of_groups(model: ModelPart) -> dict[str, float]:
    """Compute the mean of each group from its published noisy sums and, for two groups, the difference of their means.

    Let a, b and c be the sums of a group. The share (b / 2 + c) / (a + b + c) is the position of the mean between the
    limits.
    """
    column = split_question(model.question).head
    low, high = (float(limit) for limit in model.limits[column])
    means = {}
    for group in model.groups:
        rows = sum(group.shares)
        place = (group.shares[1] / 2 + group.shares[2]) / rows if rows > 0 else math.nan
        means[group.group] = low + (high - low) * min(1.0, max(0.0, place))
    if len(means) == 2:
        first, second = means.values()
        means["difference of means"] = first - second
    return means


def _of_sums(document: ReleaseDocument, part: ModelsPart, model: ModelPart) -> dict[str, float]:
    """Compute a mean, a ratio of means, or the coefficients of a regression, by name, from the published noisy sums."""
    words = split_question(model.question)
    named = [name.strip() for name in (*_COMMA.split(words.on), words.head, words.to) if name]
    texts = [_text(model, name) for name in named]
    valued = tuple(model.valued)
    sums = {
        (tuple(entry.of), entry.where, tuple(entry.valued)): document.n_rows * float(entry.low)
        + entry.value * (float(entry.high) - float(entry.low)) / part.steps
        for entry in part.sums
    }

    def of(*factors: str) -> float:
        key: Key = (tuple(sorted(factors)), words.where, valued)
        if not factors and key not in sums:
            return float(document.n_rows)
        if len(factors) == 2 and factors[0] == factors[1] and _limits(factors[0]) is None:
            key = ((factors[0],), words.where, valued)
        return sums[key]

    middles = [sum(limits) / 2 if (limits := _limits(text)) else 0.0 for text in texts]
    halves = [(limits[1] - limits[0]) / 2 if (limits := _limits(text)) else 1.0 for text in texts]
    means = [middle + half * of(text) / of() for text, middle, half in zip(texts, middles, halves, strict=True)]
    if words.kind == "mean":
        return {named[0]: min(middles[0] + halves[0], max(middles[0] - halves[0], means[0]))}
    if words.kind == "ratio":
        return {f"{named[0]} to {named[1]}": means[0] / means[1]}
    moments = np.array([[of(), *(of(text) for text in texts)]] + [[of(a), *(of(a, b) for b in texts)] for a in texts])
    scaled = np.linalg.solve(moments[:-1, :-1], moments[:-1, -1])
    slopes = [float(slope) * halves[-1] / half for slope, half in zip(scaled[1:], halves, strict=False)]
    constant = middles[-1] + halves[-1] * float(scaled[0])
    constant -= sum(slope * middle for slope, middle in zip(slopes, middles, strict=False))
    return {**dict(zip(named, slopes, strict=False)), "constant": constant}


def _text(model: ModelPart, name: str) -> str:
    """Return a column with its limits as in the published sums, such as "income(0..5000)", or a condition as it is."""
    if name not in model.limits:
        return name
    low, high = (float(limit) for limit in model.limits[name])
    return f"{name}({low:.15g}..{high:.15g})"
