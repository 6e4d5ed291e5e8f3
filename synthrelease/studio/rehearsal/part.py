"""What a rehearsal asks of an option that is a folder (`synthrelease.parts`): the hook of `rehearsing.py`."""

from __future__ import annotations

from synthrelease.spec.release_spec import ReleaseSpec


class Rehearsing:
    """The hook."""

    def offered(self, spec: ReleaseSpec) -> list[str]:
        """What is said of the option to a specification that does without it, where it would pay; otherwise nothing."""
        return []
