"""ddi.xml: a codebook in the format DDI-Codebook 2.5, with the frequencies of all categories in the released table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from synthrelease.bundle.card.numbers import description, identifier, keywords, labelled_title, provenance
from synthrelease.bundle.metadata import describe_file, media_type
from synthrelease.data.weights import WEIGHT
from synthrelease.published.columns import ColumnPart
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.table import NOTICE, ReleasedTable, TableFile
from synthrelease.settings.card import LICENCES, is_email
from synthrelease.settings.tables import SYNTHETIC

_NAMESPACE = "ddi:codebook:2_5"


def ddi_bytes(document: ReleaseDocument, table: ReleasedTable, sizes: Mapping[str, int]) -> bytes:
    """ddi.xml. `sizes` are the lengths of the data files in bytes."""
    root = Element("codeBook", {"version": "2.5", "xmlns": _NAMESPACE})
    _document(root, document)
    _study(root, document)
    parts = list(zip(document.table_files, filter(None, (table.of_roots(), table.of_members())), strict=True))
    rows = {file.stem: part.counts.total for file, part in parts}
    for number, (name, file) in enumerate(_tables(document), start=1):
        _file(root, document, f"F{number}", name, sizes[name], file, rows[file.stem])
    described = SubElement(root, "dataDscr")
    for file, part in parts:
        _variables(described, document, part, file)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<!-- {NOTICE} -->\n{text}\n'.encode()


def _tables(document: ReleaseDocument) -> list[tuple[str, TableFile]]:
    """The files that hold the released rows, each with its table."""
    return [
        (name, file) for file in document.table_files for name in sorted(document.files) if name.startswith(f"{file.stem}.")
    ]


def _text(parent: Element, tag: str, text: str, attributes: Mapping[str, str] | None = None) -> Element:
    found = SubElement(parent, tag, dict(attributes or {}))
    found.text = text
    return found


def _document(root: Element, document: ReleaseDocument) -> None:
    citation = SubElement(SubElement(root, "docDscr"), "citation")
    titles = SubElement(citation, "titlStmt")
    _text(titles, "titl", f"Codebook of {labelled_title(document)}")
    _text(SubElement(citation, "prodStmt"), "software", f"synthrelease {document.written_by}", {"version": document.written_by})


def _study(root: Element, document: ReleaseDocument) -> None:
    card, study = document.card, SubElement(root, "stdyDscr")
    citation = SubElement(study, "citation")
    titles = SubElement(citation, "titlStmt")
    _text(titles, "titl", labelled_title(document))
    _text(titles, "IDNo", identifier(document), {"agency": "RFC 6920"})
    if card.organisation:
        _text(SubElement(citation, "rspStmt"), "AuthEnty", card.organisation)
        _text(SubElement(citation, "prodStmt"), "producer", card.organisation)
    distributed = SubElement(citation, "distStmt")
    if card.organisation:
        _text(distributed, "distrbtr", card.organisation, {"URI": card.url} if card.url else {})
    if card.contact:
        _text(distributed, "contact", card.contact, {"email" if is_email(card.contact) else "URI": card.contact})
    _text(distributed, "distDate", card.published.isoformat(), {"date": card.published.isoformat()})
    _text(SubElement(citation, "verStmt"), "version", card.version, {"date": card.published.isoformat()})
    _information(SubElement(study, "stdyInfo"), document)
    _method(SubElement(study, "method"), document)
    _access(study, document)


def _information(parent: Element, document: ReleaseDocument) -> None:
    stated = document.card.catalogue
    subject = SubElement(parent, "subject")
    for word in keywords(document):
        _text(subject, "keyword", word)
    _text(parent, "abstract", description(document))
    summary = SubElement(parent, "sumDscr")
    for event, day in (("start", stated.start), ("end", stated.end)):
        if day is not None:
            _text(summary, "timePrd", day.isoformat(), {"event": event, "date": day.isoformat()})
    if document.card.region:
        _text(summary, "geogCover", document.card.region)
    _text(summary, "anlyUnit", document.guarantee.person.unit)
    _text(summary, "universe", stated.population or document.description or document.title)
    _text(summary, "dataKind", "Synthetic microdata")


def _method(parent: Element, document: ReleaseDocument) -> None:
    collected = SubElement(parent, "dataColl")
    if document.card.source:
        sources = SubElement(collected, "sources")
        _text(sources, "dataSrc", document.card.source)
    _text(collected, "collSitu", NOTICE)
    if document.calibration is not None and document.weighted:
        source = document.calibration.source
        _text(collected, "weight", f"The variable {WEIGHT} says for how many a row stands. Raked to: {source}")
    _text(parent, "notes", provenance(document))
    appraised = SubElement(parent, "anlyInfo")
    for one in document.criteria:
        interval = one.interval
        high = "open" if interval is None or interval.high is None else f"{interval.high:g}"
        between = "" if interval is None else f", interval for the exact figure from {interval.low:g} to {high}"
        _text(appraised, "dataAppr", f"{one.name}: released figure {one.value:g}, threshold {one.threshold:g}{between}")


def _access(study: Element, document: ReleaseDocument) -> None:
    card, stated = document.card, document.card.catalogue
    parent = SubElement(study, "dataAccs")
    if card.url:
        _text(SubElement(parent, "setAvail"), "accsPlac", card.url, {"URI": card.url})
    uses = SubElement(parent, "useStmt")
    _text(uses, "restrctn", "Public" if stated.access == "public" else "Restricted")
    if card.contact:
        _text(uses, "contact", card.contact)
    if card.licence:
        title, address = LICENCES.get(card.licence, (card.licence, card.licence_url))
        _text(uses, "conditions", f"{title} {address}".strip())
    if card.unsuitable:
        _text(uses, "disclaimer", f"Not fit for: {'; '.join(card.unsuitable)}")


def _file(root: Element, document: ReleaseDocument, number: str, name: str, size: int, file: TableFile, rows: int) -> None:
    text = SubElement(SubElement(root, "fileDscr", {"ID": number}), "fileTxt")
    _text(text, "fileName", name)
    _text(text, "fileCont", f"{describe_file(name)}. {NOTICE} {size} bytes, SHA-256 {document.files[name]}")
    dimensions = SubElement(text, "dimensns")
    _text(dimensions, "caseQnty", str(rows))
    further = len([name for name, _ in _further(document, file)])
    _text(dimensions, "varQnty", str(len(file.columns) + bool(file.key) + further))
    _text(text, "fileType", media_type(name))


def _variables(parent: Element, document: ReleaseDocument, table: ReleasedTable, file: TableFile) -> None:
    """Those of one table; a member has those of its root's number before them, under the same name."""
    weight = {"wgt-var": "weight"} if document.weighted and not file.of_members else {}
    files = " ".join(f"F{number}" for number, (_, one) in enumerate(_tables(document), start=1) if one == file)
    letter, rows = ("M" if file.of_members else "V"), table.counts.total
    if file.key:
        inner = SubElement(parent, "var", {"ID": f"{letter}0", "name": file.key, "files": files, "intrvl": "discrete"})
        _text(inner, "labl", "Number of the root, by which both tables are joined")
        SubElement(inner, "varFormat", {"type": "numeric"})
    for place, column in enumerate(file.columns):
        measure = "ordinal" if column.ordered else "nominal"
        known = {"ID": f"{letter}{place + 1}", "name": column.name, "files": files, "intrvl": "discrete", "nature": measure}
        inner = SubElement(parent, "var", known | weight)
        _text(inner, "labl", document.card.columns.get(column.name) or column.description or column.name)
        counts = table.one_way(place).tolist()
        missing = sum(count for one, count in zip(column.bins, counts, strict=True) if one.missing)
        _text(inner, "universe", "All members" if file.of_members else "All rows")
        _text(inner, "sumStat", str(rows - missing), {"type": "vald"})
        _text(inner, "sumStat", str(missing), {"type": "invd"})
        if column.description or column.unit:
            _text(
                inner, "txt", " ".join(part for part in (column.description, column.unit and f"Unit: {column.unit}.") if part)
            )
        for category in _categories(column, counts, rows):
            inner.append(category)
        SubElement(inner, "varFormat", {"type": "character", "formatname": "text"})
    for name, label in _further(document, file):
        ends = {"wgt": "wgt", "ID": "weight"} if name == WEIGHT else {"ID": "mark_of_members" if file.of_members else "mark"}
        inner = SubElement(parent, "var", {"name": name, "files": files, **ends})
        _text(inner, "labl", label)
        SubElement(inner, "varFormat", {"type": "numeric"})


def _further(document: ReleaseDocument, file: TableFile) -> Iterator[tuple[str, str]]:
    if document.weighted and not file.of_members:
        yield WEIGHT, "For how many a row stands"
    if document.bundle.synthetic_column:
        yield SYNTHETIC, "Synthetic data: 1 in every row"


def _categories(column: ColumnPart, counts: list[int], n_rows: int) -> Iterator[Element]:
    for one, count in zip(column.bins, counts, strict=True):
        found = Element("catgry", {"missing": "Y"} if one.missing else {})
        _text(found, "catValu", one.label)
        _text(found, "labl", one.label)
        _text(found, "catStat", str(count), {"type": "freq"})
        _text(found, "catStat", f"{100 * count / max(n_rows, 1):.2f}", {"type": "percent"})
        yield found
