"""One run: a random specification, two neighbouring files, a release from each, and what differs."""

from __future__ import annotations

import shutil
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial, reduce
from pathlib import Path
from random import Random
from tempfile import mkdtemp

from synthrelease.data.counts import Counts
from synthrelease.errors import BudgetError, InputError, InternalError, SpecError, SynthreleaseError, failure_of
from synthrelease.privacy.charges import GENERATION
from synthrelease.releasing.attempt import read_priors
from synthrelease.releasing.release import release
from synthrelease.sources.source import Source
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from tests.whole.fuzz.files import FORMATS, neighbours, write, write_public, write_rows
from tests.whole.fuzz.members import Group, linked_neighbours, linked_source
from tests.whole.fuzz.pairs import Leak, rows_of
from tests.whole.fuzz.specifications import Drawn, drawn
from tests.whole.fuzz.watching import watched
from tests.whole.fuzz.worlds import NoNeighbours, World

NEIGHBOURS = 3
"""Of each file. Each of them is one comparison of two whole releases."""


@dataclass(kw_only=True)
class Tally:
    """What was seen in many runs.

    Attributes
    ----------
    compared : pairs of whole releases.
    refused : why there was none, in short.
    kinds : how often each family, criterion and option was among those compared.
    tight : for each family and kind of criterion the largest loss, as a share of its charge.
    leaks : what was found, with the seeds.
    """

    compared: int = 0
    accepted: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    tight: dict[str, float] = field(default_factory=dict)
    leaks: dict[str, list[int]] = field(default_factory=dict)

    def add_leak(self, seed: int, leak: str) -> None:
        self.leaks.setdefault(leak, []).append(seed)


def run(seed: int, tally: Tally, *, libraries: bool = False, formats: tuple[str, ...] = FORMATS, having: str = "") -> None:
    """One specification and a few pairs of files, which add to the tally. The same seed is the same run.

    Parameters
    ----------
    libraries : whether MST and AIM may be drawn.
    having : a text that the specification must have; others are passed over.
    """
    random = Random(seed)
    with _folder() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        special = {"linked": seed % 6 == 5, "with_areas": seed % 12 == 4, "agreements": seed % 12 == 10}
        spec = drawn(random, libraries=libraries, **special)
        if having not in spec.configuration + spec.acceptance:
            return
        path = spec.write(folder)
        write_public(random, spec, folder)
        try:
            loaded = load_spec(path)
            _ = loaded.plan
            priors = read_priors(loaded)
            for generator in loaded.space.generators:
                generator.load()
        except (SpecError, InputError, BudgetError) as error:
            tally.refused[_short(str(error).replace(str(folder), ""))] += 1
            return
        kind = random.choice(formats)
        neighbouring = _neighbours(random, spec)
        one, end = World(seed), ""
        for number, written in enumerate(neighbouring):
            world = World(seed, one, exact=spec.exact, in_pieces=spec.search.parts) if number else one
            try:
                (place := folder / str(number)).mkdir()
                data = written(place, kind, number)
                with watched(world):
                    found = _end(loaded, data, priors, world)
                if world is one:
                    end = found
                    continue
                _compare(world, end, found)
            except NoNeighbours as reason:
                tally.refused[str(reason)] += 1
            except Leak as leak:
                tally.add_leak(seed, _short(str(leak)))
            else:
                _count(spec, loaded, kind, world, end, tally)
            if not end:
                return  # there is nothing to compare with


def _neighbours(random: Random, spec: Drawn) -> list[Callable[[Path, str, int], Source]]:
    """What writes a file, and then each of its neighbours."""
    if spec.members is None:
        rows, others = neighbours(random, spec, NEIGHBOURS)
        seed = random.random()
        return [
            lambda place, kind, _, records=records: Source.of(write(records, spec, place, kind, Random(seed)))
            for records in (rows, *others)
        ]
    made = spec.members
    groups, changed = linked_neighbours(random, made, spec.n_file, NEIGHBOURS)

    def written(own: Sequence[tuple[str, Group]], place: Path, kind: str, number: int) -> Source:
        order, paths = Random(number), []
        for which, (names, rows) in enumerate(made.files(own, order)):
            (folder := place / str(which)).mkdir()
            paths.append(write_rows(names, rows, folder, kind, order))
        return linked_source(paths)

    return [partial(written, own) for own in (groups, *changed)]


def _end(spec: ReleaseSpec, data: Source, priors: Mapping[str, Counts], world: World) -> str:
    """How a release ends, in words; what it publishes goes to the world."""
    try:
        found = release(spec, data, priors=priors)
    except InternalError as error:  # after the charge: a budget lost, whatever the other world does
        raise Leak(f"a release breaks: {error}") from error
    except SynthreleaseError as error:
        if isinstance(error, BudgetError) and "should be public" in str(error):
            raise NoNeighbours("the private rows are those of a public table") from None
        named = [str(data), *([str(data.members)] if data.members else [])]
        return reduce(lambda text, name: text.replace(name, ""), named, f"{type(error).__name__}: {error}")
    except Exception as error:
        raise Leak(f"a release breaks: {failure_of(error)}") from error
    if found is None:
        return "nothing"
    table = rows_of(found.candidate.counts)
    world.saw("release", (table, found.scores, found.guarantee, found.n, found.n_file, found.measured, found.models))
    return "released"


def _compare(other: World, end: str, found: str) -> None:
    """Raises Leak for releases that end differently, and for private code that fails."""
    if failures := other.failures or other.of_first.failures:
        raise Leak(f"private code fails: {failures[0]}")
    if end != found:
        raise Leak(f"the releases end differently: {end} and {found}")
    other.check_ended()


def _count(spec: Drawn, loaded: ReleaseSpec, kind: str, world: World, end: str, tally: Tally) -> None:
    tally.compared += 1
    tally.ends[_short(end)] += 1
    tally.accepted += end == "released"
    options = [f"file: {kind}", *(f"generator: {family}" for family in spec.search.families), f"rows: {loaded.rows.way}"]
    options += [f"criterion: {each.kind}" for each in loaded.criteria]
    options += [f"criterion: {each.kind}, answered by measurements" for each in loaded.criteria if each.answered_by]
    flags = {"joint test": spec.search.joint, "shared measurements": loaded.shared_measurements, "pieces": spec.search.parts}
    flags["models"] = "[[models]]" in spec.configuration
    flags["agreements"] = 'pairs = "agreements"' in spec.configuration
    flags["areas"] = "[geography]" in spec.configuration
    flags |= {"members": spec.members is not None, "members in one file": bool(spec.members and spec.members.one_file)}
    tally.kinds.update([*options, *(name for name, on in flags.items() if on)])
    of_name = {f"criterion: {each.name}": each.kind for each in loaded.criteria}
    of_name[GENERATION] = "generator " + " or ".join(spec.search.families)
    for each in world.told:
        paid = each.charge.epsilon if each.charge.renyi is None else each.charge.renyi.rho
        told = each.loss.epsilon if each.charge.renyi is None else each.loss.rho
        what = of_name.get(each.charge.name, each.charge.name.split(":")[0])
        tally.tight[what] = max(tally.tight.get(what, 0.0), told / float(paid))


def _short(text: str) -> str:
    return " ".join(text.split())[:300]


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(mkdtemp())
    try:
        yield folder
    finally:
        shutil.rmtree(folder)
