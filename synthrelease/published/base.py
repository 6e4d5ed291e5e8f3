"""Define the base class of all sections of release.json, the files of a release folder, their checksums, and signatures."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, ClassVar, Literal, Self, TypeVar

from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

from synthrelease.errors import SynthreleaseError, UnexpectedValue, of_another_format
from synthrelease.privacy.charges import Way, decimal_text

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


# The files of a bundle by name. Small files are kept in memory. Large files stay on the disk and are read block by block.

HELD = 2**22
"""Files up to this number of bytes are kept in memory. Larger files stay on the disk."""


@dataclass(frozen=True, kw_only=True)
class OnDisk:
    """A file whose content is read from the disk when it is needed.

    Attributes
    ----------
    sha256 : SHA-256 checksum of the file, from the time when it was first read.
    state : the size of the file, and attributes that reveal a later change.
    """

    path: Path
    sha256: str
    state: tuple[int, ...]

    @classmethod
    def of(cls, path: Path) -> OnDisk:
        """Return the `OnDisk` object of a file, whose checksum is computed here.

        Raises
        ------
        OSError : if the file cannot be read.
        """
        with path.open("rb") as file:
            state = _state(os.fstat(file.fileno()))
            return cls(path=path, sha256=hashlib.file_digest(file, "sha256").hexdigest(), state=state)

    @classmethod
    def written(cls, path: Path, file: BinaryIO, sha256: str) -> OnDisk:
        """Return the `OnDisk` object of a file that this program has just written and not yet closed."""
        return cls(path=path, sha256=sha256, state=_state(os.fstat(file.fileno())))

    @property
    def size(self) -> int:
        return self.state[0]

    @property
    def changed(self) -> bool:
        try:
            return _state(self.path.stat()) != self.state
        except OSError:
            return True


def _state(status: os.stat_result) -> tuple[int, ...]:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


Content = bytes | OnDisk
"""The content of a file: its bytes, or the file on the disk."""
Keep = Callable[[str, Iterable[bytes]], Content]
"""A function that takes the name and the blocks of a file, stores the file, and returns its content."""


def in_memory(name: str, pieces: Iterable[bytes]) -> Content:
    """Join the blocks of a file that is known to be small into one bytes object."""
    return b"".join(pieces)


def opened(content: Content) -> BinaryIO:
    """Open the content of a file for reading.

    Raises
    ------
    OSError : if the file cannot be read.
    """
    return io.BytesIO(content) if isinstance(content, bytes) else content.path.open("rb")


class Files(Mapping[str, bytes]):
    """A read-only mapping from file names to contents. Each access to a large file reads it from the disk again."""

    def __init__(self, contents: Mapping[str, Content]):
        self.contents: dict[str, Content] = dict(contents.contents if isinstance(contents, Files) else contents)
        self._digests: dict[str, str] = {}

    def __getitem__(self, name: str) -> bytes:
        with opened(self.contents[name]) as file:
            return file.read()

    def __contains__(self, name: object) -> bool:
        return name in self.contents

    def __iter__(self) -> Iterator[str]:
        return iter(self.contents)

    def __len__(self) -> int:
        return len(self.contents)

    def of(self, names: Iterable[str]) -> Files:
        chosen = Files({name: self.contents[name] for name in names})
        chosen._digests = self._digests
        return chosen

    def __or__(self, contents: Mapping[str, Content]) -> Files:
        """Add files, which replace files with the same name."""
        joined = Files({**self.contents, **contents})
        joined._digests = {name: digest for name, digest in self._digests.items() if name not in contents}
        return joined

    def content(self, name: str) -> Content:
        """Return the bytes of a file, or its `OnDisk` object if it is large, or empty bytes if there is no such file."""
        return self.contents.get(name, b"")

    def size(self, name: str) -> int:
        content = self.content(name)
        return len(content) if isinstance(content, bytes) else content.size

    def sha256(self, name: str) -> str:
        content = self.contents[name]
        if not isinstance(content, bytes):
            return content.sha256
        if name not in self._digests:
            self._digests[name] = hashlib.sha256(content).hexdigest()
        return self._digests[name]

    def holds(self, name: str, pieces: Iterable[bytes]) -> bool:
        """Return whether a file contains exactly these bytes."""
        with opened(self.content(name)) as file:
            return all(file.read(len(piece)) == piece for piece in pieces) and not file.read(1)

    def changed(self) -> list[str]:
        return [name for name, content in self.contents.items() if isinstance(content, OnDisk) and content.changed]


# The format number of a published document, which is read before anything else in the document.


class _Head(BaseModel):
    """The format number of a published file, and the version that wrote it. A commitment names these fields differently."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    format: int = Field(validation_alias=AliasChoices("format", "commitment"))
    written_by: str = Field(default="", validation_alias=AliasChoices("written_by", "program"))


def check_format(content: bytes | str, reads: Sequence[int]) -> None:
    """Check that this version can read a document, by its format number.

    Parameters
    ----------
    reads : the format numbers that this version can read, beginning with the number that it writes.

    Raises
    ------
    Unexpected : if this version does not read documents with this number.
    ValidationError : if the document has no format number.
    """
    head = _Head.model_validate_json(content)
    if head.format not in reads:
        raise of_another_format(head.format, reads, head.written_by)


def _exact(text: str) -> str:
    """Check that a string is a fraction of at least 0 in lowest terms, such as "191/20", and return it."""
    if not re.fullmatch(r"[0-9]+(/[1-9][0-9]*)?", text) or str(Fraction(text)) != text:
        raise UnexpectedValue("a fraction of at least 0 in lowest terms, such as '191/20'")
    return text


ExactText = Annotated[str, Field(max_length=200), AfterValidator(_exact)]
Number = Annotated[float | int, Field(allow_inf_nan=False)]
Value = TypeVar("Value")
Fact = tuple[Literal["private_file", "specification", "published_figures"], str]
"""For a fact that is published exactly: where it comes from, and where release.json states it."""


class Part(BaseModel):
    """The base class of all sections of release.json.

    In a file, only fields with a default value may be missing. Only `published.document.read_leniently` allows unknown
    fields.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False, defer_build=True)

    facts: ClassVar[tuple[Fact, ...]] = ()
    """The facts that the section always publishes exactly, however the number of rows was determined."""

    @property
    def unsaid(self) -> set[str]:
        optional = {name: field.default for name, field in type(self).model_fields.items() if not field.is_required()}
        return {name for name, default in optional.items() if getattr(self, name) == default}

    @model_serializer(mode="wrap")
    def _what_there_is(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        unsaid = self.unsaid
        return {name: value for name, value in dump(self).items() if name not in unsaid}

    @classmethod
    def like(cls, value: object, /, **others: Any) -> Self:
        """Create a section from the attributes of an object with the same names as its fields, and from keyword arguments.

        Fractions become exact strings (an attribute `epsilon` also fills `epsilon_exact`), and tuples become lists.

        Raises
        ------
        AttributeError : if the object has no attribute for a field, so that no field keeps its default value by mistake.
        """
        fields: dict[str, Any] = {}
        for name in cls.model_fields.keys() - others.keys():
            given = getattr(value, name if hasattr(value, name) else name.removesuffix("_exact"))
            fields[name] = str(given) if isinstance(given, Fraction) else list(given) if isinstance(given, tuple) else given
        return cls(**fields, **others)

    def value_of(self, kind: type[Value], **others: Any) -> Value:
        """Convert this section back to an object of the data class `kind`, with further fields as keyword arguments.

        Exact strings become fractions, lists become tuples, and numbers become floats where the data class has floats.
        """
        makes: dict[str, Callable[[Any], Any]] = {"Fraction": Fraction, "float": float, "tuple": tuple}
        fields: dict[str, Any] = {}
        for attribute in dataclasses.fields(kind):  # type: ignore[arg-type]
            names = [name for name in (f"{attribute.name}_exact", attribute.name) if name in type(self).model_fields]
            if names and attribute.name not in others:
                given, make = getattr(self, names[0]), makes.get(re.split(r"\W", str(attribute.type))[0])
                fields[attribute.name] = given if given is None or make is None else make(given)
        return kind(**fields, **others)

    def __copy__(self) -> Self:
        """Return a copy without cached properties, because `model_copy` may change fields of the copy."""
        copied = super().__copy__()
        object.__setattr__(copied, "__dict__", {name: copied.__dict__[name] for name in type(self).model_fields})
        return copied

    def exact_facts(self, way: Way) -> tuple[Fact, ...]:
        """Return the facts in this section that are published exactly, such as the number of rows in the file.

        The privacy guarantee does not hide these facts: it compares only private files in which they are equal.

        Parameters
        ----------
        way : how the number of rows was determined: "whole", "exact", "counted" or "stated".
        """
        return self.facts


def number(value: float) -> float | int:
    """Convert a number for JSON: a whole number becomes an int."""
    return int(value) if math.isfinite(value) and float(value).is_integer() else float(value)


def six_digits(value: float | None) -> float | int | None:
    """Round a computed number to six significant digits, so that release.json is the same on every machine."""
    return None if value is None else number(float(f"{value:.6g}"))


def upwards(value: Fraction) -> float:
    """Convert an exact epsilon to a float, rounded up so that epsilon is never understated."""
    return float(decimal_text(value))


# Ed25519 signatures, which show who made a bundle. The signature is over SHA256SUMS, and so over every file in the bundle.
#
# Other tools can read the files: keys are in PEM, and the signature has 64 bytes. Without synthrelease, check the signature
# with `openssl pkeyutl -verify -pubin -inkey public-key.pem -rawin -in SHA256SUMS -sigfile SHA256SUMS.sig`.

SIGNATURE, PUBLIC_KEY = "SHA256SUMS.sig", "public-key.pem"
_MAX_KEY_BYTES = 10_000


class SigningError(SynthreleaseError):
    """Raised if a key file cannot be used."""


def load_public_key(path: Path) -> Ed25519PublicKey:
    key = parse_public_key(key_file(path))
    if key is None:
        raise SigningError(f"{path}: this file is not an Ed25519 public key in PEM.")
    return key


def parse_public_key(content: bytes) -> Ed25519PublicKey | None:
    """Parse an Ed25519 public key in PEM. Return None for other content."""
    serialization = cryptography("hazmat.primitives.serialization")
    try:
        key = serialization.load_pem_public_key(content)
    except Exception:
        return None
    return key if isinstance(key, cryptography("hazmat.primitives.asymmetric.ed25519").Ed25519PublicKey) else None


def is_signed(content: bytes, signature: bytes, key: Ed25519PublicKey) -> bool:
    """Return whether the private key of this public key signed the content."""
    try:
        key.verify(signature, content)
    except cryptography("exceptions").InvalidSignature:
        return False
    return True


def public_pem(key: Ed25519PublicKey) -> bytes:
    serialization = cryptography("hazmat.primitives.serialization")
    pem: bytes = key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return pem


def fingerprint(key: Ed25519PublicKey) -> str:
    """Return the fingerprint of a public key: the SHA-256 of its 32 bytes, in groups of four hexadecimal digits."""
    serialization = cryptography("hazmat.primitives.serialization")
    raw = key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    digits = hashlib.sha256(raw).hexdigest()
    return " ".join(digits[i : i + 4] for i in range(0, len(digits), 4))


def cryptography(module: str) -> Any:
    from synthrelease.resources import library

    return library(f"cryptography.{module}", "cryptography", "signatures", "sign")


def key_file(path: Path) -> bytes:
    """Read a key file, at most its first 10,000 bytes.

    Raises
    ------
    SigningError : if the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            return file.read(_MAX_KEY_BYTES)
    except OSError as error:
        problem = error.strerror
    raise SigningError(f"Cannot read the key file {path} ({problem}).")


# SHA256SUMS: the checksum of every other file, in the layout that `sha256sum --check` reads.

CHECKSUMS = "SHA256SUMS"
_LINE = re.compile(r"([0-9a-f]{64}) [ *]([A-Za-z0-9][A-Za-z0-9._-]*)")


def json_bytes(tables: Any, indent: int | None = 2) -> bytes:
    """Encode values as JSON in the form of all files of a bundle: UTF-8, without NaN or infinity, with a final line end."""
    return (json.dumps(tables, indent=indent, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8")


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def checksum_file(contents: Mapping[str, bytes]) -> bytes:
    files = contents if isinstance(contents, Files) else Files(contents)
    return "".join(f"{files.sha256(name)}  {name}\n" for name in sorted(files)).encode("ascii")


def read_checksums(content: bytes) -> dict[str, str] | None:
    """Parse SHA256SUMS. Return the checksums by file name, or None if the content has another form."""
    lines = content.decode("ascii", errors="replace").splitlines()
    matches = [_LINE.fullmatch(line) for line in lines]
    checksums = {match[2]: match[1] for match in matches if match}
    return checksums if len(checksums) == len(lines) else None
