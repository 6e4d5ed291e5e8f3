"""One thread for linear algebra inside private code.

A matrix product that several threads share adds in an order that depends on how many there are and on what else the machine
does. No number that is rounded for noise comes out of one (each says so in its docstring); with one thread what comes before it
does not depend on such things either, and products as small as these are faster than threads can be told of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")


def one_thread(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """The same function, during which the libraries of linear algebra that are loaded by then use one thread.

    It takes some milliseconds: for whole attempts, not for each private figure.
    """

    @wraps(function)
    def limited(*arguments: Given.args, **named: Given.kwargs) -> Result:
        from threadpoolctl import threadpool_limits  # here, because `plan` needs none of it

        with threadpool_limits(limits=1, user_api="blas"):
            return function(*arguments, **named)

    return limited
