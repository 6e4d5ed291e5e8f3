"""Hostile Parquet files of people: odd types, values at the ends of their ranges, small files of huge tables, and damage."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ZONES = ("UTC", "Europe/Berlin", "+05:30", "Mars/Olympus", "", "Z", "../../etc/passwd")


def _texts(draw: Random, token: str, n: int) -> Any:
    return pa.array([draw.choice((token, "F", "M", "", None, "34", "1990-04-01", "=1+1", "x" * 5000)) for _ in range(n)])


def _numbers(draw: Random, n: int) -> Any:
    kind = draw.choice((pa.int8(), pa.uint8(), pa.int64(), pa.uint64(), pa.float16(), pa.float32(), pa.float64()))
    if pa.types.is_floating(kind):
        pool = (
            [np.float16(x) for x in (1.5, np.nan, np.inf, -0.0, 6e4)] if kind == pa.float16() else [1.64, np.nan, np.inf, 1e308]
        )
        return pa.array([draw.choice(pool) for _ in range(n)], kind)
    width = kind.bit_width - (0 if str(kind).startswith("u") else 1)
    return pa.array([draw.choice((34, 0, 1, 2**width - 1, None)) for _ in range(n)], kind)


def _times(draw: Random, n: int) -> Any:
    unit = draw.choice(("s", "ms", "us", "ns"))
    most = 2**62
    extreme = [0, 641_000_000, most, -most, 10**15, None]
    kind = draw.choice(
        (
            pa.date32(),
            pa.date64(),
            pa.timestamp(unit),
            pa.timestamp(unit, tz=draw.choice(ZONES[1:4] + ZONES[:1])),
            pa.duration(unit),
        )
    )
    if kind == pa.date32():
        return pa.array([draw.choice((0, 7000, 2**31 - 1, -(2**31), None)) for _ in range(n)], pa.int32()).cast(kind)
    days = [draw.choice(extreme) for _ in range(n)]
    if kind == pa.date64():
        return pa.Array.from_buffers(kind, n, pa.array([day or 0 for day in days], pa.int64()).buffers())
    return pa.array(days, pa.int64()).cast(kind)


def _odd(draw: Random, token: str, n: int) -> Any:
    return draw.choice(
        (
            lambda: pa.array([[token]] * n),
            lambda: pa.array([{token: 1}] * n),
            lambda: pa.array([{"a": {"b": token}}] * n),
            lambda: pa.array([[(token, 1)]] * n, pa.map_(pa.string(), pa.int64())),
            lambda: pa.array([token.encode()] * n),
            lambda: pa.array([token.encode()[:4]] * n, pa.binary(4)),
            lambda: pa.nulls(n),
            lambda: pa.array([time(1, 2, 3)] * n),
            lambda: pa.array([timedelta(days=1)] * n),
            lambda: pa.array([Decimal("34.0"), *[Decimal("9" * 30)] * (n - 1)], pa.decimal128(38, 1)),
            lambda: pa.array([Decimal("9" * 60)] * n, pa.decimal256(70, 2)),
            lambda: pa.array([True, *[None] * (n - 1)]),
            lambda: pa.array([token] * n).dictionary_encode(),
            lambda: pa.array([token] * n, pa.large_string()),
            lambda: pa.array([token] * n, pa.string_view()),
            lambda: pa.array([date(1990, 4, 1)] * n),
            lambda: pa.array([datetime(1990, 4, 1)] * n),
            lambda: pa.array([34, 35] * n)[:n].dictionary_encode(),
            lambda: (
                pa.Array.from_buffers(pa.string(), 1, pa.array([token.encode() + b"\xff\xfe"]).buffers())
                if n == 1
                else pa.array([token] * n)
            ),
        )
    )()


def _table(draw: Random, token: str) -> Any:
    n = draw.choice((0, 1, 1, 3, 40))
    good = {
        "age": pa.array([34] * n, pa.int64()),
        "sex": pa.array(["F"] * n, pa.string()),
        "date_of_birth": pa.array(["1990-04-01"] * n, pa.string()),
        "height": pa.array([1.64] * n, pa.float64()),
    }
    makers: tuple[Callable[[], Any], ...] = (
        lambda: _texts(draw, token, n),
        lambda: _numbers(draw, n),
        lambda: _times(draw, n),
        lambda: _odd(draw, token, n) if n else pa.nulls(0),
    )
    for name in draw.sample(sorted(good), k=draw.randrange(1, 4)):
        good[name] = draw.choice(makers)()
    names = list(good)
    kind = draw.randrange(8)
    if kind == 0:
        names[draw.randrange(4)] = draw.choice((token, "", "Age", "age.x", "a\x00b", "sex"))
    arrays = list(good.values())
    if kind == 1:
        names, arrays = [*names, token], [*arrays, pa.array([token] * n)]
    return pa.Table.from_arrays(arrays, names=names).replace_schema_metadata({token: token})


def _written(table: Any, draw: Random, **options: Any) -> bytes:
    out = io.BytesIO()
    compression = draw.choice(("snappy", "gzip", "zstd", "brotli", "none"))
    pq.write_table(table, out, compression=compression, **options)
    return out.getvalue()


def _bomb(draw: Random, token: str) -> bytes:
    """A small file of a large table: the same row very often, or the same long text."""
    kind = draw.randrange(4)
    if kind == 0:
        n = 3_000_000
        same = {"age": pa.array(np.full(n, 34)), "sex": pa.array(["F"] * n), "height": pa.array(np.full(n, 1.5))}
        table = pa.table({**same, "date_of_birth": pa.array(["1990-04-01"] * n)})
    elif kind == 1:
        n = 60_000
        texts = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, dtype=np.int32)), pa.array([token + "z" * 2_000_000]))
        plain = {"age": pa.array([34] * n), "height": pa.array([1.5] * n), "date_of_birth": pa.array(["1990-04-01"] * n)}
        table = pa.table({**plain, "sex": texts})
    elif kind == 2:
        names = ["age", "sex", "date_of_birth", "height", *(f"c{number}" for number in range(5_000))]
        table = pa.Table.from_arrays([pa.array(["34"])] * len(names), names=names)
    else:
        table = pa.table({name: pa.array([token + "y" * 30_000_000]) for name in ("age", "sex", "date_of_birth", "height")})
    return _written(table, draw, use_dictionary=bool(kind < 2 or draw.randrange(2)))


def parquet_file(draw: Random, token: str) -> bytes:
    """One hostile file."""
    kind = draw.randrange(100)
    if kind == 0:
        return _bomb(draw, token)
    try:
        content = _written(_table(draw, token), draw, use_dictionary=bool(draw.randrange(2)))
    except (pa.ArrowException, OverflowError):  # a combination that cannot be written
        return b"PAR1" + token.encode() + b"PAR1"
    if kind < 20:
        damaged = bytearray(content)
        for _ in range(draw.choice((1, 1, 3, 30))):
            place = (
                draw.randrange(len(damaged)) if draw.randrange(2) else draw.randrange(max(0, len(damaged) - 400), len(damaged))
            )
            damaged[place] = draw.randrange(256)
        return bytes(damaged)
    if kind < 26:
        return content[: draw.randrange(len(content))]
    if kind < 28:
        return content[: len(content) // 2] + b"PAR1"
    if kind < 30:
        return content[:-8] + draw.randrange(2**32).to_bytes(4, "little") + b"PAR1"
    return content
