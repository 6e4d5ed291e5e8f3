"""Load criteria and generators from other packages. The configuration must name each such package with its version and
digest.

A package provides its classes through the entry points `synthrelease.criteria` and `synthrelease.generators`. Before code
of a package is imported, and before a private file is opened, the version and the digest of the installed files are
compared with [[plugins]]. Imported code can do anything that Python can do. The digest proves which code ran, but not that
the code is harmless.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import Distribution, EntryPoint, PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from synthrelease.criteria import CRITERIA
from synthrelease.errors import InputError, SpecError, Unexpected, listing
from synthrelease.generators import GENERATORS
from synthrelease.resources import Kinds, file_digest
from synthrelease.settings.mistakes import Problems
from synthrelease.settings.options import PluginTable

GROUPS: Mapping[str, Kinds[Any]] = {"synthrelease.criteria": CRITERIA, "synthrelease.generators": GENERATORS}
"""The registries of classes. For each group of entry points, the dict contains the registry to which the classes are added."""
# Files next to the package's metadata that differ from one installation to the next.
_OF_THE_INSTALLER = ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json")


def described(package: str) -> PluginTable:
    """Return the table [[plugins]] for an installed package, with its version and checksum, to copy into a configuration.

    Raises
    ------
    InputError : if the package is not installed, has no entry points for this program, or is an editable installation,
        whose files can change.
    """
    try:
        installed = _installed(package)
        _offered(installed)
        return PluginTable(package=package, version=installed.version, sha256=_digest(installed))
    except Unexpected as error:
        raise InputError(f"{error}.") from None


def load_plugins(tables: Sequence[PluginTable], problems: Problems) -> None:
    for index, table in enumerate(tables):
        try:
            load_plugin(table)
        except Unexpected as error:
            problems.add_error(f"plugins[{index}]", error)


_LOADED: dict[str, str] = {}  # The digest that each package had when this process loaded it


def load_plugin(table: PluginTable) -> tuple[tuple[str, type[Any]], ...]:
    """Load and register the classes of one package, and return each with its name in a configuration or acceptance file.

    Raises
    ------
    Unexpected : if the package is not installed, if its version or digest is different, or if one of its classes cannot be
        used.
    """
    installed = _installed(table.package)
    if installed.version != table.version:
        fault = f"The configuration names version {table.version} of {table.package}"
        raise Unexpected(f"{fault}, but version {installed.version} is installed. Install the named version")
    if (digest := _digest(installed)) != table.sha256:
        fault = f"The installed files of {table.package} have the digest {digest[:16]}..."
        stated = f"the configuration states {table.sha256[:16]}..."
        raise Unexpected(f"{fault}, but {stated} If you trust the installed files, run `synthrelease plugin {table.package}`")
    if _LOADED.setdefault(table.package, digest) != digest:
        raise Unexpected(f"The files of {table.package} have changed since this process loaded them. Start a new process")
    found = []
    for entry in _offered(installed):
        found.append((f"{table.package}:{entry.name}", _class_of(entry, installed)))
        GROUPS[entry.group].add(*found[-1])
    return tuple(found)


def check_named(
    plugins: Sequence[PluginTable], named: Mapping[str, object], problems: Problems, file: str | None = None
) -> None:
    """Add a problem for each criterion or generator that comes from a package that [[plugins]] does not list.

    Parameters
    ----------
    named : the names of criteria or generators, by their TOML paths in the file.
    """
    packages = [table.package for table in plugins]
    for where, name in named.items():
        package, colon, _ = str(name).partition(":")
        if colon and package not in packages:
            known = f". It names {listing(packages)}" if packages else ""
            problems.add(where, f"[[plugins]] does not name the package of {str(name)!r}{known}", file=file)


def check_trusted(path: str, plugins: Sequence[PluginTable], trusted: Sequence[str]) -> None:
    """Raise SpecError if the configuration or the command line does not allow a package to run on the private file."""
    for index, table in enumerate(plugins):
        if not table.trust:
            fault = f"The package {table.package} needs trust = true before it runs on the private file"
            raise SpecError.at(path, f"plugins[{index}]", f"{fault}. Nothing was spent")
        if table.package not in trusted:
            how = f"--trust {table.package} (in Python, trust=[{table.package!r}])"
            fault = f"To use the package {table.package}, confirm that you trust it, with {how}"
            raise SpecError.at(path, f"plugins[{index}]", f"{fault}. Nothing was spent")


def _installed(package: str) -> Distribution:
    try:
        installed = distribution(package)
    except PackageNotFoundError:
        raise Unexpected(f"The package {package} is not installed") from None
    origins = [file for file in installed.files or () if file.name == "direct_url.json"]
    edited = any(json.loads(file.read_text(encoding="utf-8")).get("dir_info", {}).get("editable") for file in origins)
    if not installed.files or edited:
        fault = f"The package {package} is installed in editable mode, or without a list of its files"
        raise Unexpected(f"{fault}. Install a copy of it")
    return installed


def _offered(installed: Distribution) -> list[EntryPoint]:
    offered = [entry for entry in installed.entry_points if entry.group in GROUPS]
    if not offered:
        raise Unexpected(f"The package {installed.name} has none of the entry points {listing(GROUPS)}")
    return offered


def _files(installed: Distribution) -> Iterator[tuple[str, Path]]:
    for file in sorted(installed.files or (), key=lambda file: file.as_posix()):
        of_installer = file.parent.suffix == ".dist-info" and file.name in _OF_THE_INSTALLER
        if ".." not in file.parts and file.suffix != ".pyc" and not of_installer:
            yield file.as_posix(), Path(str(installed.locate_file(file)))


def _digest(installed: Distribution) -> str:
    whole = hashlib.sha256()
    for name, path in _files(installed):
        if not path.is_file():
            raise Unexpected(f"The file {name} of the package {installed.name} is missing")
        whole.update(f"{file_digest(path)}  {name}\n".encode())
    return whole.hexdigest()


def _class_of(entry: EntryPoint, installed: Distribution) -> type[Any]:
    """Import the class of an entry point. Raises Unexpected if the class is invalid or not in a file of the package."""
    from synthrelease.criteria.outside import OutsideCriterion
    from synthrelease.generators.outside import OutsideGenerator

    base = OutsideCriterion if entry.group == "synthrelease.criteria" else OutsideGenerator
    files, top = {path.resolve() for _, path in _files(installed)}, find_spec(entry.module.partition(".")[0])
    if top is None or top.origin is None or Path(top.origin).resolve() not in files:  # before a line of the module runs
        raise Unexpected(f"The module {entry.module} is not in a file of its package")
    try:
        model = entry.load()
    except Exception as error:  # no private data were read so far: the message may be shown
        raise Unexpected(f"Cannot import {entry.value}. {type(error).__name__}: {error}") from None
    if not (isinstance(model, type) and issubclass(model, base)):
        raise Unexpected(f"{entry.value} must be a subclass of {base.__name__}. It is {model!r}")
    if Path(inspect.getfile(model)).resolve() not in files:
        raise Unexpected(f"{entry.value} is not in a file of its package, but in {inspect.getfile(model)}")
    if own := sorted(base.RESERVED & {name for kind in model.__mro__[: model.__mro__.index(base)] for name in vars(kind)}):
        why = "because synthrelease itself adds the noise and the charge"
        raise Unexpected(f"{entry.value} must not define {listing(own)}, {why}")
    return model
