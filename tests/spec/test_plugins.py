"""Criteria and generators of another package: pinned, trusted twice, tried before, and named in what is published."""

from __future__ import annotations

import importlib
import json
import shutil
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import synthrelease
from synthrelease.bundle.verify import verify_bundle, verify_files
from synthrelease.cli.specifying import check
from synthrelease.criteria import CRITERIA
from synthrelease.errors import InputError, SpecError, Unexpected
from synthrelease.generators import GENERATORS
from synthrelease.privacy.ledger import load_ledger, open_ledger
from synthrelease.releasing.release import release, split_register
from synthrelease.settings.options import PluginTable
from synthrelease.sources.source import Source
from synthrelease.spec.load import load_spec
from synthrelease.spec.plugins import _LOADED, described, load_plugin
from synthrelease.studio.audit.contracts import check_kind, check_package
from tests.bundle.verify.test_verify import resealed
from tests.conftest import ROOT
from tests.helpers.cards import rich_bundle
from tests.helpers.tiny import write_config, write_data

EXAMPLE = ROOT / "docs" / "plugin"
NAME = "copula-example"


def install(folder: Path) -> None:
    """Put the example where Python finds it, with the metadata that an installer writes."""
    shutil.copy(EXAMPLE / "copula_example.py", folder)
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    metadata = folder / "copula_example-0.1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    groups = project["entry-points"].items()
    lines = [f"[{group}]\n" + "".join(f"{name} = {place}\n" for name, place in entries.items()) for group, entries in groups]
    (metadata / "entry_points.txt").write_text("\n".join(lines))
    names = ("copula_example.py", f"{metadata.name}/METADATA", f"{metadata.name}/entry_points.txt", f"{metadata.name}/RECORD")
    (metadata / "RECORD").write_text("".join(f"{name},,\n" for name in names))


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "site"
    folder.mkdir()
    install(folder)
    monkeypatch.syspath_prepend(str(folder))
    importlib.invalidate_caches()
    yield folder
    sys.modules.pop("copula_example", None)
    _LOADED.clear()
    for kinds in (CRITERIA, GENERATORS):
        for name in [name for name in kinds._found if ":" in name]:  # type: ignore[attr-defined]
            del kinds._found[name]  # type: ignore[attr-defined]


def plugins(*, trust: bool) -> str:
    table = described(NAME)
    words = f'[[plugins]]\npackage = "{NAME}"\nversion = "{table.version}"\nsha256 = "{table.sha256}"\n'
    return words + ("trust = true\n" if trust else "")


def write(folder: Path, *, trust: bool = True) -> Path:
    """Write the tiny release with generator and criterion of the package."""
    folder.mkdir(exist_ok=True)
    config = write_config(folder)
    text = config.read_text(encoding="utf-8")
    start, end = text.index("[[generators]]"), text.index("[[projections]]")
    config.write_text(
        f'{text[:start]}[[generators]]\nfamily = "{NAME}:copula"\n\n{text[end:]}\n{plugins(trust=trust)}', encoding="utf-8"
    )
    acceptance = folder / "acceptance.toml"
    with acceptance.open("a", encoding="utf-8") as file:
        file.write(
            f'\n[[criteria]]\nname = "heads"\nkind = "{NAME}:share_gap"\ncolumn = "face"\nthreshold = 0.9\nepsilon = 0.5\n'
        )
    return config


def released(config: Path, folder: Path, **how: object) -> synthrelease.PublishedRelease:
    found = synthrelease.release(config, write_data(folder), folder / "out", unrehearsed=True, **how)  # type: ignore[arg-type]
    assert found is not None
    return found


@pytest.mark.slow
def test_a_release_runs_the_package_and_says_whose_claims_it_rests_on(installed: Path, tmp_path: Path) -> None:
    config = write(tmp_path / "work")
    bundle = released(config, tmp_path / "work", trust=[NAME])
    document = json.loads((bundle.folder / "release.json").read_text(encoding="utf-8"))
    assert document["plugins"] == [{**described(NAME).model_dump(exclude={"trust"}), "trust": True}]
    assert document["configuration"]["generator"]["family"] == f"{NAME}:copula"
    for name in ("README.md", "README.html", "SIGN.md"):
        text = (bundle.folder / name).read_text(encoding="utf-8")
        assert f"{NAME} 0.1.0" in text, name
    assert "The guarantee depends on the package's claim of how much one person can change the value of" in text
    (charged,) = load_ledger(tmp_path / "work" / "out.ledger").statement().entries
    assert charged.what == f"Coins (with {NAME} 0.1.0)"
    report = verify_bundle(bundle.folder, trust=[NAME])
    assert [problem for check in report.checks for problem in check.problems] == []
    assert report.passed


@pytest.mark.slow
def test_verify_without_the_package_says_what_it_does_not_know(installed: Path, tmp_path: Path) -> None:
    config = write(tmp_path / "work")
    bundle = released(config, tmp_path / "work", trust=[NAME])
    for trust in ((), ("another",)):
        report = verify_bundle(bundle.folder, trust=trust)
        assert report.unknown
        assert not report.passed
        marks = {check.name: check.mark for check in report.checks}
        assert marks["plan"] == marks["documents"] == "not known here"
        assert marks["checksums"] == "ok"
        known = verify_bundle(bundle.folder, trust=[NAME])
        assert list(marks) == [check.name for check in known.checks]  # none is left out or has another name
    rows = bundle.folder / "data.csv"
    rows.write_bytes(rows.read_bytes() + b"\n")
    assert not verify_bundle(bundle.folder).unknown  # what is wrong is no matter of what is known


@pytest.mark.parametrize(
    ("trust", "command", "said"), [(False, [NAME], "trust = true"), (True, [], "--trust"), (True, ["x"], "--trust")]
)
def test_a_release_needs_trust_twice(installed: Path, tmp_path: Path, *, trust: bool, command: list[str], said: str) -> None:
    config = write(tmp_path / "work", trust=trust)
    with pytest.raises(SpecError, match=said):
        released(config, tmp_path / "work", trust=command)
    assert not list((tmp_path / "work").glob("*.ledger"))
    assert "copula_example" not in sys.modules  # not a line of it ran where a private file is named
    with pytest.raises(SpecError, match=said):
        check(config, data=tmp_path / "work" / "coins.csv", trust=tuple(command))
    with pytest.raises(SpecError, match=said):  # of a specification that was loaded for a plan
        release(load_spec(config), tmp_path / "work" / "coins.csv", trust=command)


def test_a_register_is_split_by_a_configuration_with_plugins_that_are_trusted(installed: Path, tmp_path: Path) -> None:
    config = write(tmp_path / "work")
    text = config.read_text(encoding="utf-8").replace("rows = 400\n", "")  # of a piece it is not public
    config.write_text(f'{text}\n[split]\nby = "number"\npiece = 1\nof = 2\n', encoding="utf-8")
    ledger, nothing = tmp_path / "coins.ledger", Source.of(tmp_path / "none.csv")
    open_ledger(ledger, "Coins", 20)
    with pytest.raises(SpecError, match=f"--trust {NAME}"):
        split_register(ledger, config, nothing)
    with pytest.raises(InputError, match="no such file. Nothing was split"):
        split_register(ledger, config, nothing, trust=[NAME])


@pytest.mark.slow
def test_a_generator_and_a_criterion_of_one_name_are_both_tried(installed: Path) -> None:
    (metadata,) = installed.glob("*.dist-info/entry_points.txt")
    metadata.write_text(metadata.read_text(encoding="utf-8").replace("copula = ", "share_gap = "), encoding="utf-8")
    kinds = [kind.__name__ for _, kind in load_plugin(described(NAME))]
    assert sorted(kinds) == ["Copula", "ShareGap"]
    assert [problems for _, problems in check_package(described(NAME))] == [(), ()]


@pytest.mark.slow
def test_a_package_that_the_specification_lacks_hides_nothing(tmp_path: Path) -> None:
    """One line more in release.json is no reason to make fewer checks."""
    bundle = dict(rich_bundle())
    document = json.loads(bundle["release.json"])
    document["plugins"] = [{"package": "no-such-package", "version": "1", "sha256": "0" * 64, "trust": True}]
    report = verify_files(resealed({**bundle, "release.json": json.dumps(document, indent=2).encode()}))
    assert not report.unknown
    assert any(check.problems for check in report.checks)


def test_plans_and_rehearsals_need_no_trust(installed: Path, tmp_path: Path) -> None:
    assert synthrelease.plan(write(tmp_path / "work", trust=False)).total.epsilon > 0


def test_nothing_is_imported_of_other_bytes_or_another_version(installed: Path, tmp_path: Path) -> None:
    config = write(tmp_path / "work")
    table = described(NAME)
    with (installed / "copula_example.py").open("a") as file:
        file.write("raise RuntimeError('imported')\n")
    with pytest.raises(SpecError, match=r"plugins\[0\]: The installed files of copula-example have the digest"):
        load_spec(config)
    with pytest.raises(Unexpected, match="version 9"):
        load_plugin(table.model_copy(update={"version": "9"}))
    assert "copula_example" not in sys.modules


def test_names_of_a_package_that_the_configuration_lacks_are_refused(installed: Path, tmp_path: Path) -> None:
    config = write(tmp_path / "work")
    load_spec(config)  # now it is registered in this process
    config.write_text(config.read_text(encoding="utf-8").partition("[[plugins]]")[0], encoding="utf-8")
    with pytest.raises(
        SpecError, match=r"generators\[0\]\.family: \[\[plugins\]\] does not name the package of 'copula-example:copula'"
    ):
        load_spec(config)


def test_a_package_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"The package no-such-package is not installed"):
        described("no-such-package")
    with pytest.raises(
        InputError, match=r"The package numpy has none of the entry points 'synthrelease\.criteria', 'synthrelease\.generators'"
    ):
        described("numpy")
    with pytest.raises(Unexpected, match="The package no-such-package is not installed"):
        load_plugin(PluginTable(package="no-such-package", version="1", sha256="0" * 64))


@pytest.mark.slow
def test_the_example_passes_the_check_of_kinds(installed: Path) -> None:
    for name, kind in load_plugin(described(NAME)):
        assert check_kind(kind, name) == ()
    text = (EXAMPLE / "copula_example.py").read_text(encoding="utf-8")
    generator = text[text.index("class Copula(") : text.index("class ShareGap(")]
    assert len([line for line in generator.splitlines() if line.strip()]) <= 40


def test_a_class_that_makes_its_own_noise_is_refused(installed: Path) -> None:
    source = installed / "copula_example.py"
    source.write_text(
        source.read_text(encoding="utf-8") + "\n    def query(self, n, candidate, setting, fitted):\n        return None\n"
    )
    with pytest.raises(
        Unexpected,
        match=r"copula_example:ShareGap must not define 'query', because synthrelease itself adds the noise and the charge",
    ):
        load_plugin(described(NAME))
    ((_, problems),) = check_package(described(NAME))
    assert (
        "copula_example:ShareGap must not define 'query', because synthrelease itself adds the noise and the charge"
        in problems[0]
    )
