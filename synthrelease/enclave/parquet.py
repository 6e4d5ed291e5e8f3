"""Reading Parquet in pieces, their values as texts: one file, or a folder of files that hold the rows of one table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from synthrelease.enclave.ahead import Ahead
from synthrelease.enclave.arrow import as_texts, check_type, is_text
from synthrelease.enclave.texts import Piece, Texts, check_header
from synthrelease.errors import InputError

MARK = b"PAR1"
_DAMAGED = "expected a whole Parquet file, found one that is cut off, damaged or unreadable."


def parquet_names(path: Path) -> list[str]:
    """The columns of a file, or of the first file of a folder. Raises InputError as `parquet_pieces`."""
    import pyarrow.parquet as pq

    try:
        return list(pq.read_schema(parquet_files(path)[0]).names)
    except InputError:
        raise
    except Exception:
        problem = _DAMAGED
    raise InputError(problem)


def parquet_files(path: Path) -> list[Path]:
    """The file itself, or the Parquet files of a folder in the order of their names.

    Names that begin with a dot or an underscore are left out, as other programs do: they are notes of the program that wrote
    the folder. Anything else that is no Parquet file refuses the folder, because it could hold rows that were left out unseen.
    No name is shown: a folder such as `year=2019` is a value of a column.
    """
    if not path.is_dir():
        return [path]
    try:
        inside = sorted((each for each in path.iterdir() if each.name[0] not in "._"), key=lambda each: each.name)
        kinds = [("folders" if each.is_dir() else "" if _is_parquet(each) else "files that are not Parquet") for each in inside]
    except OSError:
        inside, kinds = [], ["something that cannot be opened"]
    if not inside and not kinds:
        kinds = ["none"]
    if wrong := next(filter(None, kinds), ""):
        advice = " Partitions in folders are not read: write the table without them." if wrong == "folders" else ""
        raise InputError(f"expected a folder with Parquet files alone, found {wrong} in it.{advice}")
    return inside


def _is_parquet(path: Path) -> bool:
    if not path.is_file():  # a pipe may have nobody at its other end
        return False
    with path.open("rb") as file:
        return file.read(len(MARK)) == MARK


def parquet_pieces(path: Path, needed: Sequence[str], most_rows: int, most_bytes: int) -> Iterator[Piece]:
    """The pieces of a file or folder, each of at most so many rows, and bytes as far as a file tells how many it holds.

    Raises
    ------
    InputError : when a file cannot be read, lacks a column or has one of a type that holds no single values. All files of a
        folder are looked at before the first row is read.
    """
    import pyarrow.parquet as pq

    def texts_of(batch: Any) -> dict[str, Texts]:
        return {name: as_texts(batch.column(name)) for name in needed}

    row, problem, place = 1, None, ""
    files = parquet_files(path)
    try:
        schemas = []
        for number, file in enumerate(files, 1):
            place = f" in file {number} of {len(files)}, in the order of their names" if path.is_dir() else ""
            schemas.append(pq.read_schema(file))
            _check_schema(schemas[-1], needed, place)
        for number, (file, schema) in enumerate(zip(files, schemas, strict=True), 1):
            place = f" in file {number} of {len(files)}, in the order of their names" if path.is_dir() else ""
            # as dictionaries, in which a long text that many rows share stands once
            texts = [name for name in needed if is_text(schema.field(name).type)]
            with pq.ParquetFile(file, read_dictionary=texts) as opened:
                size = _rows_per_batch(opened.metadata, most_rows, most_bytes)
                batches = opened.iter_batches(batch_size=size, columns=list(needed), use_threads=False)
                with Ahead(texts_of, lambda: next(batches, None)) as ahead:  # noqa: B023  (not asked after this)
                    for batch, columns in ahead:
                        yield row, columns
                        row += batch.num_rows
    except InputError:
        raise
    except MemoryError:
        problem = "expected rows that fit into the memory of this machine, found longer ones."
    except Exception:  # a damaged file makes the library fail in many ways
        problem = _DAMAGED.replace(", found", f"{place}, found")
    if problem:
        raise InputError(problem)


def _check_schema(schema: Any, needed: Sequence[str], place: str) -> None:
    try:
        check_header(schema.names, needed)
        for name in needed:
            check_type(name, schema.field(name).type, "Parquet")
    except InputError as error:
        problem = str(error)
    else:
        return
    raise InputError(f"{problem} This was found{place}." if place else problem)


def _rows_per_batch(metadata: Any, most_rows: int, most_bytes: int) -> int:
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    size = max((group.total_byte_size / max(1, group.num_rows) for group in groups), default=0.0)
    return int(max(1, min(most_rows, most_bytes / max(1.0, size))))
