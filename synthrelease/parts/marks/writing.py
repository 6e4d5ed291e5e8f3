"""What a release and its card say of numbers of marks."""

from __future__ import annotations

from synthrelease.bundle.part import CardColumn, CardSection, Writing
from synthrelease.parts.marks.published import MarksPart, NumberPart
from synthrelease.parts.marks.table import WHY, Marks
from synthrelease.published.columns import RulePart
from synthrelease.published.document import ReleaseDocument


class MarksWriting(Writing[Marks, MarksPart]):
    def part(self, value: Marks, document: ReleaseDocument) -> MarksPart:
        """The groups with their marks, as the rules have them."""
        groups = ((name, {one: list(labels) for one, labels in marks.items()}) for name, marks in value.groups.items())
        return MarksPart(groups=[NumberPart(column=name, marks=marks) for name, marks in groups])

    def section(self, part: MarksPart, document: ReleaseDocument) -> CardSection:
        """Which columns there are, and what each counts."""
        rows = (
            (group.column, "; ".join(f"{name}: {' or '.join(labels)}" for name, labels in group.marks.items()))
            for group in part.groups
        )
        return CardSection(
            place="rows",
            anchor="marks",
            heading="Numbers of marks",
            sentences=(
                "These columns are in no private file: each is the number of marks in the other columns of the same row, in "
                "every released row exactly. A missing value is no mark. They keep how often marks come together.",
            ),
            label="Numbers of marks",
            columns=(CardColumn("Column"), CardColumn("Marks that it counts", "wide")),
            rows=tuple(rows),
        )

    def tells(self, part: MarksPart, rule: RulePart) -> bool:
        """The rules that count these marks name all of them."""
        return rule.why == WHY and any(rule.never.endswith(f"!= {group.column}") for group in part.groups)


WRITING = MarksWriting()
