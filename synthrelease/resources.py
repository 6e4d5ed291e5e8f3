"""Locate the files and the version of the program, and load optional libraries, classes and templates at their first use."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar

from synthrelease.data.texts import visible
from synthrelease.errors import InputError

if TYPE_CHECKING:
    from jinja2 import Environment
    from jinja2.bccache import Bucket, BytecodeCache

# A library of an extra is loaded at its first use. There is one message if it is missing.


def library(module: str, name: str, what: str, extra: str) -> ModuleType:
    """Import a module of an optional library. The InputError for a missing library names the extra that installs it."""
    try:
        return import_module(module)
    except ImportError:
        pass
    raise InputError(f"The library {name} is needed for {what}. It is not installed, or cannot be imported. {install(extra)}")


def install(extra: str) -> str:
    return f'Install the extra "{extra}" (docs/tutorial.md, Installing).'


# Kinds of criteria, generators and so on. Each class is loaded at its first use, because a document or a configuration names
# only some of the kinds.
#
# The program contains the names of the modules. A name from a file is only looked up among these.

Kind = TypeVar("Kind")


class Kinds(Mapping[str, type[Kind]]):
    """A mapping from names to classes, such as "privbayes" to `PrivBayes`. A class is imported when it is first looked up.

    Iterating yields only the names of this program's own classes, and imports nothing.

    Parameters
    ----------
    places : for each name, the module and the class within the package, written as "module:Class".
    """

    def __init__(self, package: str, places: Mapping[str, str]) -> None:
        self._package, self._places, self._found = package, dict(places), dict[str, type[Kind]]()

    def __getitem__(self, kind: str) -> type[Kind]:
        if kind not in self._found:
            module, _, name = self._places[kind].partition(":")
            self._found[kind] = getattr(import_module(f"{self._package}.{module}"), name)
        return self._found[kind]

    def add(self, kind: str, model: type[Kind]) -> None:
        """Add a class from another package, with a colon in its name (`spec.plugins`)."""
        self._found[kind] = model

    def __contains__(self, kind: object) -> bool:
        return kind in self._places or kind in self._found

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def at_first_use(package: str, names: Mapping[str, tuple[str, ...]]) -> Callable[[str], object]:
    """Return a `__getattr__` for a package, which imports a module when one of its `names` is first used."""
    places = {name: module for module, found in names.items() for name in found}

    def attribute(name: str) -> object:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{places[name]}"), name)

    return attribute


def resource(name: str) -> Path:
    """Return the path of a file that is shipped with the program, such as "configs/births.toml". Raises FileNotFoundError."""
    package = Path(__file__).parent
    for root in (package / "resources", package.parent):
        if (root / name).exists():
            return root / name
    raise FileNotFoundError(name)


def is_shipped(path: Path) -> bool:
    return resource("configs").resolve() in path.resolve().parents


def file_digest(path: str | Path) -> str:
    """Return the SHA-256 digest of a file as a hexadecimal string."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def templates(folder: Path, settings: str) -> Environment:
    """Return the jinja2 environment for the templates in a folder. It escapes values in .html templates, and makes invisible
    characters visible.

    Parameters
    ----------
    settings : the path of the module that uses the environment. If this file changes, the templates are compiled again.
    """
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        bytecode_cache=compiled_templates(folder, settings),
        autoescape=lambda name: name is not None and name.endswith(".html"),
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: visible(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def compiled_templates(folder: Path, settings: str) -> BytecodeCache | None:
    """Return a cache for compiled templates in the subfolder `__pycache__`, or None if Python writes no bytecode.

    A template is compiled again if its text, this module, the module `settings`, or the version of Python or jinja2 has
    changed.
    """
    import jinja2

    class Beside(jinja2.FileSystemBytecodeCache):
        def load_bytecode(self, bucket: Bucket) -> None:
            with suppress(OSError):
                super().load_bytecode(bucket)

        def dump_bytecode(self, bucket: Bucket) -> None:
            with suppress(OSError):
                Path(self.directory).mkdir(exist_ok=True)
                super().dump_bytecode(bucket)

    if sys.dont_write_bytecode:
        return None
    settled = f"{file_digest(settings)[:16]}.{file_digest(__file__)[:8]}"
    return Beside(str(folder / "__pycache__"), f"%s.{settled}.jinja2-{jinja2.__version__}.cache")


# The version of the running code. The metadata of the installed package may have another one, such as of an older checkout.

VERSION = "1.1.0.dev0"

# The commit, if `git archive` wrote it here (.gitattributes). Wheels and source archives are built from such a file.
_ARCHIVED = "$Format:%H$"


@cache
def commit() -> str:
    """Return the first 12 hexadecimal digits of the Git commit of this program, or "" if unknown. Uncommitted changes do not
    show."""
    git = Path(__file__).resolve().parents[1] / ".git"
    digits = _ARCHIVED
    with suppress(OSError, UnicodeDecodeError):
        if git.is_file():  # a further work tree of a repository
            git = git.parent / git.read_text(encoding="utf-8").removeprefix("gitdir: ").strip()
        common, digits = git, (git / "HEAD").read_text(encoding="utf-8").strip()
        if (git / "commondir").is_file():
            common = git / (git / "commondir").read_text(encoding="utf-8").strip()
        if (name := digits.removeprefix("ref: ")) != digits:
            digits = ""
            if (common / name).is_file():
                digits = (common / name).read_text(encoding="utf-8").strip()
            elif (common / "packed-refs").is_file():
                lines = (common / "packed-refs").read_text(encoding="utf-8").splitlines()
                digits = next((line.split()[0] for line in lines if line.endswith(f" {name}")), "")
    return digits[:12] if re.fullmatch("[0-9a-f]{40,64}", digits) else ""


FIRST = (1, 0, 0)
"""The first published version of the program. Later versions write additional facts into their releases, and `verify` requires
these facts in the releases of later versions."""


def release_number(version: str) -> tuple[int, int, int] | None:
    """Return the first three numbers of a version, (0, 14, 1) for "0.14.1.post1", or None for other texts."""
    found = re.match(r"([0-9]{1,6})\.([0-9]{1,6})\.([0-9]{1,6})(?![0-9])", version)
    return None if found is None else (int(found[1]), int(found[2]), int(found[3]))


def is_first_or_before(version: str) -> bool:
    """Return whether a text is the number of the first published version or of an earlier one. The number must have exactly
    three parts, as in "0.14.1"."""
    number = release_number(version)
    return number is not None and number <= FIRST and ".".join(map(str, number)) == version
