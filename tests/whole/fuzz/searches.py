"""Random generators, projections, budgets and selections of a small specification."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from tests.whole.fuzz.areas import Areas, nested
from tests.whole.fuzz.columns import Column, names_of, toml

PURE = ("privbayes", "privbayes", "marginals", "marginals", "mwem", "adaptive_pure")
CONCENTRATED = ("gaussian_marginals", "pep", "adaptive", "dpgan", "dpctgan", "patectgan")
LIBRARIES = ("mst", "aim")
NESTED = ("nested_pure", "nested")
PUBLISHED = ("marginals", "gaussian_marginals")
NETWORKS = ["steps = 3", "batch = 20", "critic_width = 4", "generator_width = 8", "latent = 3"]


@dataclass(frozen=True, kw_only=True)
class Search:
    """How rounds are run.

    Attributes
    ----------
    text : the tables of the configuration.
    joint, answers : what criteria have to know: whether one noisy test decides, and whether shared and published measurements
        may answer in their place.
    """

    text: str
    families: tuple[str, ...]
    joint: bool
    answers: bool
    parts: bool


def search(
    random: Random, columns: Sequence[Column], *, libraries: bool, within: Areas | None = None, agreements: bool = False
) -> Search:
    """A random one.

    Parameters
    ----------
    libraries : whether MST and AIM may be drawn, which take seconds.
    within : areas that a generator most often draws level by level; None where there are none.
    agreements : whether pairs of columns with two bins are measured as agreements, which are not published.
    """
    joint, shared = random.random() < 0.4, random.random() < 0.35
    if agreements:
        families: list[str] = [random.choice(PUBLISHED)]
    elif within is not None and random.random() < 0.8:
        families = [random.choice(NESTED)]
    elif shared:
        families = ["marginals"]
    elif libraries and random.random() < 0.02:
        families = [random.choice(LIBRARIES)]
    else:
        families = random.sample(sorted({*PURE, *CONCENTRATED}), 1 if random.random() < 0.8 else 2)
    concentrated = not set(families) <= {*PURE, NESTED[0]}
    tables = [
        "[[generators]]\n" + "\n".join([f"family = {toml(each)}", *_settings(random, each, columns, within, agreements)])
        for each in families
    ]
    tables.append("[[projections]]\n" + "\n".join(_projection(random, columns)))
    budget = [f"generation = {random.choice(['0.5', '3', '0.05'])}"] + (["delta = 1e-3"] if concentrated else [])
    if random.random() < 0.95:  # a small budget leaves one row in so small a file
        budget.append(f"rows = {random.choice(['2', '20', '20', '20'])}")
    questions = _models(random, columns) if random.random() < 0.2 else []
    tables += [f"[[models]]\nquestion = {toml(question)}" for question in questions]
    budget += ["models = 0.5"] if questions else []
    tables.append("[budget]\n" + "\n".join(budget))
    selection = _selection(random, concentrated)
    answers = shared and random.random() < 0.7 and not agreements
    if shared:
        selection += ['measurements = "shared"', f"publish_measurements = {toml(answers)}"]
    elif not agreements and families[0] in (*PUBLISHED, *NESTED) and len(families) == 1 and random.random() < 0.4:
        selection += ["publish_measurements = true"]
    if joint:
        selection += ['test = "joint"', f"test_epsilon = {random.choice(['0.7', '5'])}", "false_acceptance = 0.3"]
    tables.append("[selection]\n" + "\n".join(selection))
    parts = not questions and not any("publish_measurements = true" in line for line in selection) and random.random() < 0.25
    if parts:
        fit = random.choice([0.5, 0.25])
        tables.append(f"[partition]\nfit = {fit}\nscore = {1 - fit}")
    return Search(text="\n".join(tables) + "\n", families=tuple(families), joint=joint, answers=answers, parts=parts)


def _models(random: Random, columns: Sequence[Column]) -> list[str]:
    """Questions measured directly."""
    numeric = [each for each in columns if each.numbers is not None and each.alternatives.keys() != {"categories"}]
    found = []
    for _ in range(random.randint(1, 2) if numeric else 0):
        mean = f"mean {random.choice(numeric).name}"
        named = [each for each in columns if each.conditions]
        where = f" where {random.choice(random.choice(named).conditions)}" if named and random.random() < 0.3 else ""
        forms = [mean + where, f"{mean} by {random.choice(columns).name}{where}"]
        if len(numeric) > 1:
            one, other = names_of(random.sample(numeric, 2))
            forms += [f"slope {one} on {other}{where}", f"ratio {one} to {other}{where}"]
        found.append(random.choice(forms))
    return found


def _selection(random: Random, concentrated: bool) -> list[str]:
    best = ['mode = "truncated_negative_binomial"', "stop_probability = 0.1", f"shape = {random.choice(['1', '0', '-0.5'])}"]
    if concentrated:
        return best
    hidden = ['mode = "hidden_number"', "rounds = { 1 = 0.2, 5 = 0.8 }"]
    return random.choice([["stop_probability = 0.1"], ["stop_probability = 0"], hidden, best])


def _projection(random: Random, columns: Sequence[Column]) -> list[str]:
    if random.random() < 0.2:
        return ['kind = "frequent_combinations"', f"columns = {random.randint(1, len(columns))}", "minimum_count = 2"]
    keep = random.choice([[], ['keep = "nested"'], ['keep = "spread"']])
    return ['kind = "minimum_count"', f"minimum_count = {random.choice(['1', '2', '[1, 2]'])}", *keep]


def _settings(random: Random, family: str, columns: Sequence[Column], within: Areas | None, agreements: bool) -> list[str]:
    names = names_of(columns)
    if within is not None and family in NESTED:
        return nested(random, within, [name for name in names if name not in (within.level.name, within.lowest.name)])
    if family == "privbayes":
        flavour = random.choice(
            [["degree", f"degree = {random.randint(1, 2)}"], ["theta", f"theta = {random.choice([0.01, 0.1, 0.5])}"]]
        )
        return [
            f"flavour = {toml(flavour[0])}",
            flavour[1],
            f"epsilon_split = {random.choice(['0.1', '0.3', '0.7', '[0.1, 0.5]'])}",
            f"selector = {toml(random.choice(['permute_and_flip', 'exponential']))}",
        ]
    if family in PUBLISHED:
        pairs = ['pairs = "agreements"'] if agreements else []
        return [*_marginals(random, names, sums=family == "marginals"), *pairs]
    if family in ("mwem", "pep"):
        found = ["queries = 40", f"iterations = {random.choice([2, 5])}", "inner_updates = 3"]
        return [*found, f"marginal = {random.randint(1, 3)}"]
    if family in ("adaptive", "adaptive_pure"):
        tables = [f"tables = {toml('all 2-way + 3 ' + ':'.join(random.sample(names, 2)))}"] if len(names) > 1 else []
        return random.choice([[], tables, ["clique_cells = 8"], ["prior_weight = 1", *_prior(random)]])
    if family == "dpgan":
        return [*NETWORKS, f"clip = {random.choice([0.1, 1])}"]
    if family == "dpctgan":
        return [*NETWORKS, f"clip = {random.choice([0.1, 1])}", f"oversampling = {random.choice([1, 5])}"]
    if family == "patectgan":
        return [*NETWORKS, f"teachers = {random.choice([2, 5])}", "labels = 7"]
    return ["rounds = 4"] if family == "aim" else []


def _marginals(random: Random, names: list[str], *, sums: bool) -> list[str]:
    terms = []
    for _ in range(random.randint(1, 3)):
        weight = random.choice(["", "2 ", "0.5 ", "1.7 "])
        terms.append(weight + ":".join(random.sample(names, random.randint(1, min(3, len(names))))))
    if len(names) > 1 and random.random() < 0.4:
        terms.append("all 2-way")
    found = [f"tables = {toml(' + '.join(terms))}", f"prior_weight = {random.choice(['1', '30', '[1, 30]'])}", *_prior(random)]
    if random.random() < 0.3:
        found.append(f"only_measured = {toml(':'.join(random.sample(names, min(2, len(names)))))}")
    if sums and random.random() < 0.5:
        terms = []
        for chosen in sorted({tuple(random.sample(names, random.randint(1, min(2, len(names))))) for _ in range(2)}):
            term = ":".join(f"{name}[{random.choice([-20, 0, 1, -3.5])}..{random.choice([7, 2, 20.25])}]" for name in chosen)
            if random.random() < 0.4:
                term += f" within {random.choice([-30, -2, 0])}..{random.choice([3, 11.5, 50])}"
            terms.append(random.choice(["", "2 "]) + term)
        found.append(f"sums = {toml(' + '.join(terms))}")
    return found


def _prior(random: Random) -> list[str]:
    return ['prior = "public.csv"'] if random.random() < 0.3 else []
