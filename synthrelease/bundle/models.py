"""Create the section of release.json about the questions that were measured directly."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from synthrelease.answers.models import model_answers
from synthrelease.bundle.estimates import declared, with_tables
from synthrelease.data.schema import Transformation
from synthrelease.generators.models import Measured, NamedModel
from synthrelease.generators.row_functions import SHARES, STEPS, NoisyModels, Value
from synthrelease.published.base import number
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.folder import release_of
from synthrelease.published.models import GroupPart, ModelPart, ModelsPart, SharedNoisePart, SumPart


def models_part(measured: Measured, noisy: NoisyModels, transformation: Transformation) -> ModelsPart:
    """Describe the noisy sums that were measured for questions, without the answers.

    Parameters
    ----------
    transformation : the map to the released bins.
    """
    noises = [
        SharedNoisePart(epsilon=str(epsilon), scale=number(float(STEPS / epsilon)), size=len(block))
        for block, epsilon in measured.blocks
    ]
    sums = [
        SumPart(
            of=[factor.text for factor in function.factors],
            where=function.rows.text,
            valued=list(function.rows.valued),
            low=number(function.ends[0]),
            high=number(function.ends[1]),
            value=value,
            noise=index,
        )
        for index, ((block, _), values) in enumerate(zip(measured.blocks, noisy.sums, strict=True))
        for function, value in zip(block, values, strict=True)
    ]
    of_tables = iter(noisy.tables)
    models = [
        _model_part(model, measured.of_table, next(of_tables) if model.by_group else (), transformation)
        for model in measured.models
    ]
    return ModelsPart(epsilon=str(measured.epsilon), steps=STEPS, noises=noises, sums=sums, models=models)


def _model_part(
    model: NamedModel, epsilon: Fraction, shares: Sequence[tuple[int, int, int]], transformation: Transformation
) -> ModelPart:
    limits = {factor.column: [number(factor.low), number(factor.high)] for factor in model.factors if isinstance(factor, Value)}
    labels = transformation.binning(model.words.by).labels if model.words.by else [group.text for group in model.groups]
    return ModelPart(
        question=model.words.text,
        limits=limits,
        valued=list(model.rows.valued),
        why=model.why,
        epsilon=str(epsilon) if shares else None,
        scale=number(float(2 * SHARES / epsilon)) if shares else None,
        groups=[GroupPart(group=label, shares=list(of_group)) for label, of_group in zip(labels, shares, strict=False)],
    )


def with_models(document: ReleaseDocument, part: ModelsPart, measured: bytes | None, specification: bytes) -> ReleaseDocument:
    """Add the noisy sums and answers of questions with their own measurements ([[models]]) to release.json.

    The answers are computed from public values after the budget is spent. If this fails, they are left out.

    Parameters
    ----------
    measured : the content of measurements.json, or None if there is no such file.
    """
    document = document.model_copy(update={"models": part.model_copy(update={"answers": []})})
    try:
        release = release_of(document) if measured is None else with_tables(document, measured)
        answers = model_answers(release, declared(document, specification))
    except Exception:
        answers = []
    return document.model_copy(update={"models": part.model_copy(update={"answers": answers})})
