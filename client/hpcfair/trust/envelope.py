"""Opens DSSE envelopes whose signature is valid.

Sources: https://github.com/secure-systems-lab/dsse, ``envelope.md`` and ``protocol.md``. Keys are
ECDSA with SHA-256 on the curve P-256.
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from hpcfair.errors import MissingPackage, Untrusted

IN_TOTO = "application/vnd.in-toto+json"
_PACKAGE = "cryptography"
_HINT = "Install it with: pip install 'hpcfair[verify]'"


def can_verify() -> bool:
    """Whether the package that verifies signatures is installed."""
    return find_spec(_PACKAGE) is not None


def open_envelope(envelope: Any, payload_type: str, keys: Mapping[str, str]) -> tuple[Any, str]:
    """The payload of an envelope, and the id of the key that signed it.

    Args:
        payload_type: The type that the payload must have.
        keys: Trusted keys: id to public key in PEM.

    Raises:
        Untrusted: the envelope is malformed, of another type, or no trusted key signed it.
        MissingPackage: ``cryptography`` is not installed.
    """
    try:
        payload = base64.b64decode(envelope["payload"], validate=True)
        kind = str(envelope["payloadType"])
        signatures = [
            (str(each["keyid"]), base64.b64decode(each["sig"], validate=True))
            for each in envelope["signatures"]
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise invalid("it is malformed") from error
    if kind != payload_type:
        raise invalid(f"it is of the type {kind[:100]!r}")
    signed = b"DSSEv1 %d %b %d %b" % (len(kind.encode()), kind.encode(), len(payload), payload)
    for keyid, signature in signatures:
        if keyid in keys and _is_valid(keys[keyid], signature, signed):
            try:
                return json.loads(payload), keyid
            except ValueError as error:
                raise invalid("its payload is not JSON") from error
    is_ours = any(keyid in keys for keyid, _ in signatures)
    raise invalid("it does not match its content" if is_ours else "its key is not one of the hub's")


def keys_of(envelope: Any) -> tuple[str, ...]:
    """Ids of the keys that an envelope names, unverified."""
    try:
        return tuple(str(each["keyid"]) for each in envelope["signatures"])
    except (KeyError, TypeError):
        return ()


def unverified(envelope: Any) -> Any:
    """The payload of an envelope, unverified. Raises Untrusted if it is malformed."""
    try:
        return json.loads(base64.b64decode(envelope["payload"], validate=True))
    except (KeyError, TypeError, ValueError) as error:
        raise invalid("it is malformed") from error


def keyid_of(public_pem: str) -> str:
    """The id of a public key: the SHA-256 of its PEM."""
    return hashlib.sha256(public_pem.encode()).hexdigest()


def invalid(reason: str) -> Untrusted:
    """The error for a signature that is not valid."""
    return Untrusted(
        f"The signature is not valid: {reason}.",
        "Nothing was loaded. Try again; if it stays, report it to the hub's operators.",
        code="signature_invalid",
    )


def _is_valid(public_pem: str, signature: bytes, data: bytes) -> bool:
    try:
        exceptions = import_module("cryptography.exceptions")
        ec = import_module("cryptography.hazmat.primitives.asymmetric.ec")
        hashes = import_module("cryptography.hazmat.primitives.hashes")
        serialization = import_module("cryptography.hazmat.primitives.serialization")
    except ImportError as error:
        raise MissingPackage(f"Signatures are verified by {_PACKAGE}: {error}.", _HINT) from error
    try:
        key = serialization.load_pem_public_key(public_pem.encode())
        if not isinstance(key, ec.EllipticCurvePublicKey) or key.curve.name != "secp256r1":
            return False
        key.verify(signature, data, ec.ECDSA(hashes.SHA256()))
    except (ValueError, exceptions.InvalidSignature, exceptions.UnsupportedAlgorithm):
        return False
    return True
