"""The whole of it: from a specification and a public file to a proposed allocation, in words, as settings and as JSON."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from synthrelease.enclave.ingest import read_public
from synthrelease.errors import InputError, OutputError, on_public_data, percent, so_many
from synthrelease.privacy.charges import decimal_text
from synthrelease.rehearsal.allocation.asked import asked_parts, by_cells, with_columns
from synthrelease.rehearsal.allocation.judged import Judged
from synthrelease.rehearsal.allocation.parts import FIELDS, Allocation, Divisible, with_delta
from synthrelease.rehearsal.allocation.populations import Populations
from synthrelease.rehearsal.allocation.search import Found, Progress, Search
from synthrelease.rehearsal.parallel import Workers, running
from synthrelease.releasing.attempt import read_priors
from synthrelease.sources.source import Source
from synthrelease.spec.release_spec import ReleaseSpec


@on_public_data()
def choose_allocation(
    spec: ReleaseSpec,
    data: Source,
    *,
    total: Fraction | None = None,
    goal: float | None = None,
    afresh: bool = False,
    delta: Fraction | None = None,
    rows: int | None = None,
    minutes: float = 6,
    seed: int = 1,
    workers: Workers | None = None,
    progress: Progress = lambda phase, done, total: None,
) -> Found:
    """Choose how a total is allocated to measured tables, sums and the joint test. Reads nothing private, spends nothing.

    Parameters
    ----------
    data : a **public** file of the layout of the private one.
    total : epsilon of the whole release; that of the specification when None.
    goal : the least total is looked for, from this one on, at which tries succeed with this probability; None to keep it.
    afresh : whether tables and sums are found from the criteria (`asked.asked_parts`), whatever the generators measure.
    delta : tables get Gaussian noise, at this delta in place of the specification's; None to keep its noise.
    rows : how many rows the private file has, about: populations with more are thinned. None to take all.
    minutes : after these no further step is begun; the choice is judged after that.

    Raises
    ------
    InputError : where the specification cannot be allocated so, or the file does not fit.
    """
    deadline = time.monotonic() + 60 * minutes
    before = spec.plan.total.epsilon
    total = total or before
    spec = spec if delta is None else with_delta(spec, delta)
    divisible = Divisible.of(with_columns(spec) if afresh else spec, total)
    if divisible.spec_with(divisible.start) is None:
        raise InputError(
            f"--total: expected more than {float(divisible.total - divisible.generation(divisible.start)):g}, what rows, test "
            f"and figures of {spec.path} cost without the generation; found {float(divisible.total):g}."
        )
    if divisible.start.too_many:  # none will be moved: the test keeps its part of the total
        divisible = replace(divisible, start=divisible.start.moved([1.0] * len(divisible.start.parts), float(total / before)))
    progress("reading the public file", 0, 0)
    public = read_public(data, spec.schema, spec.input, spec.raw, spec.unit)
    populations = Populations(public=public, priors=read_priors(spec), rows=rows, seed=seed)
    with running(workers or Workers()) as run:
        if afresh:
            search = Search(divisible, populations, run, seed=seed, progress=progress)
            asked = asked_parts(divisible.spec, public, search.rooms, lambda: time.monotonic() >= deadline)
            divisible = Divisible.of(asked, divisible.total)
            if divisible.start.too_many:
                divisible = replace(divisible, start=by_cells(divisible.spec, divisible.start))
        return Search(divisible, populations, run, seed=seed, deadline=deadline, progress=progress).found(goal)


def allocation_words(found: Found, *, afresh: bool = False) -> list[str]:
    """What is proposed, what to expect of it, and what that rests on.

    Parameters
    ----------
    afresh : whether tables and sums were found from the criteria.
    """
    same = found.chosen == found.divisible.start
    spec = found.divisible.spec
    per = found.chosen_others.tries
    before, whose = ("the weights to begin with",) * 2 if afresh else ("the weights as they were", f"that of {spec.path}")
    whose += " with Gaussian noise" if found.divisible.gaussian else ""
    compared = "" if same else f"; with {before} {_share(found.first_as_is)} and {_share(found.first_others)}"
    steps = so_many(found.stages, "step")
    told = [
        f"No allocation was found that does better than {whose} at epsilon = {decimal_text(found.divisible.total)}."
        if same
        else f"Proposed at epsilon = {decimal_text(found.divisible.total)}, after {steps}: the lines below.",
        f"Success, a released table that keeps every threshold: {_share(found.chosen_as_is)} on the public file and "
        f"{_share(found.chosen_others)} on populations made of it, with fewer rows and other shares{compared}.",
        f"These shares are of {found.chosen_as_is.tries} and {per} tries with noise, and on other populations, that nothing "
        "was chosen by. The best of several estimates would be flattered. All this is about public data: a private table that "
        "differs from it in other ways may do worse.",
    ]
    if afresh and not any(":" in part.text for part in found.chosen.parts) and len(spec.schema.columns) > 1:
        told.append("No table of two columns is needed by these criteria: independent columns pass them.")
    if found.divisible.gaussian:
        told.append(f"Tables get Gaussian noise. Epsilon may be exceeded with a probability of delta = {float(spec.delta):g}.")
    if found.chosen.too_many:
        many = len(found.chosen.apart().parts)
        told.append(f"Weights stay in the ratios that they have: of {many} tables and sums tries do not tell what each needs.")
    elif not found.calculated:
        told.append(
            "Weights were not calculated: there was no time for it (--minutes), or some criterion is below its margin without "
            "any noise, which no weights mend."
        )
    return [*told, *_refusing(found)]


def _refusing(found: Found) -> Iterator[str]:
    names = [criterion.name for criterion in found.divisible.spec.criteria]
    for where, judged in (("the public file", found.chosen_as_is), ("the other populations", found.chosen_others)):
        shares = sorted(zip(judged.below, names, strict=True), reverse=True)
        if told := [f"{name} ({percent(share)})" for share, name in shares if share > 0]:
            yield f"Below the margin of the test on {where}: {', '.join(told)} of the tries."


def _share(judged: Judged) -> str:
    return f"{percent(judged.success)} ({percent(judged.low)} to {percent(judged.high)})"


def allocation_lines(found: Found) -> str:
    """The settings of the proposed allocation, ready for the specification."""
    texts = {name: found.divisible.written(found.chosen, name) for name in FIELDS}
    settings = "\n".join(f'{name} = """\n{text}"""' for name, text in texts.items() if text)
    generator = found.divisible.spec.space.generators[0]
    dumped = generator.model_dump()
    others = "".join(f'{name} = "{dumped[name]}"\n' for name in ("rare_bins", "draw") if dumped[name])
    generation = decimal_text(found.divisible.generation(found.chosen))
    delta = f"delta = {float(found.divisible.spec.delta):g}\n" if found.divisible.gaussian else ""
    return (
        f'[[generators]]\nfamily = "{generator.family}"            # weights are thousandths of {found.divisible.unit}\n'
        f"{settings}\n"
        f"prior_weight = {dumped['prior_weight']:g}\n{others}\n"
        f"[budget]\ngeneration = {generation}\n{delta}\n"
        f"[selection]\ntest_epsilon = {decimal_text(found.chosen.test)}\n"
    )


def allocation_document(found: Found) -> dict[str, Any]:
    """The outcome as plain values."""
    divisible = found.divisible

    def described(allocation: Allocation, as_is: Judged, others: Judged) -> dict[str, Any]:
        return {
            "generation": float(divisible.generation(allocation)),
            "test_epsilon": float(allocation.test),
            **{name: text for name in FIELDS if (text := divisible.written(allocation, name))},
            **({"rare_bins": rare} if (rare := divisible.spec.space.generators[0].model_dump().get("rare_bins")) else {}),
            "public_file": vars(as_is),
            "other_populations": vars(others),
        }

    return {
        "total": float(divisible.total),
        "criteria": [criterion.name for criterion in divisible.spec.criteria],
        "steps": found.stages,
        "tries": found.n_tries,
        "proposed": described(found.chosen, found.chosen_as_is, found.chosen_others),
        "specification": described(divisible.start, found.first_as_is, found.first_others),
    }


def check_new(path: Path) -> None:
    """Raises OutputError where something has this name already: found before minutes of work."""
    if path.exists():
        raise OutputError(f"{path}: expected a place for a new file, found something there.")


def write_allocation(found: Found, path: Path) -> None:
    """The outcome as JSON, into a new file. Raises OutputError."""
    problem = None
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(json.dumps(allocation_document(found), indent=2) + "\n")
    except OSError as error:
        problem = f"{path}: expected a place for a new file ({error.strerror})."
    if problem:
        raise OutputError(problem)
