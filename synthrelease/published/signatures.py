"""Ed25519 signatures, read: who made a bundle. The signature is of SHA256SUMS, and so of every file in it.

The files are those that other tools read: keys in PEM, the signature as its 64 bytes.
`openssl pkeyutl -verify -pubin -inkey public-key.pem -rawin -in SHA256SUMS -sigfile SHA256SUMS.sig` checks one too.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synthrelease.errors import SynthreleaseError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

SIGNATURE, PUBLIC_KEY = "SHA256SUMS.sig", "public-key.pem"
_MAX_KEY_BYTES = 10_000


class SigningError(SynthreleaseError):
    """A key file that cannot be used."""


def load_public_key(path: Path) -> Ed25519PublicKey:
    """Raises SigningError when the file holds no Ed25519 public key."""
    key = parse_public_key(key_file(path))
    if key is None:
        raise SigningError(f"{path}: expected an Ed25519 public key in PEM, found something else.")
    return key


def parse_public_key(content: bytes) -> Ed25519PublicKey | None:
    serialization = cryptography("hazmat.primitives.serialization")
    try:
        key = serialization.load_pem_public_key(content)
    except Exception:
        return None
    return key if isinstance(key, cryptography("hazmat.primitives.asymmetric.ed25519").Ed25519PublicKey) else None


def is_signed(content: bytes, signature: bytes, key: Ed25519PublicKey) -> bool:
    """Whether the signature was made of this content with the private half of the key."""
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
    """SHA-256 of the 32 bytes of the public key, in groups of four hexadecimal digits."""
    serialization = cryptography("hazmat.primitives.serialization")
    raw = key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    digits = hashlib.sha256(raw).hexdigest()
    return " ".join(digits[i : i + 4] for i in range(0, len(digits), 4))


def cryptography(module: str) -> Any:
    """Raises InputError where the library is not installed."""
    from synthrelease.libraries import library

    return library(f"cryptography.{module}", "cryptography", "signatures", "sign")


def key_file(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_MAX_KEY_BYTES)
    except OSError as error:
        problem = error.strerror
    raise SigningError(f"{path}: expected a key file, found none that can be read ({problem}).")
