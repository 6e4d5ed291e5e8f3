"""Random pieces of the rows: each charge is in the part of the piece that it reads."""

from __future__ import annotations

from collections.abc import Iterator

from synthrelease.privacy.charges import IN_PARALLEL
from synthrelease.privacy.subsets import PIECES, Piece, piece_of
from synthrelease.published.costs import ChargePart
from synthrelease.published.document import ReleaseDocument


def pieces(document: ReleaseDocument) -> Iterator[str]:
    """A maximum over pieces stands in the tree just where rows were divided, once, at the root, with a part for each piece."""
    root = document.charges
    largest = [node for node in root.nodes() if node.rule == IN_PARALLEL]
    if document.divided_rows is None:
        if largest:
            yield f"charge {largest[0].name!r}: the largest of pieces, and release.json describes none"
        return
    if len(largest) != 1 or largest[0] not in root.parts or len(largest[0].parts) != len(PIECES):
        yield "charges: expected one node below the root that is the largest of the two pieces, found otherwise"
        return
    before = [node for node in root.parts if node != largest[0]]
    places: list[tuple[Piece | None, ChargePart]] = [(None, node) for node in before]
    places += zip(PIECES, largest[0].parts, strict=True)
    for piece, node in places:
        for one in node.planned():
            if (expected := piece_of(one.charge())) != piece:
                yield f"charge {one.name!r}: expected {_where(expected)}, found {_where(piece)}"


def _where(piece: str | None) -> str:
    return "before the pieces" if piece is None else f"in the part of the piece {piece!r}"
