"""What a folder of kinds offers is loaded when it is first used: a document or a configuration names one kind, not all of them.

The names of modules stand in the program. A name that comes from a file is only ever looked up among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import TypeVar

Kind = TypeVar("Kind")


class Kinds(Mapping[str, type[Kind]]):
    """Classes by the kind that a table names. A class is loaded when it is asked for; the names of all kinds load nothing.

    Parameters
    ----------
    package : the folder of the kinds.
    places : of each kind, "module:Class" inside the folder.
    """

    def __init__(self, package: str, places: Mapping[str, str]) -> None:
        self._package, self._places, self._found = package, dict(places), dict[str, type[Kind]]()

    def __getitem__(self, kind: str) -> type[Kind]:
        if kind not in self._found:
            module, _, name = self._places[kind].partition(":")
            self._found[kind] = getattr(import_module(f"{self._package}.{module}"), name)
        return self._found[kind]

    def __contains__(self, kind: object) -> bool:
        return kind in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def at_first_use(package: str, names: Mapping[str, tuple[str, ...]]) -> Callable[[str], object]:
    """The `__getattr__` of a package: names by the module of the package that has them."""
    places = {name: module for module, found in names.items() for name in found}

    def attribute(name: str) -> object:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{places[name]}"), name)

    return attribute
