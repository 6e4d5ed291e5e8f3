"""Keys, and what signs a bundle with them (`published.signatures` checks it)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from synthrelease.errors import InputError, OutputError
from synthrelease.published.base import SigningError, cryptography, fingerprint, key_file, public_pem

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


def make_key(path: Path, password: bytes | None) -> str:
    """Write a new private key (mode 0600) and, beside it, its public key with the ending ".pub".

    Returns
    -------
    The fingerprint of the key, to be published where readers can find it.

    Raises
    ------
    OutputError : when one of the files exists already, or cannot be written.
    """
    serialization = cryptography("hazmat.primitives.serialization")
    key = cryptography("hazmat.primitives.asymmetric.ed25519").Ed25519PrivateKey.generate()
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
    serialization = cryptography("hazmat.primitives.serialization")
    content = key_file(path)
    if b"ENCRYPTED" in content and password is None:
        raise SigningError(f"{path}: expected the password of this key (--password-file FILE), found none.")
    try:
        key = serialization.load_pem_private_key(content, password if b"ENCRYPTED" in content else None)
    except Exception:  # of many kinds, none of which may quote the key
        key = None
    if not isinstance(key, cryptography("hazmat.primitives.asymmetric.ed25519").Ed25519PrivateKey):
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


def _write(path: Path, content: bytes) -> None:
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600), "wb") as file:
            file.write(content)
        return
    except OSError as error:
        problem = error.strerror
    raise OutputError(f"{path}: the key could not be written ({problem}).")
