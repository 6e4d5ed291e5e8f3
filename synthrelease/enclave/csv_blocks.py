"""The bytes of a CSV file in blocks of whole lines, and their text.

A line end is never part of a letter in the encodings that are read as bytes, so that each block can be decoded alone, in any
thread. UTF-16, where it may be, is decoded as one text and handed on as UTF-8.
"""

from __future__ import annotations

import codecs
import gzip
import io
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from synthrelease.sources.source import File

_MOST_BYTES = 4
"""Of a letter in UTF-8."""
_BUFFER = 2**18
STRAY_LETTERS = "synthrelease.stray_letters"
"""How Python's decoders are told to read bytes that are no UTF-8 as Windows-1252."""


def _stray_letters(error: UnicodeError) -> tuple[str, int]:
    """The letters of bytes that are no UTF-8, and where to go on. A line end is never among them: each row is read alone."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    stray = error.object[error.start : error.end]
    return "".join(_WINDOWS.get(byte, chr(byte)) for byte in stray), error.end


_WINDOWS = {byte: bytes([byte]).decode("windows-1252") for byte in range(256) if byte not in (0x81, 0x8D, 0x8F, 0x90, 0x9D)}
codecs.register_error(STRAY_LETTERS, _stray_letters)


def open_text(file: File, encoding: str, compressed: bool) -> io.TextIOWrapper:
    """The text of a file, with its line ends as they are. A mark of UTF-8 at its beginning is no part of it."""
    codec = "utf-8-sig" if encoding in ("utf-8", "mixed") else encoding
    return io.TextIOWrapper(open_bytes(file, compressed), encoding=codec, errors=_errors(encoding), newline="")


def open_bytes(file: File, compressed: bool) -> IO[bytes]:
    """The bytes of a file, unpacked where it is compressed."""
    if not compressed:
        return file.open("rb")
    return gzip.open(file if isinstance(file, Path) else file.open("rb"), "rb")  # type: ignore[return-value]


def _errors(encoding: str) -> str:
    return STRAY_LETTERS if encoding == "mixed" else "strict"


def text_of(block: bytes, encoding: str) -> str:
    """The letters of whole lines. Raises UnicodeError."""
    return block.decode("utf-8" if encoding in ("mixed", "utf-16") else encoding, _errors(encoding))


def utf_8_of(block: bytes, encoding: str) -> bytes:
    """The letters of whole lines in UTF-8. Raises UnicodeError."""
    if block.isascii():
        return block
    text = text_of(block, encoding)
    return block if encoding == "utf-8" else text.encode()


class Blocks:
    """The bytes of a file, some whole lines at a time. What could not be read once is not tried again.

    Parameters
    ----------
    file, compressed, encoding : of the file. UTF-16 is handed on as UTF-8.
    longest : characters of a line that nobody reads any more: a longer one is cut off somewhere behind them.
    """

    def __init__(self, file: File, compressed: bool, encoding: str, longest: int):
        self._file: IO[bytes] = (
            io.BufferedReader(_AsUtf8(open_text(file, encoding, compressed)), _BUFFER)
            if encoding == "utf-16"
            else open_bytes(file, compressed)
        )
        self._most = _MOST_BYTES * longest + _MOST_BYTES
        self._first = io.BytesIO()
        self._failure: Exception | None = None
        if encoding in ("utf-8", "mixed") and (start := self._read(len(codecs.BOM_UTF8))) != codecs.BOM_UTF8:
            self.put_back(start)

    def close(self) -> None:
        self._file.close()

    def next(self, size: int) -> bytes:
        """Lines of about so many bytes together; empty at the end of the file. Raises whatever the file does."""
        block = self._read(size)
        if block.endswith(b"\n") or not block:
            return block
        if b"\n" in block or b"\r" not in block[:-1]:
            block += self._readline()
            if block.endswith(b"\n") or not (after := self._read(1)):
                return block
            self.put_back(after)
        if cut := block.rfind(b"\r", 0, len(block) - 1) + 1:  # lines of old Macs
            self.put_back(block[cut:])
            return block[:cut]
        return _without_half_a_letter(block)

    def put_back(self, data: bytes) -> None:
        """Have these bytes come next."""
        self._first = io.BytesIO(data + self._first.read())

    def _read(self, size: int) -> bytes:
        data = self._first.read(size)
        return data + self._attempt(self._file.read, size - len(data)) if len(data) < size else data

    def _readline(self) -> bytes:
        line = self._first.readline()
        return line if line.endswith(b"\n") else line + self._attempt(self._file.readline, self._most)

    def _attempt(self, read: Callable[[int], bytes], size: int) -> bytes:
        if self._failure is None:
            try:
                return read(size)
            except Exception as error:
                self._failure = error
        raise self._failure


def _without_half_a_letter(block: bytes) -> bytes:
    """The bytes up to the last letter of UTF-8 that may have been cut."""
    end = len(block)
    while end and block[end - 1] & 0xC0 == 0x80:
        end -= 1
    return block[: max(end - 1, 0)]


class _AsUtf8(io.RawIOBase):
    """A text that is read as bytes of UTF-8, so that its lines are found like those of any other file."""

    def __init__(self, text: io.TextIOWrapper):
        self._text = text

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._text.read(max(len(buffer) // _MOST_BYTES, 1)).encode()
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._text.close()
        super().close()
