"""One thread for linear algebra inside private code.

A matrix product that several threads share adds in an order that depends on how many there are and on what else the machine
does. No number that is rounded for noise comes out of one (each says so in its docstring); with one thread what comes before it
does not depend on such things either, and products as small as these are faster than threads can be told of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

Given = ParamSpec("Given")
Result = TypeVar("Result")


def one_thread(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """The same function, during which the libraries of linear algebra that are loaded by then use one thread.

    To find them takes some milliseconds, once and again after each import of a module that may have brought another.
    """

    @wraps(function)
    def limited(*arguments: Given.args, **named: Given.kwargs) -> Result:
        with _libraries(len(sys.modules)).limit(limits=1, user_api="blas"):
            return function(*arguments, **named)

    return limited


@lru_cache(maxsize=1)
def _libraries(modules: int) -> ThreadpoolController:
    """Those that are loaded when so many modules are."""
    from threadpoolctl import ThreadpoolController  # here, because `plan` needs none of it

    return ThreadpoolController()
