"""Every case of the audit."""

from __future__ import annotations

from itertools import chain

from synthrelease.audit.cases import Case
from synthrelease.audit.choice_cases import choice_cases
from synthrelease.audit.criterion_cases import criterion_cases
from synthrelease.audit.faults import faulty_cases
from synthrelease.audit.model_cases import model_cases
from synthrelease.audit.noise_cases import noise_cases
from synthrelease.audit.parallel_cases import parallel_cases
from synthrelease.audit.piece_cases import piece_cases
from synthrelease.audit.pipeline_cases import pipeline_cases
from synthrelease.audit.register_cases import register_cases
from synthrelease.audit.selection_cases import selection_cases
from synthrelease.audit.vector_cases import vector_cases


def all_cases() -> list[Case]:
    """The mechanisms as they are released, then those with a known fault.

    Raises
    ------
    ValueError : when two cases have the same name.
    """
    cases = list(
        chain(
            noise_cases(),
            vector_cases(),
            choice_cases(),
            model_cases(),
            criterion_cases(),
            selection_cases(),
            parallel_cases(),
            piece_cases(),
            register_cases(),
            pipeline_cases(),
            faulty_cases(),
        )
    )
    names = [case.name for case in cases]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"expected names that differ, found twice: {sorted(twice)}")
    return cases
