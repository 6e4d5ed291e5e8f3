"""Ed25519 signatures: who made a bundle. The signature is of SHA256SUMS, and so of every file in it.

The files are those that other tools read: keys in PEM, the signature as its 64 bytes.
`openssl pkeyutl -verify -pubin -inkey public-key.pem -rawin -in SHA256SUMS -sigfile SHA256SUMS.sig` checks one too.
The library `cryptography` comes with `pip install synthrelease[sign]`.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synthrelease.errors import InputError, OutputError, SynthreleaseError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

SIGNATURE, PUBLIC_KEY = "SHA256SUMS.sig", "public-key.pem"
_MAX_KEY_BYTES = 10_000


class SigningError(SynthreleaseError):
    """A key file that cannot be used, or a library that is not there."""


def make_key(path: Path, password: bytes | None) -> str:
    """Write a new private key (mode 0600) and, beside it, its public key with the ending ".pub".

    Returns
    -------
    The fingerprint of the key, to be published where readers can find it.

    Raises
    ------
    OutputError : when one of the files exists already, or cannot be written.
    """
    serialization = _library("hazmat.primitives.serialization")
    key = _library("hazmat.primitives.asymmetric.ed25519").Ed25519PrivateKey.generate()
    secrecy = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, secrecy)
    public_path = path.with_name(path.name + ".pub")
    for file in (path, public_path):
        if file.exists() or file.is_symlink():
            raise OutputError(f"{file}: expected a file that does not exist yet, found one. Nothing was overwritten.")
    _write(path, private)
    _write(public_path, public_pem(key.public_key()))
    return fingerprint(key.public_key())


def load_private_key(path: Path, password: bytes | None) -> Ed25519PrivateKey:
    """The private key of a file that `make_key` or OpenSSL wrote.

    Raises
    ------
    SigningError : when there is none, or the password is not right.
    """
    serialization = _library("hazmat.primitives.serialization")
    content = _read(path)
    if b"ENCRYPTED" in content and password is None:
        raise SigningError(f"{path}: expected the password of this key (--password-file FILE), found none.")
    try:
        key = serialization.load_pem_private_key(content, password if b"ENCRYPTED" in content else None)
    except Exception:  # of many kinds, none of which may quote the key
        key = None
    if not isinstance(key, _library("hazmat.primitives.asymmetric.ed25519").Ed25519PrivateKey):
        raise SigningError(f"{path}: expected an Ed25519 private key in PEM and its password, found something else.")
    return key


def signing_key(path: Path | None, password_file: Path | None) -> Ed25519PrivateKey | None:
    """The key that signs, None when none is given. Read before anything is spent."""
    return None if path is None else load_private_key(path, read_password(password_file))


def read_password(path: Path | None) -> bytes | None:
    """The first line of a file. Raises InputError when it holds none."""
    if path is None:
        return None
    problem, content = "", b""
    try:
        content = path.read_bytes().split(b"\n")[0].rstrip(b"\r")
    except OSError as error:
        problem = str(error.strerror)
    if not content:
        raise InputError(f"{path}: expected a file whose first line is a password, found none. {problem}")
    return content


def load_public_key(path: Path) -> Ed25519PublicKey:
    """Raises SigningError when the file holds no Ed25519 public key."""
    key = parse_public_key(_read(path))
    if key is None:
        raise SigningError(f"{path}: expected an Ed25519 public key in PEM, found something else.")
    return key


def parse_public_key(content: bytes) -> Ed25519PublicKey | None:
    try:
        key = _library("hazmat.primitives.serialization").load_pem_public_key(content)
    except SigningError:
        raise
    except Exception:
        return None
    return key if isinstance(key, _library("hazmat.primitives.asymmetric.ed25519").Ed25519PublicKey) else None


def is_signed(content: bytes, signature: bytes, key: Ed25519PublicKey) -> bool:
    """Whether the signature was made of this content with the private half of the key."""
    try:
        key.verify(signature, content)
    except _library("exceptions").InvalidSignature:
        return False
    return True


def public_pem(key: Ed25519PublicKey) -> bytes:
    serialization = _library("hazmat.primitives.serialization")
    pem: bytes = key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return pem


def fingerprint(key: Ed25519PublicKey) -> str:
    """SHA-256 of the 32 bytes of the public key, in groups of four hexadecimal digits."""
    serialization = _library("hazmat.primitives.serialization")
    raw = key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    digits = hashlib.sha256(raw).hexdigest()
    return " ".join(digits[i : i + 4] for i in range(0, len(digits), 4))


def _library(module: str) -> Any:
    from importlib import import_module

    try:
        return import_module(f"cryptography.{module}")
    except ImportError:
        pass
    raise SigningError("Signatures need the library cryptography: pip install synthrelease[sign].")


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_MAX_KEY_BYTES)
    except OSError as error:
        problem = error.strerror
    raise SigningError(f"{path}: expected a key file, found none that can be read ({problem}).")


def _write(path: Path, content: bytes) -> None:
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600), "wb") as file:
            file.write(content)
        return
    except OSError as error:
        problem = error.strerror
    raise OutputError(f"{path}: the key could not be written ({problem}).")
