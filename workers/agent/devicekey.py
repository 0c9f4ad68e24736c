"""The key pair of a device: Ed25519, made on the device and never leaving it."""

import base64
import hashlib
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

_FILE = "device.key"


class KeyUnusable(Exception):
    """The file of the key cannot be used; the message says why."""


@dataclass(frozen=True, slots=True)
class DeviceKey:
    """The private key of a device, and its public key in PEM."""

    private: Ed25519PrivateKey
    public_pem: str

    @classmethod
    def in_folder(cls, folder: Path) -> Self:
        """The key in ``folder``. Key and folder are created if they are missing.

        Raises:
            KeyUnusable: the file is not an Ed25519 key, or other users may read it.
            OSError: it cannot be read or written.
        """
        path = folder / _FILE
        if not path.exists():
            _create(path)
        if path.stat().st_mode & 0o077:
            raise KeyUnusable(f"{path} can be read by others: chmod 600 {path}")
        try:
            private = load_pem_private_key(path.read_bytes(), password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm) as error:
            raise KeyUnusable(f"{path} is not an unencrypted key in PEM") from error
        if not isinstance(private, Ed25519PrivateKey):
            raise KeyUnusable(f"{path} is not an Ed25519 key")
        public = private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        return cls(private, public.decode())

    @property
    def keyid(self) -> str:
        """SHA-256 of the public key in PEM."""
        return hashlib.sha256(self.public_pem.encode()).hexdigest()

    def sign(self, data: bytes) -> str:
        """The signature of ``data`` in base64."""
        return base64.b64encode(self.private.sign(data)).decode()

    def envelope(self, payload: dict[str, Any], payload_type: str) -> dict[str, Any]:
        """A DSSE envelope of ``payload`` as JSON, signed by this key."""
        data = json.dumps(payload, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        body, kind = data.encode(), payload_type.encode()
        signed = b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(body), body)
        return {
            "payloadType": payload_type,
            "payload": base64.b64encode(body).decode(),
            "signatures": [{"keyid": self.keyid, "sig": self.sign(signed)}],
        }


def _create(path: Path) -> None:
    """Write a new key; of several processes that start at once, one wins."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pem = Ed25519PrivateKey.generate().private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
    )
    # mkstemp gives the file the mode 0600.
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".device-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(pem)
            file.flush()
            os.fsync(file.fileno())
        # Unlike rename, link does not replace a key that another process may already use.
        os.link(temporary, path)
    except FileExistsError:
        pass
    finally:
        Path(temporary).unlink()
