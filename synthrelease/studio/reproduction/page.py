"""Write the page "The sources, reproduced"."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from synthrelease.studio.reproduction.experiments import EXPERIMENTS
from synthrelease.studio.reproduction.tables import FORMULAS, Reproduced, printed

TABLES: Mapping[str, Callable[[], Reproduced]] = {**FORMULAS, **EXPERIMENTS}

HEAD = """# The sources, reproduced

Each table of the five sources that can be computed again: the printed value, ours, and the command. `synthrelease reproduce
--out FILE` writes this page from the installed program, with the births and the tables that come with it. The whole page takes
about 60 CPU seconds, of which the families take 45; the tables that follow from formulas take 2 (2026-11-28).

"""


def page(names: Sequence[str] = ()) -> str:
    """Return the page, or the tables of these names alone."""
    tables = [_section(name, TABLES[name]()) for name in names or TABLES]
    if names:
        return "\n".join(tables)
    listed = "\n".join(f"- {source}." for source in printed()["sources"])
    errors = Reproduced(
        source="",
        columns=("source", "where", "error", "here"),
        rows=[[error[key] for key in ("source", "where", "error", "here")] for error in printed()["errors"]],
    )
    found = f"## Errors found in the sources\n\nNo formula here is weaker than its source.\n\n{errors.markdown()}\n"
    return "\n".join([f"{HEAD}{listed}\n", *tables, found])


def _section(name: str, table: Reproduced) -> str:
    command = f"`synthrelease reproduce --only {name}`"
    return f"## {table.source}\n\n{command}\n\n{table.markdown()}\n\n{table.finding}\n"
