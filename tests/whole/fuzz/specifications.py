"""Random small specifications: both TOML files, and what is needed to make private files that they read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.whole.fuzz.areas import areas
from tests.whole.fuzz.columns import Column, column, of_two_bins, toml
from tests.whole.fuzz.criteria import criteria, of_members
from tests.whole.fuzz.members import Members, members
from tests.whole.fuzz.searches import Search, search


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """A specification as a steward would write it.

    Attributes
    ----------
    members : of roots, where there are some.
    n_file : rows of the private files, or different keys.
    exact : whether the number of kept rows is published; then it must be the same for both files.
    """

    columns: tuple[Column, ...]
    search: Search
    configuration: str
    acceptance: str
    n_file: int
    exact: bool
    members: Members | None = None

    def write(self, folder: Path) -> Path:
        (folder / "release.toml").write_text(self.configuration, encoding="utf-8")
        (folder / "acceptance.toml").write_text(self.acceptance, encoding="utf-8")
        return folder / "release.toml"


def drawn(
    random: Random, *, libraries: bool = False, linked: bool = False, with_areas: bool = False, agreements: bool = False
) -> Drawn:
    """A random one. Some are refused when they are loaded: what does not go together is not known here.

    Parameters
    ----------
    linked : whether rows are roots with members.
    with_areas : whether a column is one of areas within areas.
    agreements : whether columns have two bins and agreements of their pairs are measured.
    """
    if linked:
        return _linked(random, libraries=libraries)
    if with_areas:
        return _with_areas(random, libraries=libraries)
    if agreements:
        names = "abcde"[: random.randint(2, 5)]
        columns = tuple((column if random.random() < 0.1 else of_two_bins)(random, name) for name in names)
    else:
        columns = tuple(column(random, name) for name in "abcd"[: random.choice([1, 2, 2, 3, 3, 4])])
    n_file = random.choice([random.randint(2, 6), random.randint(5, 14), random.randint(10, 24)])
    rows = random.choice(['"private"', '"private"', '"exact"', str(random.randint(1 + n_file // 3, n_file))])
    chosen = {each.name: _some(random, list(each.alternatives)) for each in columns}
    found = search(random, columns, libraries=libraries, agreements=agreements)
    text = [
        'title = "A made-up register"\nacceptance = "acceptance.toml"',
        f"[input]\nrows = {rows}" + ('\none_row_per = "respondent"' if any(each.weight for each in columns) else ""),
        *("\n".join(each.lines) for each in columns),
        "[transformations]\n" + "\n".join(f"{name} = {toml(each)}" for name, each in chosen.items()),
        *_rules(random, columns),
        found.text,
    ]
    if random.random() < 0.1 and rows != '"exact"' and not any(each.weight for each in columns):
        text.append('[population]\nsize = 2000\nsample = "simple random, without replacement"\nsource = "A register"')
    elif random.random() < 0.1:
        text.append('[unit]\nname = "visit"\nrecords_per_person = 3')
    return Drawn(
        columns=columns,
        search=found,
        configuration="\n".join(text) + "\n",
        acceptance=criteria(random, columns, chosen, joint=found.joint, answers=found.answers),
        n_file=n_file,
        exact=rows == '"exact"',
    )


def _linked(random: Random, *, libraries: bool) -> Drawn:
    """One with [members]: generators and criteria are about the columns of the wide record."""
    roots = tuple(column(random, name) for name in "ab"[: random.choice([1, 2])])
    made, n_file = members(random, roots), random.choice([random.randint(2, 6), random.randint(5, 14)])
    rows = random.choice(['"private"', '"private"', str(random.randint(1 + n_file // 3, n_file))])
    chosen = {each.name: _some(random, list(each.alternatives)) for each in made.wide}
    found = search(random, made.wide, libraries=libraries)
    text = [
        'title = "A made-up register"\nacceptance = "acceptance.toml"',
        f"[input]\nrows = {rows}" + ('\none_row_per = "respondent"' if any(each.weight for each in roots) else ""),
        *("\n".join(each.lines) for each in roots),
        "\n".join(made.lines),
        "[transformations]\n" + "\n".join(f"{each.name} = {toml(chosen[each.name])}" for each in roots),
        *_rules(random, roots),
        found.text,
    ]
    acceptance = criteria(random, made.wide, chosen, joint=found.joint, answers=found.answers)
    if random.random() < 0.6:
        acceptance += of_members(random, roots, made.columns, made.most)
    return Drawn(
        columns=roots,
        search=found,
        configuration="\n".join(text) + "\n",
        acceptance=acceptance,
        n_file=n_file,
        exact=False,
        members=made,
    )


def _with_areas(random: Random, *, libraries: bool) -> Drawn:
    """One with [geography]: generators and criteria are about the columns of the wide record."""
    others = tuple(column(random, name) for name in "bc"[: random.choice([1, 2])])
    within, n_file = areas(random, "a"), random.randint(2, 14)
    wide = (within.level, within.lowest, *others)
    rows = random.choice(['"private"', '"private"', '"exact"', str(random.randint(1 + n_file // 3, n_file))])
    chosen = {each.name: _some(random, list(each.alternatives)) for each in wide}
    found = search(random, wide, libraries=libraries, within=within)
    text = [
        'title = "A made-up register"\nacceptance = "acceptance.toml"',
        f"[input]\nrows = {rows}" + ('\none_row_per = "respondent"' if any(each.weight for each in others) else ""),
        *("\n".join(each.lines) for each in (within.lowest, *others)),
        "\n".join(within.lines),
        "[transformations]\n" + "\n".join(f"{each.name} = {toml(chosen[each.name])}" for each in (within.lowest, *others)),
        *_rules(random, others),
        found.text,
    ]
    return Drawn(
        columns=(within.lowest, *others),
        search=found,
        configuration="\n".join(text) + "\n",
        acceptance=criteria(random, wide, chosen, joint=found.joint, answers=found.answers),
        n_file=n_file,
        exact=rows == '"exact"',
    )


def _some(random: Random, alternatives: list[str]) -> list[str]:
    """One or more of them, the finest first."""
    chosen = random.sample(alternatives, random.randint(1, len(alternatives)))
    return sorted(chosen, key=alternatives.index)


def _rules(random: Random, columns: tuple[Column, ...]) -> list[str]:
    found = []
    for _ in range(random.choice([0, 0, 1, 2])):
        named = random.sample(columns, min(len(columns), random.randint(1, 2)))
        parts = [random.choice(each.conditions) for each in named if each.conditions]
        if parts:
            applies = random.choice([["raw"], ["synthetic"], ["raw", "synthetic"]])
            found.append(
                f"[[rules]]\nnever = {toml(random.choice([' and ', ' or ']).join(parts))}\napplies_to = {toml(applies)}"
            )
    return found
