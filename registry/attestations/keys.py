"""The key that signs: ECDSA with SHA-256 on the curve P-256, as Sigstore's and OpenSSF's tools use.

The id of a key is the SHA-256 of its public key in PEM.
"""

import hashlib
import os
import tempfile
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any


class SigningUnavailable(Exception):
    """Nothing can be signed now; the text says why."""


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A private key, and its public key in PEM."""

    private: Any
    public_pem: str

    @property
    def keyid(self) -> str:
        return keyid_of(self.public_pem)

    def sign(self, data: bytes) -> bytes:
        """The signature of ``data`` in DER."""
        signature: bytes = self.private.sign(
            data, _library("ec").ECDSA(_library("hashes").SHA256())
        )
        return signature


def keyid_of(public_pem: str) -> str:
    """The id of a public key in PEM."""
    return hashlib.sha256(public_pem.encode()).hexdigest()


def new_pem() -> bytes:
    """A new private key in PEM (PKCS #8). Raises SigningUnavailable."""
    serialization = _library("serialization")
    private = _library("ec").generate_private_key(_library("ec").SECP256R1())
    pem: bytes = private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return pem


def read_key(pem: bytes) -> SigningKey:
    """The key in PEM. Raises SigningUnavailable if it is none, or of another curve."""
    serialization = _library("serialization")
    try:
        private = serialization.load_pem_private_key(pem, password=None)
    except (ValueError, TypeError):
        raise SigningUnavailable("The signing key is not an unencrypted key in PEM.") from None
    if getattr(getattr(private, "curve", None), "name", "") != "secp256r1":
        raise SigningUnavailable("The signing key is not one of the curve P-256.")
    public: bytes = private.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return SigningKey(private, public.decode())


def key_in(path: Path) -> SigningKey:
    """The key in a file that only its owner can read; it is made if it is missing. Raises
    SigningUnavailable."""
    try:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            _create(path, new_pem())
        return read_key(path.read_bytes())
    except OSError as error:
        raise SigningUnavailable(f"{path.name} cannot be read: {error.strerror}.") from error


def replace_key(path: Path, pem: bytes) -> None:
    """Replace the key in a file atomically."""
    _temporary(path, pem).replace(path)


def _create(path: Path, pem: bytes) -> None:
    """Write a new key; of several processes that start at once, one wins."""
    temporary = _temporary(path, pem)
    try:
        # Unlike rename, link does not replace a key that other processes may have read.
        os.link(temporary, path)
    except FileExistsError:
        pass
    finally:
        temporary.unlink()


def _temporary(path: Path, pem: bytes) -> Path:
    """A file beside ``path``; mkstemp gives it the mode 0600."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".signing-")
    with os.fdopen(descriptor, "wb") as file:
        file.write(pem)
        file.flush()
        os.fsync(file.fileno())
    return Path(name)


def _library(name: str) -> Any:
    """A module of ``cryptography``. Imported on first use: few processes sign."""
    parents = {
        "ec": "primitives.asymmetric.",
        "hashes": "primitives.",
        "serialization": "primitives.",
    }
    try:
        return import_module(f"cryptography.hazmat.{parents[name]}{name}")
    except ImportError as error:
        raise SigningUnavailable(f"cryptography cannot be imported: {error}.") from error
