"""What a release and its card say of members."""

from __future__ import annotations

from synthrelease.bundle.part import CardSection, CardStatement, Writing
from synthrelease.data.linked import Linked
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.options import MembersPart
from synthrelease.settings.tables import BundleTable


class MembersWriting(Writing[Linked, MembersPart]):
    def part(self, value: Linked, document: ReleaseDocument) -> MembersPart:
        """What the configuration says."""
        return MembersPart.of(value)

    def statement(self, part: MembersPart) -> CardStatement:
        """Who is protected."""
        return CardStatement(heading="With all its members", text=" ".join(protected(part)))

    def section(self, part: MembersPart, document: ReleaseDocument) -> CardSection:
        """How the two files belong together."""
        return CardSection(
            place="rows", anchor="members", heading="Members", sentences=tuple(_sentences(part, document.bundle))
        )


def protected(part: MembersPart) -> list[str]:
    """What the guarantee means for a root, for a member, and for one who moves."""
    return [
        "A record is a root with all its members, in any number: whoever replaces all of them changes one record.",
        "So a change of one member, or of how many there are, is covered at the stated epsilon.",
        "Somebody who stands in several roots is covered by so many times this epsilon, and a move from one root to another by "
        "twice.",
        "Who leaves for a root that was not in the file, or takes the last row of one along, changes the number of roots, "
        "which is public: that is covered by nothing.",
    ]


def _sentences(part: MembersPart, bundle: BundleTable) -> list[str]:
    roots, members = f"{bundle.stem}.csv", bundle.named("members.csv")
    cap = {
        "first": f"Of a root with more than {part.most} members the first {part.most} are in the file, and {part.size} is "
        f"{part.most}.",
        "drop": f"Roots with more than {part.most} members are left out.",
    }[part.more]
    columns = ", ".join(part.columns)
    return [
        f"{roots} has a row for each root, with the number of its members as {part.size}; {members} has a row for each member "
        f"({columns}). Both begin with {part.key}, by which they are joined: new numbers, which are in no other file.",
        cap,
        f"Below and in the criteria {part.columns[0]}_1 is {part.columns[0]} of the first member of a root, "
        f"{part.columns[0]}_2 that of the second, and so on.",
        "Members of one root are alike: a standard error that takes members for independent is too small. Count roots, or use "
        "an estimator for clusters.",
    ]


WRITING = MembersWriting()
