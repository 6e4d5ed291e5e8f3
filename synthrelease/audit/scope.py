"""Which parts of the audit are asked for: those with a text in their name, or those that a published release rests on."""

from __future__ import annotations

from dataclasses import dataclass

from synthrelease.audit.examples import enumerated_as
from synthrelease.audit.number_sensitivity import NUMBER_OF_ROWS
from synthrelease.published.document import ReleaseDocument


@dataclass(frozen=True, kw_only=True)
class Scope:
    """What is asked for; everything, unless something is said.

    Attributes
    ----------
    text : what the family or the name of a case, or the name of an enumeration, must contain, whatever the case.
    generators, enumerated : names of generators, and kinds of enumerations; None for all.
    """

    text: str = ""
    generators: frozenset[str] | None = None
    enumerated: frozenset[str] | None = None

    @classmethod
    def of(cls, document: ReleaseDocument) -> Scope:
        """What a release rests on: its generator, its criteria, the joint test of these, and the number of its rows."""
        generator = str(document.configuration["generator"]["family"])
        criteria = {one.kind for one in document.criteria}
        kinds = {NUMBER_OF_ROWS, *criteria, *enumerated_as("generators", generator)}
        for kind in criteria:
            kinds.update(enumerated_as("criteria", kind))
        if document.selection.joint_test is not None:
            kinds.add("joint test")
        return cls(generators=frozenset({generator}), enumerated=frozenset(kinds))

    def named(self, *texts: str) -> bool:
        """Whether something of these names has the text in it."""
        return self.text.lower() in " ".join(texts).lower()

    def has_generator(self, name: str) -> bool:
        """Whether losses of this generator are asked for."""
        return self.generators is None or name in self.generators

    def has_kind(self, kind: str) -> bool:
        """Whether enumerations of this kind are."""
        return self.enumerated is None or kind in self.enumerated
