"""Check the questions in [[models]], determine which sums the release must measure to answer them, and compute the charge."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from synthrelease.errors import InputError, Unexpected, so_many
from synthrelease.privacy.charges import MODELS, Charge, mechanism
from synthrelease.settings.mistakes import Problems
from synthrelease.settings.tables import ReleaseFile
from synthrelease.spec.record import domains_of

if TYPE_CHECKING:
    from synthrelease.generators.models import Measured


def read_models(release: ReleaseFile, problems: Problems) -> Measured | None:
    """Return the noisy sums that must be measured to answer the questions in [[models]], or None without questions.

    If there are mistakes, problems are added, and the result is None.
    """
    if not release.models:
        if release.budget.models is not None:
            problems.add("budget.models", "Delete `models`: it pays for questions in [[models]], and there are none")
        return None
    from synthrelease.generators.models import Measured, NamedModel, read_model  # here: few configurations need it

    if release.budget.models is None:
        problems.add("budget.models", "Set one epsilon for all [[models]] together")
    for name in ("partition", "members"):
        if getattr(release, name) is not None:
            problems.add("models", f"[[models]] cannot be combined with [{name}]")
    domains, models = domains_of(release), list[NamedModel]()
    for index, table in enumerate(release.models):
        path = f"models[{index}]"
        problems.add_unknown(f"{path}.limits", "a column", table.limits, release.columns)
        try:
            models.append(replace(read_model(table.question, domains, table.limits), why=table.why))
        except Unexpected as error:
            problems.add_error(f"{path}.question", error)
        except InputError as error:
            problems.add(f"{path}.question", str(error))
    if len({model.words.text for model in models}) < len(models):
        problems.add("models", "The same question occurs twice")
    if problems.found or release.budget.models is None:
        return None
    return Measured(models=tuple(models), epsilon=release.budget.models)


def charge_of(measured: Measured) -> Charge:
    """Return the charge for all questions in [[models]]: pure differential privacy, measured once, after acceptance."""
    number = len(measured.functions)
    of_sums = [f"{number} sums that share {so_many(len(measured.blocks), 'noise')}" if number else ""]
    of_tables = f"the means of groups in {so_many(len(measured.tables), 'question')}" if measured.tables else ""
    return mechanism(MODELS, measured.epsilon, f"named models: {' and '.join(filter(None, [*of_sums, of_tables]))}")
