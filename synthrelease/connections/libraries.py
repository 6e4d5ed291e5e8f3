"""A library that is loaded when a table asks for it, and the one way to say that it is not installed."""

from __future__ import annotations

import importlib
from types import ModuleType

from synthrelease.errors import InputError

DATABASE, FORMATS = 'pip install "synthrelease[database]"', 'pip install "synthrelease[formats]"'
"""Advice for what databases need, and files of statistical packages."""


def library(module: str, name: str, what: str, advice: str) -> ModuleType:
    """A module of a library. Raises InputError, to which no cause is attached, where it is not installed.

    Parameters
    ----------
    name : of the library.
    what : it is for.
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        pass
    raise InputError(f"expected the library {name} for {what}, found none. {advice}")
