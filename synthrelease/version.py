"""The version of the code that runs; what is installed may name another one, such as that of an older checkout."""

import re

VERSION = "1.1.0.dev0"
FIRST = (1, 0, 0)
"""The first version that was published. Later ones publish more, and `verify` demands it of them."""


def release_number(version: str) -> tuple[int, int, int] | None:
    """Return the three numbers that a version begins with, such as (0, 14, 1) of "0.14.1.post1"; None without them."""
    found = re.match(r"([0-9]{1,6})\.([0-9]{1,6})\.([0-9]{1,6})(?![0-9])", version)
    return None if found is None else (int(found[1]), int(found[2]), int(found[3]))


def is_first_or_before(version: str) -> bool:
    """Return whether this is the version that was published first, or one before it. A text that is no version is neither."""
    number = release_number(version)
    return number is not None and number <= FIRST and ".".join(map(str, number)) == version
