"""What a release and its card say of numbers of marks."""

from __future__ import annotations

from synthrelease.bundle.part import CardSection, Writing
from synthrelease.parts.marks.building import Marks
from synthrelease.published.columns import RulePart
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.options import MarksPart, NumberPart
from synthrelease.settings.wide import MARKS_WHY


class MarksWriting(Writing[Marks, MarksPart]):
    def part(self, value: Marks, document: ReleaseDocument) -> MarksPart:
        """The groups with their marks, as the rules have them."""
        groups = ((name, {one: list(labels) for one, labels in marks.items()}) for name, marks in value.groups.items())
        return MarksPart(groups=[NumberPart(column=name, marks=marks) for name, marks in groups])

    def section(self, part: MarksPart, document: ReleaseDocument) -> CardSection:
        """Which columns there are, and what each counts."""
        counted = (
            f"{group.column} counts: {'; '.join(_mark(*each) for each in group.marks.items())}." for group in part.groups
        )
        return CardSection(
            place="rows",
            anchor="marks",
            heading="Numbers of marks",
            sentences=(
                "These columns are in no private file: each is the number of marks in the other columns of the same row, in "
                "every released row exactly. A missing value is no mark. They keep how often marks come together.",
                *counted,
            ),
        )

    def tells(self, part: MarksPart, rule: RulePart) -> bool:
        """The rules that count these marks name all of them."""
        return rule.why == MARKS_WHY and any(rule.never.endswith(f"!= {group.column}") for group in part.groups)


def _mark(column: str, labels: list[str]) -> str:
    return f"{column} is {' or '.join(labels)}"


WRITING = MarksWriting()
