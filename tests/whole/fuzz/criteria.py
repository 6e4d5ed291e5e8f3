"""Random acceptance criteria of a small specification."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from synthrelease.criteria import CRITERIA
from tests.whole.fuzz.columns import Column, names_of, toml

_LINES = ("regression_coefficients", "regression_one_step", "logistic_regression", "regression_prediction")
_TABLES = ("absolute_marginal_error", "mean_marginal_error", "quantile_marginal_error", "weighted_marginal_error")


def criteria(
    random: Random, columns: Sequence[Column], alternatives: Mapping[str, Sequence[str]], *, joint: bool, answers: bool
) -> str:
    """The acceptance file.

    Parameters
    ----------
    alternatives : those of each column that configurations are drawn from, the finest first.
    joint, answers : whether one noisy test decides, and whether shared measurements may answer.
    """
    kinds = [*_TABLES[:3], "relative_marginal_error", "faithfulness", "difference_in_proportions"]
    kinds += ["conditional_median", "kolmogorov_distance"] if any(each.ordered for each in columns) else []
    numeric = [each for each in columns if each.numbers is not None]
    if numeric:
        kinds += ["conditional_mean"] * 3
    if _weights(columns):
        kinds += ["weighted_marginal_error"]
    if len(numeric) > 1:
        kinds += [*_LINES, *_LINES]
    found = []
    for number in range(random.randint(1, 4)):
        kind = random.choice(kinds)
        answered = answers and not CRITERIA[kind].no_measured_bound and random.random() < 0.5
        name = f"criterion {number}"
        if kind == "regression_prediction":
            lines = _line(random, "regression_coefficients", numeric, alternatives, joint=joint, answers=answers)
            found.append(_table(f"line {number}", "regression_coefficients", [*lines, "threshold = 100", "epsilon = 0.25"]))
            low, high = next(each for each in numeric if lines[0] == f"target = {toml(each.name)}").numbers or (0, 1)
            settings = [f'coefficients = "line {number}"', f"range = [{low}, {high}]"]
            settings.append(f"bound = {toml(random.choice(['range', 'lines']))}")
        elif kind in _LINES:
            settings = _line(random, kind, numeric, alternatives, joint=joint, answers=answers)
        else:
            settings = _settings(random, kind, columns, numeric, alternatives)
        threshold = _threshold(random, kind)
        settings.append(f"threshold = {threshold}")
        if answered:
            settings.append('answered_by = "measurements"')
        else:
            settings.append(f"epsilon = {random.choice(['0.25', '0.1', '2'])}")
        found.append(_table(name, kind, settings))
    if random.random() < 0.15:
        found.append(_table("rare rows", "face_privacy", ["minimum_count = 1"]))
    return "".join(found)


def of_members(random: Random, roots: Sequence[Column], columns: Sequence[Column], most: int) -> str:
    """A criterion about the members of roots: of rows of them, or of a number of each root.

    Parameters
    ----------
    most : members of a root, at most.
    """
    each = random.choice(columns)
    by = random.sample(names_of(roots), random.randint(0, len(roots)))
    if random.random() < 0.4:
        of = random.choice(["members", "others", "pairs"] if most > 1 else ["members"])
        beside = {"members": "size", "others": f"first.{each.name}", "pairs": f"other.{each.name}"}[of]
        kind = random.choice(_TABLES[:2])
        settings = [f"of = {toml(of)}", f"tables = {toml([f'{each.name}:{beside}'])}"]
    else:
        kind, (labels,) = "mean_of_roots", each.alternatives.values()
        numbers = ["agreement"] if most > 1 else []
        if len(labels) > 1:
            numbers += ["bins"]
        if each.numbers is not None:
            numbers += ["sum", "mean"]
        if not numbers:
            return ""
        number = random.choice(numbers)
        low, high = each.numbers or (0, 1)
        settings = [f"column = {toml(each.name)}", f"by = {toml(by)}", f"number = {toml(number)}"]
        if number == "bins":
            settings[-1] = f"number = {toml(random.choice(['sum', 'mean']))}\nbins = {toml([labels[0]])}\nrange = [0, 1]"
        elif number != "agreement":
            settings.append(f"range = [{low + random.choice([-1, 0.5])}, {high + random.choice([2, 0.75])}]")
    settings += [f"threshold = {random.choice([0.3, 1.5, 100])}", f"epsilon = {random.choice(['0.25', '2'])}"]
    return _table("members", kind, settings)


def _weights(columns: Sequence[Column]) -> list[str]:
    """Columns whose numbers are at least 0 in every bin."""
    return [each.name for each in columns if each.numbers is not None and each.numbers[0] >= 0 and each.missing == "drop"]


def _table(name: str, kind: str, settings: Sequence[str]) -> str:
    return "\n".join(["[[criteria]]", f"name = {toml(name)}", f"kind = {toml(kind)}", *settings]) + "\n"


def _threshold(random: Random, kind: str) -> float:
    if kind == "relative_marginal_error":
        return random.choice([1.5, 3.5])
    return random.choice([0.3, 0.6]) if kind == "faithfulness" else random.choice([0.3, 1.5, 100, 100])


def _settings(
    random: Random, kind: str, columns: Sequence[Column], numeric: Sequence[Column], alternatives: Mapping[str, Sequence[str]]
) -> list[str]:
    names = names_of(columns)
    if kind in _TABLES:
        found = [] if random.random() < 0.3 else [f"largest = {random.randint(1, len(columns))}"]
        if random.random() < 0.3:
            found.append(f"tables = {toml([':'.join(random.sample(names, random.randint(1, len(names))))])}")
        if kind == "weighted_marginal_error":
            found.append(f"weight = {toml(random.choice(_weights(columns)))}")
        if kind == "quantile_marginal_error":
            found.append(f"quantile = {random.choice([0.5, 0.9, 1])}")
        return found
    if kind == "relative_marginal_error":
        return ["clip = 4"]
    if kind == "faithfulness":
        exact: list[str] = []
        near: list[str] = []
        ignored: list[str] = []
        for each in columns:
            random.choice([near, near, exact] if each.ordered else [exact, exact, ignored]).append(each.name)
        return [
            f"exact = {toml(exact)}",
            f"within_one_bin = {toml(near)}",
            f"ignored = {toml(ignored)}",
            f"at_most = {random.choice([0, 1])}",
        ]
    in_all = {each.name: _in_all(each, alternatives[each.name]) for each in columns}
    named = random.choice([name for name in names if in_all[name]] or names)  # of the condition
    others = [name for name in names if name != named or kind != "difference_in_proportions"]
    by = random.sample(others, random.randint(0, len(others)))
    found = [f"by = {toml(by)}"] + ([f"overall = {random.choice(['true', 'false'])}"] if by else [])
    if kind == "conditional_mean":
        each = random.choice(numeric)
        low, high = each.numbers or (0, 1)
        found.append(f"column = {toml(each.name)}")
        found.append(f"range = [{low + random.choice([-1, 0, 0.5])}, {high + random.choice([1, 0, -0.25])}]")
        found.append(f"size_margin = {random.choice([0, 0.1, 0.5])}")
    elif kind in ("conditional_median", "kolmogorov_distance"):
        ordered = [each.name for each in columns if each.ordered]
        found.append(f"column = {toml(random.choice(ordered))}")
    if kind == "conditional_median":
        found.append(f"within = {random.choice([0, 1])}")
        found.append(f"quantiles = {random.choice(['[0.5]', '[0.25, 0.5, 0.75]'])}")
    elif kind == "difference_in_proportions":
        found.append(f"column = {toml(named)}")
        found.append(f"bins = {toml([random.choice(in_all[named] or ['?'])])}")
    return found


def _in_all(column: Column, chosen: Sequence[str]) -> list[str]:
    """The bins that all chosen alternatives have."""
    first, *others = (column.alternatives[title] for title in chosen)
    return [label for label in first if all(label in labels for labels in others)]


def _line(
    random: Random,
    kind: str,
    numeric: Sequence[Column],
    alternatives: Mapping[str, Sequence[str]],
    *,
    joint: bool,
    answers: bool,
) -> list[str]:
    """The settings of a regression, on the coarsest of the alternatives."""
    target, *features = random.sample(list(numeric), min(len(numeric), random.randint(2, 3)))
    low, high = target.numbers or (0, 1)
    representation = ", ".join(f"{each.name} = {toml(alternatives[each.name][-1])}" for each in (target, *features))
    found = [
        f"target = {toml(target.name)}",
        f"features = {toml(names_of(features))}",
        f"representation = {{ {representation} }}",
    ]
    if kind == "regression_coefficients":
        found.append(f"fit = {toml('once' if joint else random.choice(['once', 'every_round']))}")
    if kind == "regression_one_step":
        found.append(f"range = [{low - random.choice([0, 1])}, {high}]")
        found += random.choice([[], ["fit_epsilon = 0.3"], ['line = "measurements"'] if answers else []])
    if kind == "logistic_regression":
        found.append(f"positive = {toml([random.choice(target.alternatives[alternatives[target.name][-1]])])}")
    if any(line.startswith("fit") for line in found) and random.random() < 0.2:
        ones = "{ " + ", ".join(f"{each.name} = 1" for each in features) + " }"
        found.append(f"prior = {{ intercept = 0, coefficients = {ones}, centres = {ones}, spreads = {ones}, uncertainty = 9 }}")
    return found
