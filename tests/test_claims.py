"""What the pages claim about the program: commands, options, files, settings, messages and numbers are those that it has."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest
import typer
from jsonschema import Draft202012Validator, ValidationError

from synthrelease import errors
from synthrelease.answers.listed import MOST_CELLS, NAMES
from synthrelease.cli import app
from synthrelease.cli.terminal import NOTHING_RELEASED, STOPPED
from synthrelease.criteria.drafts import MOST_EPSILON
from synthrelease.criteria.scoring import JointTest
from synthrelease.data.counts import DENSE_LIMIT
from synthrelease.data.schema import MAX_BINS
from synthrelease.generators import GENERATORS
from synthrelease.generators.associations import Carried, How
from synthrelease.generators.counting_queries import CELL_LIMIT
from synthrelease.generators.privbayes import MOST_PAIRS
from synthrelease.privacy.charges import SHORTFALL, RowsRule
from synthrelease.privacy.grids import MOST_ROWS
from synthrelease.privacy.selection import FiniteLaw, StopCoin
from synthrelease.published.associations import HEADER
from synthrelease.published.verify.checks import MAX_BYTES
from synthrelease.releasing.attempt_costs import USUAL_ROWS
from synthrelease.releasing.dry_run import ROWS
from synthrelease.settings.reading import MAX_SPEC_BYTES
from synthrelease.settings.tables import MAX_COLUMNS, MAX_TABLES
from synthrelease.spec.space import MAX_CONFIGURATIONS
from synthrelease.studio.drafting.column_draft import MOST_COLUMNS
from synthrelease.studio.drafting.columns import MAX_CODES
from synthrelease.studio.rehearsal.attempts import STAGES
from tests.conftest import ROOT
from tests.helpers.cards import rich_bundle
from tests.reference import acceptance_schema, configuration_schema

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
WRITTEN = [page for page in PAGES if page.name not in ("settings.md", "theory.md")]
"""Pages that people write for people; docs/settings.md is made from the program, and has a test of its own."""

_BLOCK = re.compile(r"^```(\w*)(?: title=\"([^\"]*)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`([^`\n]+)`")
_FOLDERS = "configs|acceptance|public_data|requirements|synthrelease|tests"
_PATH = re.compile(rf"(?<![\w/.-])(?:{_FOLDERS})/[\w/.-]+\.(?:toml|py|csv|gz|txt|md)\b")
CLI: Any = typer.main.get_command(app)


@cache
def text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


@cache
def source() -> str:
    """All texts of the program."""
    files = [path for path in (ROOT / "synthrelease").rglob("*") if path.suffix in {".py", ".html", ".md", ".toml"}]
    return "\n".join(path.read_text(encoding="utf-8") for path in files)


def blocks(page: Path) -> Iterator[tuple[str, str, str]]:
    """Language, title and text of each fenced block."""
    yield from ((language, title, inside) for language, title, inside in _BLOCK.findall(text(page)))


def inline(page: Path) -> list[str]:
    return _INLINE.findall(_BLOCK.sub("", text(page)))


def commands() -> Iterator[tuple[Path, str]]:
    """Every command of ours in a fenced block, in one line."""
    for page in PAGES:
        for language, _, inside in blocks(page):
            if language in ("", "console", "text"):
                for line in re.sub(r"\\\n\s*", "", inside).splitlines():
                    if match := re.match(r"(?:\$ |\.venv/bin/)?synthrelease (.*)$", line):
                        yield page, match[1]


def mistake(command: str) -> str | None:
    """What the parser of the real command line says against a command."""
    words = shlex.split(command, comments=True)
    group, name = CLI, words.pop(0)
    if name == "ledger":
        group, name = CLI.commands["ledger"], words.pop(0)
    if name not in group.commands:
        return f"no command {name}"
    try:
        group.commands[name].make_context(name, words)
    except Exception as error:
        return str(error) or type(error).__name__
    return None


def test_every_command_is_one_that_the_command_line_takes() -> None:
    found = list(commands())
    assert len(found) > 45
    wrong = {(page.name, command): mistake(command) for page, command in found if mistake(command)}
    assert wrong == {}


def test_the_parser_refuses_what_is_no_command() -> None:
    assert mistake("release configs/births.toml --data a.csv --out b") is None
    assert mistake("release configs/births.toml --data a.csv --oot b")
    assert mistake("verifies release")
    assert mistake("leave-out configs/births.toml")


@cache
def options() -> dict[str, set[str]]:
    """The options of every command, by its name."""
    all_of = {**CLI.commands, **CLI.commands["ledger"].commands}
    return {
        name: {one for each in command.params for one in [*each.opts, *each.secondary_opts]} for name, command in all_of.items()
    }


OF_OTHERS = {"--no-index", "--find-links", "--require-hashes", "--no-deps", "--strict", "--system", "--python", "--check",
             "--write", "--help", "--rules", "--apart", "--edits"}  # fmt: skip
"""Options of pip, mkdocs, sha256sum and the scripts of the benchmarks."""


def test_every_option_that_a_page_names_is_one_of_its_command() -> None:
    known = set().union(*options().values()) | OF_OTHERS
    number, wrong = 0, []
    for page in WRITTEN:
        for code in (one for one in inline(page) if "python" not in one):
            command = re.match(r"(?:synthrelease )?([a-z]+(?:-[a-z]+)*) (?=.*--)", code)
            allowed = options()[command[1]] | {"--help"} if command and command[1] in options() else known
            for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", code):
                number += 1
                if option not in allowed:
                    wrong.append((page.name, code))
    assert number > 60
    assert wrong == []


def test_every_command_and_target_that_a_sentence_names_is_there() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for page in [*WRITTEN, ROOT / "CONTRIBUTING.md"]:
        for code in inline(page):
            if match := re.match(r"synthrelease ([a-z]+(?:-[a-z]+)*)\b", code):
                assert match[1] in options() or match[1] == "ledger", (page.name, code)
            if match := re.match(r"make ([a-z-]+)", code):
                assert match[1] in targets, (page.name, code)


def test_every_path_of_the_repository_that_a_page_names_is_there() -> None:
    named = {(page.name, path) for page in [*WRITTEN, *(DOCS / "appendix").glob("*.md")] for path in _PATH.findall(text(page))}
    examples = {"stays", "NAME", "visits", "homes", "configuration.schema"}
    wrong = sorted(one for one in named if not (ROOT / one[1]).is_file() and Path(one[1]).stem not in examples)
    assert len(named) > 40
    assert wrong == []


FILES = {"md", "csv", "py", "json", "dta", "sav", "parquet", "jsonld", "toml"}
"""Ends of names of files, which are no modules."""


def missing_module(name: str) -> bool:
    """Whether a dotted name that begins with a room of the package leads to no module, or to no name in its module."""
    parts, place = name.split("."), ROOT / "synthrelease"
    while parts and (place / parts[0]).is_dir():
        place /= parts.pop(0)
    if parts and (place / f"{parts[0]}.py").is_file():
        place = place / f"{parts.pop(0)}.py"
    if not parts:
        return False
    module = place if place.is_file() else place / "__init__.py"
    return not module.is_file() or not re.search(rf"\b{re.escape(parts[0])}\b", text(module))


def test_every_module_that_a_page_names_is_there() -> None:
    rooms = {path.name for path in (ROOT / "synthrelease").iterdir() if (path / "__init__.py").is_file()}
    pages = [*WRITTEN, DOCS / "theory.md", *(DOCS / "appendix").glob("*.md"), ROOT / "CONTRIBUTING.md"]
    named = {
        (page.name, name)
        for page in pages
        for name in re.findall(r"`([a-z_]+(?:\.\w+)+)(?:\(\))?`", text(page))
        if name.partition(".")[0] in rooms - {"parts"} and name.rpartition(".")[2] not in FILES
    }
    assert missing_module("privacy.cases")
    assert not missing_module("privacy.noise.laplace_figure")
    assert len(named) > 5
    assert sorted(one for one in named if missing_module(one[1])) == []


def test_every_variable_of_the_environment_is_one_that_the_program_or_a_test_reads() -> None:
    read = source() + "".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py") if path.name != Path(__file__).name
    )
    found = {name for page in PAGES for name in re.findall(r"\bSYNTHRELEASE_[A-Z_]+\b", text(page))}
    assert len(found) >= 2
    assert {name for name in found if name not in read} == set()


def matters(error: ValidationError) -> bool:
    """Whether an error is more than that a part of a file lacks what stands in the rest of it."""
    if error.validator in ("anyOf", "oneOf"):
        branches: dict[Any, list[ValidationError]] = {}
        for each in error.context or ():
            branches.setdefault(each.schema_path[0], []).append(each)
        return all(any(matters(each) for each in branch) for branch in branches.values())
    return error.validator not in ("required", "dependentRequired", "minProperties", "not")


ACCEPTANCE = {"criteria", "groups", "not_promised", "prior", "face_privacy"}


def settings_of(page: Path) -> Iterator[tuple[str, Any]]:
    """The blocks of TOML of a page that are parts of one of the two files."""
    for language, title, inside in blocks(page):
        if language == "toml" and not title.endswith(("facts.toml", "pyproject.toml")):
            yield inside, json.loads(json.dumps(tomllib.loads(inside), default=str))


def wrong_settings(part: Any) -> list[str]:
    schema = acceptance_schema() if set(part) & ACCEPTANCE and not set(part) - ACCEPTANCE else configuration_schema()
    found = [error for error in Draft202012Validator(schema).iter_errors(part) if matters(error)]
    return [f"{'.'.join(map(str, error.absolute_path))}: {error.message[:200]}" for error in found]


def test_every_block_of_settings_is_a_part_of_one_of_the_two_files() -> None:
    parts = [(page.name, inside, part) for page in WRITTEN for inside, part in settings_of(page)]
    assert len(parts) >= 15
    assert {(name, inside): wrong_settings(part) for name, inside, part in parts if wrong_settings(part)} == {}


def test_a_misspelt_setting_is_found() -> None:
    assert wrong_settings({"budget": {"generation": 1}}) == []
    assert wrong_settings({"budget": {"generatoin": 1}})
    assert wrong_settings({"criteria": [{"name": "a", "kind": "mean_marginal_eror"}]})
    assert wrong_settings({"columns": {"a": {"kind": "code", "otuside": "bin"}}})


def keys(schema: Any) -> set[str]:
    """All names of settings in a schema."""
    if isinstance(schema, list):
        return set().union(*map(keys, schema))
    if not isinstance(schema, dict):
        return set()
    own = set(schema.get("properties", {})) if isinstance(schema.get("properties"), dict) else set()
    return own.union(*map(keys, schema.values()))


def test_every_setting_that_a_sentence_names_is_in_the_schema() -> None:
    known = keys(configuration_schema()) | keys(acceptance_schema()) | {"sha256", "from"}
    facts = {
        "bounds",
        "decimals",
        "categories",
        "year",
        "day",
        "of",
        "given",
        "across",
        "per",
        "missing",
        "gaps",
        "skipped",
        "tolerance",
        "name",
        "sources",
    }
    number, wrong = 0, []
    for page in WRITTEN:
        for code in inline(page):
            if match := re.match(r"(?:\[\[?[\w.]+\]?\] )?([a-z_]{3,})(?:\.\w+)? = ", code):
                number += 1
                if match[1] not in known | facts:
                    wrong.append((page.name, code))
            if match := re.fullmatch(r"\[\[?([a-z_]+)\]?\](?: [a-z_]+)*", code):
                number += 1
                if match[1] not in known | facts:
                    wrong.append((page.name, code))
    assert number > 60
    assert wrong == []


def test_the_files_of_a_bundle_are_those_that_the_program_writes() -> None:
    table = text(DOCS / "bundle.md").partition("| file | content |")[2].partition("\n\n")[0]
    named = {code for line in table.splitlines() for code in _INLINE.findall(line.split(" | ")[0])}
    assert named >= set(rich_bundle())
    assert {name for name in named - set(rich_bundle()) if f'"{name}"' not in source()} == set()


def test_the_columns_and_words_of_associations_csv_are_those_that_the_program_writes() -> None:
    table = text(DOCS / "bundle.md").partition("| column of associations.csv | content |")[2].partition("\n\n")[0]
    rows = dict(line.strip("| ").split(" | ", 1) for line in table.splitlines() if line.startswith("| `"))
    assert [code for name in rows for code in _INLINE.findall(name)] == list(HEADER)
    assert re.findall(r'"([^"]+)"', rows["`carried`"]) == list(get_args(Carried))
    assert set(re.findall(r'"([^"]+)"', rows["`how`"])) == set(get_args(How)) - {"in pairs"}  # of a triple that is not listed


def test_the_columns_of_estimates_csv_are_those_that_the_program_writes() -> None:
    table = text(DOCS / "bundle.md").partition("| column of estimates.csv | content |")[2].partition("\n\n")[0]
    assert [code for line in table.splitlines() for code in _INLINE.findall(line.split(" | ")[0])] == list(NAMES)


def test_the_families_and_their_guarantees_are_those_of_the_program() -> None:
    table = text(DOCS / "generators.md").partition("| family | guarantee | use |")[2].partition("\n\n")[0]
    found: dict[str, str] = {}
    for line in table.splitlines()[2:]:
        names, stated = line.strip("| ").split(" | ")[:2]
        listed, said = _INLINE.findall(names), stated.split("; ")
        found |= dict(zip(listed, said * len(listed) if len(said) == 1 else said, strict=False))
    assert found == {name: "pure" if family.guarantee == "pure" else "a delta" for name, family in GENERATORS.items()}
    gaussian = re.search(r"used if every family is (.+?) and the mode", " ".join(text(DOCS / "theory.md").split()))
    assert gaussian is not None
    assert set(_INLINE.findall(gaussian[1])) == {name for name, family in GENERATORS.items() if family.gaussian}


def test_the_extras_are_those_of_the_package() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    named = re.search(r"^Extras: (.+?)\.\s+The tests", text(DOCS / "tutorial.md"), re.MULTILINE | re.DOTALL)
    assert named is not None
    assert set(_INLINE.findall(named[1])) <= set(extras)
    for page in WRITTEN:
        assert set(re.findall(r"\bextra `(\w+)`", text(page))) <= set(extras), page.name


def test_the_table_of_commands_has_each_command_once() -> None:
    listed = re.findall(r"^\| `([a-z-]+)` \|", text(DOCS / "commands.md"), re.MULTILINE)
    assert sorted(listed) == sorted(CLI.commands)


def test_the_exit_codes_are_those_of_the_program() -> None:
    table = dict(re.findall(r"^\| (\d) \| (.+) \|$", text(DOCS / "commands.md"), re.MULTILINE))
    assert "succeeded" in table["0"]
    assert "private data were in use" in table[str(errors.PrivateFailure.exit_code)]
    assert str(STOPPED) == "1"
    assert "a mistake in the specification" in table[str(errors.SpecError.exit_code)]
    assert "found no acceptable table" in table[str(NOTHING_RELEASED)]
    assert "The budget does not allow the release" in table[str(errors.BudgetError.exit_code)]
    assert set(table) == set("012345")


def default(command: str, option: str) -> Any:
    return next(each.default for each in options_of(command) if option in each.opts)


def options_of(command: str) -> list[Any]:
    return list(CLI.commands[command].params)


def law(rounds: dict[int, str]) -> FiniteLaw:
    return FiniteLaw.of({number: Fraction(share) for number, share in rounds.items()})


def up(value: Fraction, digits: int = 2) -> str:
    return f"{-int(-value * 10**digits // 1) / 10**digits:.{digits}f}"


ROUND, ACCEPTED = Fraction("4.56"), Fraction("0.73")


def of_law(name: str, one: FiniteLaw | StopCoin, digits: int) -> str:
    return f"| {name} | {up(one.price(ROUND))} | {float(one.nothing(1 - ACCEPTED)):.{digits}f} |"


def power(number: int) -> int:
    return number.bit_length() - 1


def margin(epsilon: str) -> int:
    return RowsRule(way="counted", epsilon=Fraction(epsilon)).margin


def factor(epsilon: str) -> str:
    """e^epsilon, rounded up."""
    return up(Fraction(Decimal(epsilon).exp()))


CLAIMS: list[tuple[str, Callable[[], str]]] = [
    ("accounting.md", lambda: f"| without end | {up(2 * ROUND)} | 0 |"),
    ("accounting.md", lambda: of_law("1 (0.182), 6 (0.47) or 7 (0.348)", law({1: "0.182", 6: "0.47", 7: "0.348"}), 3)),
    ("accounting.md", lambda: of_law("1 (0.486), 3 (0.479) or 4 (0.035)", law({1: "0.486", 3: "0.479", 4: "0.035"}), 3)),
    ("accounting.md", lambda: of_law("1", law({1: "1"}), 2)),
    ("accounting.md", lambda: of_law("`stop_probability = 0.1`", StopCoin(stop_probability=Fraction("0.1")), 3)),
    ("accounting.md", lambda: of_law("`stop_probability = 0.02`", StopCoin(stop_probability=Fraction("0.02")), 3)),
    ("accounting.md", lambda: of_law("`stop_probability = 0.001`", StopCoin(stop_probability=Fraction("0.001")), 4)),
    ("accounting.md", lambda: f"minus a margin: {margin('0.05')} rows at 0.05, {margin('0.02')} rows at 0.02."),
    ("accounting.md", lambda: f"With probability {float(SHORTFALL):g} the size exceeds the number of remaining rows"),
    ("generators.md", lambda: f"{margin('0.01')} at `rows = 0.01`, {margin('0.03')} at 0.03"),
    ("generators.md", lambda: f"The largest clique of the model may have {DENSE_LIMIT:,} cells."),
    ("generators.md", lambda: f"The table may have 2^{power(CELL_LIMIT)} cells."),
    ("generators.md", lambda: f"each choice considers only {MOST_PAIRS:,} public pairs"),
    ("commands.md", lambda: f"A measured table has at most {DENSE_LIMIT:,} cells."),
    ("commands.md", lambda: f"A column has at most {MAX_BINS:,} bins."),
    ("commands.md", lambda: f"A specification has at most {MAX_SPEC_BYTES // 10**6} MB, {MAX_COLUMNS:,} columns, "
     f"{MAX_CONFIGURATIONS:,} configurations, and {MAX_TABLES} rules, generators or criteria each."),
    ("threat-model.md", lambda: f"**The trial before the charge has {ROWS:,} made-up rows.**"),
    ("threat-model.md", lambda: f"for {USUAL_ROWS:,} rows unless you state `--rows`"),
    ("commands.md", lambda: f"The private file has at most 2^{power(MOST_ROWS)} rows, or "
     f"2^{power(JointTest.most_rows)} for MST, AIM and a joint test."),
    ("commands.md", lambda: f"`verify` reads folders of at most {MAX_BYTES // 10**9} GB."),
    ("drafting.md", lambda: f"its values are at most {MAX_CODES:,} different texts"),
    ("drafting.md", lambda: f"A draft has at most {MOST_COLUMNS} columns; a release has at most {MAX_COLUMNS:,} columns."),
    ("drafting.md", lambda: f"or that costs more than epsilon {float(MOST_EPSILON):g}."),
    ("bundle.md", lambda: f"These pairs have at most {MOST_CELLS} cells together."),
    ("rehearsal.md", lambda: f"A configuration gets {', '.join(map(str, STAGES[:6]))}, ... attempts"),
    ("rehearsal.md", lambda: f'finding no table is at most `--nothing` ({default("rehearse", "--nothing"):g})'),
    ("rehearsal.md", lambda: f"`--noise-level` ({default('rehearse', '--noise-level'):g})"),
    ("estimates.md", lambda: f"at the confidence `--confidence` ({float(default('bound', '--confidence')):.0%} by default)"),
    ("faq.md", lambda: f"The factor is {factor('0.7')} at epsilon 0.7, {factor('1')} at 1 and {factor('3')} at 3."),
    ("tutorial.md", lambda: "`synthrelease` needs Python 3.11, 3.12 or 3.13."),
]  # fmt: skip
"""Page, and what stands there as the program computes it, when it is asked."""


@pytest.mark.parametrize(("page", "sentence_of"), CLAIMS, ids=[f"{page}-{place}" for place, (page, _) in enumerate(CLAIMS)])
def test_a_page_states_what_the_program_has(page: str, sentence_of: Callable[[], str]) -> None:
    assert sentence_of() in " ".join(text(DOCS / page).split())


_MEASURED = re.compile(r"\d (?:MB|GB|CPU|processor|seconds|minutes)\b|\b\d+ of \d+\b(?! rounds are)|\b\d[\d,]* questions to \d")
_DATE = re.compile(r"20\d\d-\d\d-\d\d")
UNDATED = {"accuracy.md", "audit.md", "linked.md", "settings.md", "sources.md", "theory.md"}
"""Pages with tables whose date stands above them, and pages without measurements."""


def test_what_was_measured_has_its_date_or_is_computed() -> None:
    computed = [sentence_of() for _, sentence_of in CLAIMS]
    found = [
        (page.name, part)
        for page in WRITTEN
        if page.name not in UNDATED and page.parent == DOCS
        for part in re.split(r"\n\n|\n(?=- )", _BLOCK.sub("", text(page)))
        if _MEASURED.search(part)
    ]
    assert len(found) >= 5
    undated = [one for one in found if not _DATE.search(one[1])]
    assert [one for one in undated if not any(sentence in " ".join(one[1].split()) for sentence in computed)] == []


SAID = [
    ("estimates.md", "not estimable"),
    ("estimates.md", "covered by a criterion"),
    ("estimates.md", "bounded"),
    ("drafting.md", "DOUBTFUL"),
    ("drafting.md", "NOT PRESERVED"),
    ("rehearsal.md", "LOST"),
    ("rehearsal.md", "says nothing"),
    ("rehearsal.md", "cannot be met"),
    ("accounting.md", "not answered"),
]
"""Page, and what it says that the program says."""


@pytest.mark.parametrize(("page", "words"), SAID)
def test_what_a_page_says_that_the_program_says_is_what_it_says(page: str, words: str) -> None:
    assert words in text(DOCS / page)
    assert words in source()


TOO_MUCH = {
    "nothing about that person": "what a release tells about a person is limited by epsilon, and is not nothing",
    "added to everything": "choices and tests are random, too, and what is named as not hidden has no noise",
    "Every figure carries an error": "a criterion that asks nothing private has an exact figure",
    "not learned from the data": "no program sees whether a steward took bins from the data",
    "finds this beforehand": "how many rows are left after [partition] depends on noise",
    "combine them by Rubin's rule": "its variance leaves out the error of the synthesis",
    "most exact of all": "which generator is most exact depends on whose neighbours are counted",
}
"""What texts for people once said, and why it is more than what holds."""


@pytest.mark.parametrize("said", TOO_MUCH)
def test_no_text_for_people_claims_what_does_not_hold(said: str) -> None:
    package = ROOT / "synthrelease"
    texts = [*WRITTEN, *package.rglob("*.toml"), *(package / "bundle").rglob("*.html"), *(package / "bundle").rglob("*.md")]
    texts += [*package.rglob("*.py")]
    assert len(texts) > 300
    found = [str(path.relative_to(ROOT)) for path in texts if said in " ".join(text(path).split())]
    assert found == [], TOO_MUCH[said]
