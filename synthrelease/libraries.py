"""A library that comes with an extra is loaded when something asks for it, and there is one way to say that it is missing."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from synthrelease.errors import InputError


def library(module: str, name: str, what: str, extra: str) -> ModuleType:
    """A module of a library that comes with an extra of this package. Raises InputError, with no cause, where it is missing."""
    try:
        return import_module(module)
    except ImportError:
        pass
    raise InputError(f"expected the library {name} for {what}, found none. {install(extra)}")


def install(extra: str) -> str:
    """What to do where an extra is missing. No package index is named: nobody owns the name of this program there."""
    return f'Install the extra "{extra}" from where you have synthrelease (docs/tutorial.md, Installing).'
