"""The rooms stay as docs/architecture.md draws them: found by walking the syntax trees of the package."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from synthrelease.bundle.write import write_bundle
from synthrelease.criteria import CRITERIA
from synthrelease.generators import GENERATORS
from synthrelease.generators.projections import PROJECTIONS
from synthrelease.studio.baselines import BASELINES
from tests.conftest import ROOT
from tests.helpers.forked import run_apart
from tests.helpers.late import Trees
from tests.rooms import PICTURE, drawn

pytestmark = pytest.mark.slow

PACKAGE = ROOT / "synthrelease"
YAML = "bundle/metadata.py"
TREES = Trees({path.relative_to(PACKAGE).as_posix(): path for path in sorted(PACKAGE.rglob("*.py"))})

DOCUMENT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
TABLE = re.findall(r"^\| (\d+) \| `([\w.]+)` \|", DOCUMENT, re.MULTILINE)
FLOORS = {room: int(floor) for floor, room in TABLE}
"""The floor of every room, from the table in docs/architecture.md: a room imports only from floors below its own."""


def room(path: str) -> str:
    """The room of a file: its folder of the package, or a folder inside of it that has a floor of its own."""
    return room_of_module(f"synthrelease.{path.removesuffix('.py').replace('/', '.')}")


def room_of_module(name: str) -> str:
    """The room of an imported name, such as `synthrelease.settings.options.SeriesTable`."""
    steps = name.split(".")[1:]
    inner = ".".join(steps[:2])
    return inner if inner in FLOORS else steps[0]


def folder(path: str) -> str:
    """The folder of a file, or a file that is a room by itself."""
    return path.rpartition("/")[0] or path


@cache
def nodes(tree: ast.AST) -> tuple[ast.AST, ...]:
    """All nodes of a tree, walked once."""
    return tuple(ast.walk(tree))


@cache
def nodes_of(tree: ast.AST, kind: type[ast.AST]) -> tuple[Any, ...]:
    return tuple(node for node in nodes(tree) if isinstance(node, kind))


@cache
def imported(tree: ast.AST) -> tuple[str, ...]:
    """Full names of all imported modules, wherever in the file."""
    found = [alias.name for node in nodes_of(tree, ast.Import) for alias in node.names]
    for node in nodes_of(tree, ast.ImportFrom):
        found += [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
    return tuple(found)


def files_where(found: Callable[[Any], bool], kind: type[ast.AST] = ast.AST) -> set[str]:
    return {path for path, tree in TREES.items() if any(found(node) for node in nodes_of(tree, kind))}


def called(node: ast.Call) -> str | None:
    """The name of what is called: name(...) or anything.name(...)."""
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", None)


@cache
def names_called(tree: ast.AST) -> frozenset[str | None]:
    return frozenset(called(node) for node in nodes_of(tree, ast.Call))


def callers(name: str) -> set[str]:
    """The files with a call of that name."""
    return {path for path, tree in TREES.items() if name in names_called(tree)}


def calls(name: str) -> Callable[[ast.AST], bool]:
    """Calls of name(...) or of anything.name(...)."""

    return lambda node: isinstance(node, ast.Call) and called(node) == name


def test_every_room_imports_only_from_rooms_below_it() -> None:
    assert {room(path) for path in TREES} <= set(FLOORS), "a room has no place in the table of docs/architecture.md"
    above = {
        (path, name)
        for path, tree in TREES.items()
        for module in imported(tree)
        if module.startswith("synthrelease.")
        for name in [room_of_module(module)]
        if name != room(path) and FLOORS.get(name, 0) >= FLOORS[room(path)]
    }
    assert above == set()


def test_the_table_of_rooms_agrees_with_itself_and_with_the_package() -> None:
    assert [int(floor) for floor, _ in TABLE] == sorted(int(floor) for floor, _ in TABLE)
    assert len(FLOORS) == len(TABLE) >= 15, "the table of docs/architecture.md was not read"
    assert set(FLOORS) == {room(path) for path in TREES}


def test_the_picture_is_of_the_table() -> None:
    """`make rooms` draws it."""
    assert PICTURE.read_text(encoding="utf-8") == drawn()


READMES = {path.parent.name: path.read_text(encoding="utf-8") for path in PACKAGE.glob("*/README.md")}


def test_every_room_says_what_it_is_for_and_names_files_that_are_there() -> None:
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert set(READMES) == folders
    for name, text in READMES.items():
        files = re.findall(r"`([\w/]+\.py)`", text)
        there = [any((folder / file).exists() for folder in (PACKAGE / name, PACKAGE, ROOT)) for file in files]
        assert all(there), (name, [file for file, known in zip(files, there, strict=True) if not known])


@pytest.mark.parametrize("folder", sorted(path.parent.name for path in PACKAGE.glob("studio/*/README.md")))
def test_the_rooms_of_the_studio_name_each_of_their_files(folder: str) -> None:
    path = PACKAGE / "studio" / folder
    named = re.findall(r"`(\w+\.py)`", (path / "README.md").read_text(encoding="utf-8"))
    assert {file.name for file in path.glob("*.py")} - {"__init__.py"} == {name for name in named if name != "__init__.py"}


MODULES = Trees(
    {
        f"synthrelease/{name}".removesuffix(".py").removesuffix("/__init__").replace("/", "."): path
        for name, path in TREES.paths.items()
    }
)


def kinds_of(package: str, tree: ast.Module) -> set[str]:
    """The modules that the dict of kinds of a package names: "module:Class", loaded when a kind is asked for."""
    dicts = [node.args[1] for node in nodes_of(tree, ast.Call) if called(node) == "Kinds"]
    places = [value.value for each in dicts if isinstance(each, ast.Dict) for value in each.values]
    return {f"{package}.{place.partition(':')[0]}" for place in places}


def import_graph(modules: Mapping[str, ast.Module]) -> dict[str, set[str]]:
    """What each module imports of the others, wherever in the file: at its top, in a function, for types, or as a kind."""
    graph: dict[str, set[str]] = {module: kinds_of(module, tree) for module, tree in modules.items()}
    for module, tree in modules.items():
        for node in nodes_of(tree, ast.Import):
            graph[module] |= {alias.name for alias in node.names if alias.name in modules}
        for node in nodes_of(tree, ast.ImportFrom):
            if node.module in modules:
                names = {f"{node.module}.{alias.name}" for alias in node.names}
                graph[module] |= {name if name in modules else node.module for name in names}
    return graph


def circle(graph: dict[str, set[str]]) -> list[str]:
    """Modules in circles of imports, and between circles; none where there is no circle."""
    left = dict(graph)
    while left:
        used = set().union(*left.values())
        inner = {module: imports & set(left) for module, imports in left.items() if module in used and imports & set(left)}
        if inner == left:
            break
        left = inner
    return sorted(left)


def test_no_module_imports_another_in_a_circle_not_even_in_a_function_or_for_types() -> None:
    assert circle(import_graph(MODULES)) == []


@pytest.mark.parametrize(
    "code",
    [
        "from synthrelease.answers.bounds import bound",
        "def f():\n    from synthrelease.answers.bounds import bound",
        "def f():\n    import synthrelease.answers.bounds",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from synthrelease.answers.bounds import bound",
    ],
)
def test_a_circle_is_found(code: str) -> None:
    modules = {**MODULES, "synthrelease.answers.questions": ast.parse(code)}
    assert {"synthrelease.answers.questions", "synthrelease.answers.bounds"} <= set(circle(import_graph(modules)))


REGISTRIES = {"criteria": CRITERIA, "generators": GENERATORS, "studio.baselines": BASELINES}


@pytest.mark.parametrize("package", REGISTRIES)
def test_a_dict_of_kinds_names_classes_that_are_there(package: str) -> None:
    named = kinds_of(f"synthrelease.{package}", MODULES[f"synthrelease.{package}"])
    assert named <= set(MODULES)
    assert {model.__module__ for model in REGISTRIES[package].values()} == named


LATE = [name for name, path in MODULES.paths.items() if "= at_first_use(" in path.read_text(encoding="utf-8")]


def test_every_package_that_loads_late_is_among_those_of_the_next_test() -> None:
    assert {module for module, tree in MODULES.items() if any(calls("at_first_use")(node) for node in nodes(tree))} == set(LATE)


@pytest.mark.parametrize("package", LATE)
def test_what_is_loaded_at_first_use_is_what_types_are_told(package: str) -> None:
    """The imports for types and the names that are loaded late stand one below the other: they say the same."""
    branch = next(node for node in MODULES[package].body if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test))
    told = {alias.name: str(node.module) for node in branch.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    (call,) = [node for node in nodes(MODULES[package]) if calls("at_first_use")(node)]
    late = ast.literal_eval(call.args[1])  # type: ignore[attr-defined]
    assert {name: f"{package}.{module}" for module, names in late.items() for name in names} == told
    for name, module in told.items():
        assert getattr(import_module(package), name) is getattr(import_module(module), name)


def test_mistakes_are_values_and_no_message_is_taken_apart() -> None:
    """`errors.Unexpected` carries what was expected and found; a name that holds these words would part a text elsewhere."""

    def parts(node: ast.Call) -> bool:
        taking = called(node) in ("partition", "rpartition", "split", "rsplit", "removeprefix", "removesuffix")
        words = [part.value for part in node.args if isinstance(part, ast.Constant)]
        return taking and any(isinstance(word, str) and re.search("found|expected", word) for word in words)

    assert files_where(parts, ast.Call) == set()


def test_epsilon_is_spent_only_by_generators_and_criteria() -> None:
    counting = {"enclave/resizing.py"}  # the number of rows that are kept
    scouts = {"scouting/scout.py"}  # a look at single columns, before there is a release
    assert {folder(path) for path in callers("spend") - counting - scouts} == {"generators", "criteria"}


def test_only_the_command_line_prints() -> None:
    assert {room(path) for path in callers("print")} == {"cli"}
    talkative = {"rich", "logging", "warnings", "typer"}
    found = {path for path, tree in TREES.items() if talkative & {name.split(".")[0] for name in imported(tree)}}
    silencing = {path for path in found if room(path) != "cli" and path != "api.py"}  # api.py warns callers
    assert {folder(path) for path in silencing} == {"generators", "privacy", "releasing"}
    assert silencing >= {"privacy/protection.py", "releasing/selection.py"}


ENTROPY = "privacy/noise.py"


def draws_by_itself(tree: ast.AST) -> bool:
    """Whether a file imports a source of randomness, makes a generator, or reaches into numpy's or another library's.

    `np.random.Generator` may be named, as the type of a generator that was handed over.
    """
    sources = {"secrets", "random", "uuid", "numpy.random", "opendp", "diffprivlib"}
    makers = (
        "urandom",
        "getrandom",
        "default_rng",
        "seed",
        "PCG64DXSM",
        "RandomState",
        "SystemRandom",
        "randbelow",
        "token_bytes",
        "randbits",
    )
    if sources & {part for name in imported(tree) for part in (name, name.split(".")[0])}:
        return True
    allowed = {id(node.value) for node in nodes_of(tree, ast.Attribute) if node.attr == "Generator"}
    return (
        not names_called(tree).isdisjoint((*makers, "rvs"))
        or any(
            node.attr == "random" and id(node) not in allowed and is_numpy(node.value) for node in nodes_of(tree, ast.Attribute)
        )
        or any(node.arg == "random_state" for node in nodes_of(tree, ast.keyword))
    )


def is_numpy(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id in ("np", "numpy")


def test_all_entropy_comes_from_one_module() -> None:
    beside = {"privacy/public_entropy.py"}  # draws that can be repeated, for public data
    assert {path for path, tree in TREES.items() if draws_by_itself(tree)} == {ENTROPY} | beside


@pytest.mark.parametrize(
    "code",
    [
        "import random",
        "from random import gauss",
        "import numpy.random",
        "from numpy.random import laplace",
        "import numpy as np\nnp.random.laplace(0, 1)",
        "import numpy as np\nx = np.random",
        "import numpy\nnumpy.random.seed(1)",
        "import numpy as np\ndef f():\n    return np.random.Generator(np.random.PCG64(1))",
        "from scipy import stats\nstats.laplace.rvs(size=3)",
        "import os\nos.urandom(8)",
        "from opendp.measurements import make_laplace",
        "def f():\n    from diffprivlib.mechanisms import Laplace",
        "import secrets",
        "model.fit(x, random_state=3)",
    ],
)
def test_a_source_of_randomness_of_its_own_is_found(code: str) -> None:
    assert draws_by_itself(ast.parse(code))


def test_a_generator_that_is_handed_over_may_be_used() -> None:
    used = "import numpy as np\ndef draw(generator: np.random.Generator) -> float:\n    return generator.random()"
    assert not draws_by_itself(ast.parse(used))


def test_no_generator_outlives_its_use() -> None:
    """A generator in a module or a class would be copied by a fork and shared by threads."""

    def kept(node: ast.AST) -> bool:
        statements = node.body if isinstance(node, ast.Module | ast.ClassDef) else []
        values = [part.value for part in statements if isinstance(part, ast.Assign | ast.AnnAssign) and part.value]
        return any(calls(name)(part) for value in values for part in ast.walk(value) for name in ("generator", "Generator"))

    assert files_where(kept) == set()


@pytest.mark.parametrize("name", ["eval", "exec", "compile", "__import__"])
def test_text_is_never_executed(name: str) -> None:
    assert files_where(lambda node: node.id == name, ast.Name) == set()


def test_no_module_pickles_or_opens_a_connection() -> None:
    pickles = {"pickle", "cPickle", "cloudpickle", "dill", "marshal", "shelve", "ctypes"}
    connections = {
        "socket",
        "socketserver",
        "ssl",
        "urllib",
        "http",
        "requests",
        "httpx",
        "aiohttp",
        "asyncio",
        "ftplib",
        "smtplib",
    }
    banned = pickles | connections | {"subprocess", "webbrowser", "xmlrpc", "imaplib", "poplib", "pty"}
    found = {path: banned & {name.split(".")[0] for name in imported(tree)} for path, tree in TREES.items()}
    # the desk listens on the loopback address, in a process that opens no private file; of urllib it has the parser of forms;
    # the programs that it starts are `synthrelease rehearse`, on the public file, and the browser
    assert {path: names for path, names in found.items() if names} == {
        "cli/drafting.py": {"socket"},
        "studio/desk/files.py": {"subprocess"},
        "studio/desk/pages.py": {"urllib", "webbrowser"},
    }
    assert {name for name in imported(TREES["studio/desk/pages.py"]) if "urllib" in name} <= {
        "urllib.parse",
        "urllib.parse.parse_qsl",
    }


def test_a_database_is_opened_in_one_place_alone() -> None:
    """And by `sources/tables.py`, which makes SQLAlchemy's engine for it. Libraries are loaded by `library`."""
    opens = ("sqlalchemy", "duckdb", "psycopg", "pyodbc")
    found = {path for path, tree in TREES.items() if any(name.startswith(opens) for name in imported(tree))}
    found |= files_where(
        lambda node: called(node) == "library" and ast.unparse(node.args[0]).lstrip("f'").startswith(opens), ast.Call
    )
    assert found == {"sources/tables.py", "sources/opened.py"}


@pytest.mark.parametrize(
    "name",
    [
        "read_pickle",
        "to_pickle",
        "unsafe_load",
        "full_load",
        "system",
        "popen",
        "execv",
        "execve",
        "execvp",
        "spawnl",
        "spawnv",
    ],
)
def test_no_library_unpickles_or_starts_a_program_for_it(name: str) -> None:
    tells = "platform.system"  # the name of the operating system
    assert files_where(lambda node: called(node) == name and ast.unparse(node.func) != tells, ast.Call) == set()


def test_yaml_is_written_and_never_read() -> None:
    """A loader of YAML may make objects of any class. One module writes it, with the safe writer."""
    assert {path for path, tree in TREES.items() if "yaml" in {name.split(".")[0] for name in imported(tree)}} == {YAML}
    used = {ast.unparse(node) for node in ast.walk(TREES[YAML]) if isinstance(node, ast.Attribute)}
    assert {name for name in used if name.startswith("yaml.")} == {"yaml.SafeDumper", "yaml.Node", "yaml.dump"}


def test_arrays_and_objects_are_not_loaded_from_files() -> None:
    """`load` of numpy and joblib may unpickle, `dump` of joblib writes what it is given."""
    loading = {f"{library}.{call}" for library in ("np", "numpy", "joblib") for call in ("load", "dump", "save", "memmap")}

    attributes = {name.partition(".")[2] for name in loading}

    def loads(node: ast.Call) -> bool:
        return called(node) in attributes and ast.unparse(node.func) in loading

    assert files_where(loads, ast.Call) == set()
    assert not {"joblib.load", "joblib.dump"} & {name for tree in TREES.values() for name in imported(tree)}


def test_what_only_compares_is_no_library_of_the_core() -> None:
    """The package is installed without them; tests compare with them."""
    users = {path: {name.split(".")[0] for name in imported(tree)} for path, tree in TREES.items()}
    found = {(path, each) for path, names in users.items() for each in names & {"diffprivlib", "sklearn", "matplotlib"}}
    assert found == set()


def test_validation_never_rests_on_assert() -> None:
    """Asserts vanish under `python -O`."""
    assert files_where(lambda _: True, ast.Assert) == set()


def test_the_doubling_is_in_one_place() -> None:
    """Only privacy/plan.py composes charges of a selection, and verification composes them once more."""
    assert callers("private_selection") == {"privacy/plan.py", "published/verify/charges.py"}


def test_noise_that_protects_nobody_is_for_public_data_alone() -> None:
    both = {"releasing/attempt.py"}  # whose own method hands on to both of its tables
    assert {folder(path) for path in callers("rehearsed") - both} <= {"studio/rehearsal"}
    assert {folder(path) for path in callers("NoNoise")} <= {"studio/rehearsal"}
    # and to draw the made-up rows of a dry run, which are always the same: the noise on them is that of a release
    # and for public draws of the audit, which both of two tables get
    seeded = callers("SeededEntropy") - {"releasing/dry_run.py", "studio/audit/losses.py", "enclave/ingest.py"}
    seeded -= {"studio/audit/contracts.py", "generators/maximum_entropy.py"}  # and to sample a model of a made-up table twice
    # and for rows of a fitted model, whose measurements have their noise already: the optimiser takes a curvature from them
    functions = nodes_of(TREES["generators/maximum_entropy.py"], ast.FunctionDef)
    drawers = [node for node in functions if "SeededEntropy" in ast.unparse(node)]
    assert [node.name for node in drawers] == ["_draw"]
    assert "network.sample(n, SeededEntropy(0).generator())" in ast.unparse(drawers[0])
    assert ast.unparse(drawers[0]).count("SeededEntropy") == 1
    # and for the rows of a public file on which the drafts of many columns are tried
    drawers = [node for node in TREES["studio/drafting/draft.py"].body if "SeededEntropy(" in ast.unparse(node)]
    assert [node.name for node in drawers if isinstance(node, ast.FunctionDef)] == ["some_rows"]
    seeded -= {"studio/drafting/draft.py"}
    # and for the rows of persons that are drawn from a public file, in the one function that reads public files
    readers = [node for node in TREES["enclave/ingest.py"].body if "SeededEntropy(" in ast.unparse(node)]
    assert [node.name for node in readers if isinstance(node, ast.FunctionDef)] == ["read_public"]
    assert len(readers) == 1
    assert {folder(path) for path in seeded} <= {"studio/baselines", "studio/rehearsal"}
    assert {folder(path) for path in callers("Recording")} == {"studio/audit"}
    # exact counts under a name: made where all rows are public
    exact = callers("PublicTable") | callers("PublicCounts") | callers("offender")
    exact -= {"criteria/members.py"}  # whose own method hands on to that of rows
    assert {folder(path) for path in exact} <= {"studio/rehearsal"}
    subclasses = {
        path
        for path, tree in TREES.items()
        for node in nodes_of(tree, ast.ClassDef)
        if {"SystemEntropy", "SeededEntropy", "NoNoise"} & {getattr(base, "id", "") for base in node.bases}
    }
    audits = {"tiny.py", "enumeration.py", "losses.py"}
    assert subclasses == {
        "privacy/public_entropy.py", "studio/rehearsal/closer_look.py", *(f"studio/audit/{name}" for name in audits)
    }  # fmt: skip
    assert callers("NoiselessEntropy") == {"studio/rehearsal/closer_look.py"}


def test_a_meter_is_filled_by_the_code_of_a_round_alone() -> None:
    """`with_plan` and `Meter` can mint any charge. A round, its criteria after acceptance, and what has no private data may."""
    of_releases = {path for path in callers("with_plan") if room(path) != "studio"}
    assert of_releases == {
        "releasing/attempt.py", "releasing/dry_run.py", "enclave/resizing.py", "scouting/scout.py",
    }  # fmt: skip
    assert callers("Meter") == {
        "enclave/door.py", "enclave/unlisted.py",
        "releasing/dry_run.py", "studio/rehearsal/closer_look.py",
        "studio/rehearsal/attempts.py", "studio/audit/tiny.py", "studio/rehearsal/allocation.py",
        "studio/rehearsal/plan_race.py", "studio/rehearsal/attacks.py",
    }  # fmt: skip
    planned = {
        ast.unparse(node.args[0])
        for node in ast.walk(TREES["releasing/attempt.py"])
        if calls("with_plan")(node) and isinstance(node, ast.Call)
    }
    assert planned == {
        "spec.plan.per_round",
        "spec.plan.after",
        "planned",
        "of_piece(planned, 'fit')",
        "of_piece(planned, 'score')",
    }


def test_made_up_counts_are_made_of_made_up_rows_alone() -> None:
    """Their failures keep their cause. And only the demonstration says that its data are nobody's."""
    assert callers("MadeUp") == {"releasing/dry_run.py"}
    readers = {"ingest", "read_public", "reading", "parquet"}
    assert not readers & {part for name in imported(TREES["releasing/dry_run.py"]) for part in name.split(".")}

    assert files_where(lambda node: node.arg == "nobodys", ast.keyword) == {"cli/releasing.py"}


def test_a_release_is_run_from_one_place() -> None:
    """The order of checks, charge and reading stands once."""
    assert callers("reserve_for_release") == {"publish.py"}
    assert callers("check_limit") == {
        "publish.py",
        "spec/release_spec.py",
        "cli/specifying.py",
        "studio/drafting/draft.py",
        "studio/drafting/edits.py",
    }  # these spend nothing
    assert callers("write_bundle") == {"publish.py"}
    users = {path for path, tree in TREES.items() if "synthrelease.releasing.release.release" in imported(tree)}
    assert users == {"publish.py"}


def test_private_counts_are_made_by_ingest_alone() -> None:
    """And by the rehearsal, of public rows, and by the audit, of made-up ones."""
    assert callers("PrivateRows") == {"enclave/ingest.py", "studio/audit/tiny.py"}
    public = {f"studio/rehearsal/{name}.py" for name in ("closer_look", "allocation", "attempts", "plan_race", "attacks")}
    assert callers("PrivateCounts") == {"enclave/door.py", "studio/audit/tiny.py", *public}
    assert callers("read_public") == {
        "studio/rehearsal/rehearse.py",
        "studio/rehearsal/compare.py",
        "studio/rehearsal/allocation.py",
        "studio/drafting/draft.py",
        "releasing/attempt.py",
    }  # releasing/attempt.py: public priors


DEMONSTRATIONS = ("cli/releasing.py",)


def test_generic_code_knows_no_dataset() -> None:
    """Demonstrations apart, which name the releases that come with the program."""
    words = ("birth", "parity", "gestation", "mother", "labour", "occupation")
    paths = [path for path in TREES if path not in DEMONSTRATIONS]
    texts = {path: (PACKAGE / path).read_text(encoding="utf-8") for path in paths}
    code = {path: code_without_texts(text) for path, text in texts.items() if any(word in text for word in words)}
    found = {(path, word) for path in code for word in words if word in code[path]}
    assert found == {
        ("bundle/sheets.py", "birth"),  # the shipped release of which a reviewer knows how long the audit takes
        ("studio/drafting/columns.py", "birth"),  # a column of dates of birth, which gives an age
    }


KINDS = dict.fromkeys(CRITERIA, "criteria")
KINDS |= dict.fromkeys(GENERATORS, "generators")
KINDS |= dict.fromkeys(PROJECTIONS, "generators")
"""The one folder in which each kind of criterion, generator or projection is known."""

AUDITED = "the audit writes down which settings it tests, apart from what the classes say of themselves"
MAY_NAME_KINDS = {
    "criteria/drafts.py": "a parameter of a drafted criterion has the name of a kind of projection",
    "studio/audit/exact.py": "figures, also about members, a second time, by formulas of its own",
    "studio/audit/audit.py": "what the enumerations of a generator's measurements are called",
    "studio/audit/enumeration.py": AUDITED,
    "generators/nested.py": "its own two kinds, in a folder without a private half of its own",
    "generators/projections.py": "its own parameter has a value with the name of a kind of generator",
    "published/document.py": "what a file that is nested too deep is called",
    "studio/rehearsal/plan_race.py": "the generators that a draft is raced with",
    "studio/drafting/scouted.py": "the generator, projection and criteria of a draft without a public file",
    "studio/drafting/draft.py": "what a draft is read with before it has criteria; the generators of areas within areas",
    "studio/drafting/text.py": "the one generator and the one projection that a draft writes",
}


def named_kinds(path: str, tree: ast.AST) -> set[str]:
    """Kinds that a file outside their folder names, as a text of their own or as a line of TOML."""
    own = [kind for kind, home in KINDS.items() if folder(path) != home]
    said = {id(node.value) for node in nodes_of(tree, ast.Expr)}  # docstrings may give examples
    constants = (node for node in nodes_of(tree, ast.Constant) if id(node) not in said)
    texts = {node.value for node in constants if isinstance(node.value, str)}
    return {
        kind for kind in own for text in texts if text == kind or re.search(rf"""\b(kind|family) *= *["']{kind}["']""", text)
    }


def test_a_kind_is_known_in_its_own_folder_alone() -> None:
    """What the others want to know stands on its class."""
    trees = {path: tree for path, tree in TREES.items() if path != "studio/audit/worlds.py"}  # it names what is enumerated
    found = {path: kinds for path, tree in trees.items() if (kinds := named_kinds(path, tree))}
    assert {path: kinds for path, kinds in found.items() if path not in MAY_NAME_KINDS} == {}
    templates = [path for path in PACKAGE.rglob("*") if path.suffix in (".html", ".md", ".css")]
    assert templates
    assert {path.name for path in templates for kind in CRITERIA if f'"{kind}"' in path.read_text(encoding="utf-8")} == set()


@pytest.mark.parametrize(
    "code",
    [
        'UNITS = {"conditional_mean": "grams"}',
        "if kind == 'face_privacy':\n    pass",
        "lines = ['family = \"privbayes\"']",
        'TOML = """[[projections]]\nkind = "minimum_count"\n"""',
    ],
)
def test_a_kind_that_is_named_elsewhere_is_found(code: str) -> None:
    assert len(named_kinds("bundle/card/sections.py", ast.parse(code))) == 1


def code_without_texts(text: str) -> str:
    """Names and constants of a file that are code: docstrings and comments may use births as examples."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [part for part in body if not (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))]
    return ast.unparse(tree)


ALONE = "synthrelease.published.verify.alone"


def closure(module: str) -> set[str]:
    """What is imported with a module: by it, by what it imports, and by the packages that they are in. Not in functions: a
    function that is called imports more (the test below counts what was)."""

    reached, left = set[str](), {module}
    while left:
        name = left.pop()
        reached.add(name)
        left |= imported_with(name) - reached - {"synthrelease"}
    return reached


@cache
def imported_with(name: str) -> frozenset[str]:
    """What a module imports at its top, and the packages that it is in."""
    found = set()
    skipped = {
        id(inner)
        for node in nodes(MODULES[name])
        if isinstance(node, ast.FunctionDef) or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test))
        for inner in ast.walk(node)
    }
    for node in nodes(MODULES[name]):
        if isinstance(node, ast.ImportFrom) and id(node) not in skipped:
            found |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
    parts = name.split(".")
    return frozenset((found | {".".join(parts[:count]) for count in range(2, len(parts))}) & set(MODULES))


def test_what_stands_alone_of_a_verification_imports_no_writer() -> None:
    reached = closure(ALONE)
    assert {name.split(".")[1] for name in reached} == {
        "data", "errors", "privacy", "published", "resources", "settings", "spec",
    }  # fmt: skip


def test_it_runs_on_what_it_imports(tmp_path: Path) -> None:
    """In a process of its own: nothing else of the package was loaded when it had checked a release."""
    from tests.helpers.cards import rich_bundle, write_files

    folder = write_files(rich_bundle(), tmp_path / "bundle")
    code = (
        "import sys; from synthrelease.bundle.verify import verify_bundle; "
        f"assert verify_bundle({str(folder)!r}, plan=False, documents=False).passed; "
        "print(*(name for name in sys.modules if name.startswith('synthrelease.')))"
    )
    run = run_apart(code, folder=ROOT, afresh=True)
    assert run.returncode == 0, run.stderr
    loaded = run.stdout.split()
    allowed = closure(ALONE) | closure("synthrelease.bundle.verify") | {"synthrelease.resources"}  # of the package itself
    assert set(loaded) <= allowed
    assert not [
        name for name in loaded if behind_the_door(name) or name.startswith(("synthrelease.criteria", "synthrelease.bundle.w"))
    ]


BEHIND_THE_DOOR = (
    "enclave",
    "generators.candidate",
    "generators.base",
    "privacy.noise",
    "privacy.samplers",
    "releasing",
    "publish",
)
"""Rooms and modules of which nobody who reads a release has any use."""


def is_of(module: str, rooms: tuple[str, ...]) -> bool:
    return f"{module}.".removeprefix("synthrelease.").startswith(tuple(f"{name}." for name in rooms))


def behind_the_door(module: str) -> bool:
    return is_of(module, BEHIND_THE_DOOR)


READ = [module for module in MODULES if module.partition(".")[2].startswith(("published", "answers"))]


def test_what_readers_load_imports_nothing_that_makes_candidates_and_no_noise() -> None:
    """Not even the kinds of criteria: they import the door and the noise where they spend."""
    for module in [*READ, *sorted(kinds_of("synthrelease.criteria", MODULES["synthrelease.criteria"]))]:
        assert not [name for name in closure(module) if behind_the_door(name)], module


def loaded_by(code: str) -> set[str]:
    """The modules of the package that a process of its own has loaded when it has run some code."""
    shown = f"import sys; {code}; print(*(name for name in sys.modules if name.split('.')[0] == 'synthrelease'))"
    done = run_apart(shown, folder=ROOT, afresh=True)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split())


BOUND, ESTIMATE = "face == 'head' and year < 5", "share face == 'head' by year"


@pytest.mark.parametrize(
    ("code", "most"),
    [
        ("import synthrelease; synthrelease.load({folder!r})", 75),
        (f"import synthrelease; synthrelease.bound({{folder!r}}, {BOUND!r})", 140),
        (f"import synthrelease; synthrelease.estimate({{folder!r}}, {ESTIMATE!r})", 100),
        (f"from synthrelease.cli import app; app(['bound', {{folder!r}}, {BOUND!r}], standalone_mode=False)", 150),
        (f"from synthrelease.cli import app; app(['estimate', {{folder!r}}, {ESTIMATE!r}], standalone_mode=False)", 112),
    ],
    ids=["load", "bound", "estimate", "the command bound", "the command estimate"],
)
def test_a_reader_loads_few_modules_and_none_of_the_enclave(code: str, most: int, tmp_path: Path) -> None:
    """Of a release with the criteria of the births; an estimate is made from published tables."""
    from tests.helpers.cards import rich_bundle, write_files
    from tests.published.test_measurements import released

    folder = tmp_path / "bundle"
    if "estimate" in code:
        write_bundle(released(tmp_path, 'publish_measurements = true\nmeasurements = "shared"'), folder)
    else:
        write_files(rich_bundle(), folder)
    loaded = loaded_by(code.format(folder=str(folder)))
    assert len(loaded) <= most
    assert not [name for name in loaded if behind_the_door(name)]


@pytest.mark.parametrize(("command", "most"), [("plan", 175), ("verify", 345)])
def test_who_plans_and_who_verifies_loads_no_door_no_noise_and_no_round(command: str, most: int, tmp_path: Path) -> None:
    """What a release costs is planned from classes alone, and what it published is computed once more from itself."""
    from tests.helpers.cards import rich_bundle, write_files

    given = ROOT / "configs" / "births.toml" if command == "plan" else write_files(rich_bundle(), tmp_path / "bundle")
    loaded = loaded_by(f"from synthrelease.cli import app; app([{command!r}, {str(given)!r}], standalone_mode=False)")
    drawing = ("enclave", "privacy.noise", "privacy.samplers", "publish")
    assert not [name for name in loaded if is_of(name, drawing)]
    rounds = {f"synthrelease.releasing.{name}" for name in ("release", "attempt", "selection")}
    assert rounds | {"synthrelease.generators.candidate"} <= {name for name in MODULES if name not in loaded}
    assert len(loaded) <= most


def test_help_loads_no_library_but_the_one_that_reads_arguments() -> None:
    """What a help shows is the first line of each command."""
    shown = "import sys; sys.argv = ['synthrelease', '--help']; from synthrelease.cli import main"
    shown += "; import atexit; atexit.register(lambda: print(*{name.split('.')[0] for name in sys.modules})); main()"
    done = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=True, cwd=ROOT)
    libraries = {"numpy", "pydantic", "rich", "pyarrow", "jinja2", "yaml", "scipy", "tomllib"}
    assert set(done.stdout.splitlines()[-1].split()).isdisjoint(libraries)


WALKS = re.split(r"\n(?=\d+\. \*\*)", DOCUMENT.partition("## Ten walks")[2].partition("\n## ")[0])[1:]


@pytest.mark.parametrize("walk", WALKS, ids=lambda walk: walk.split("**")[1])
def test_a_walk_takes_eight_files_that_import_one_another_and_have_what_it_names(walk: str) -> None:
    """Whoever reads them in this order always comes from a file that she knows."""
    texts: dict[str, str] = {}
    for file, names in re.findall(r"`([\w/]+\.py)`\s*\(([^)]*)\)", walk):
        module, text = f"synthrelease.{file[:-3].replace('/', '.')}", (PACKAGE / file).read_text(encoding="utf-8")
        for name in re.findall(r"`([\w.]+)`", names):
            for part in name.split("."):
                assert re.search(rf"(def|class) {part}\b|^{part}\b", text, re.MULTILINE), f"{file} has no {name}"
        known = any(f"{module} " in other or f"{earlier} " in text for earlier, other in texts.items())
        assert known or not texts, f"{file} and the files before it know nothing of one another"
        texts[module] = text
    assert 3 <= len(texts) <= 8


def test_there_are_ten_walks() -> None:
    assert len(WALKS) == 10
