"""Drafts of public files, as `init` makes them, asked for by keywords."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from synthrelease.spec.requests import DraftRequest
from synthrelease.studio.drafting import draft as drafting
from synthrelease.studio.drafting.column_draft import Answers, ColumnDraft, LeftOut
from synthrelease.studio.drafting.columns import draft_column, with_kind_doubt
from synthrelease.studio.drafting.public_file import Order
from synthrelease.studio.drafting.text import Draft
from synthrelease.studio.rehearsal.plan_race import Promise


def request_of(name: str, public: str | Path, promise: Promise | None = None, **settings: Any) -> DraftRequest:
    """Return what `init` is asked for."""
    if promise is not None:
        epsilon = None if promise.epsilon is None else str(float(promise.epsilon))
        settings |= {"epsilon": epsilon, "pure": promise.pure, "important": promise.important}
    return DraftRequest(name=name, public=str(public), **settings)


def draft(name: str, public: str | Path, *, progress: Callable[[str], None] = lambda doing: None, **settings: Any) -> Draft:
    """Draft a release and write nothing."""
    return drafting.draft(request_of(name, public, **settings), progress)


def write_draft(
    name: str,
    public: str | Path,
    into: str | Path = ".",
    *,
    progress: Callable[[str], None] = lambda doing: None,
    **settings: Any,
) -> tuple[Path, Path, Draft]:
    """Draft a release and write its files under a folder."""
    return drafting.write_draft(request_of(name, public, into=Path(into), **settings), progress)


def column_alone(answers: Answers) -> ColumnDraft | LeftOut:
    """Draft a column that no other column says anything of, with all that is asked about it."""
    drafted = draft_column(answers, (), Order())
    return drafted if isinstance(drafted, LeftOut) else with_kind_doubt(drafted)
