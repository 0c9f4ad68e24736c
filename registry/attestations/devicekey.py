"""Verifies signatures of devices: Ed25519, over bytes or in a DSSE envelope.

A device creates its key pair itself; the hub learns the public key when the device is enrolled.
Keys are in PEM, signatures in Base64; :func:`registry.attestations.keys.keyid_of` gives the id of a
key.
"""

import base64
import json
from importlib import import_module
from typing import Any

from registry.attestations.envelope import encoding


class SignatureInvalid(Exception):
    """The signature of a device is not valid; the message says why."""


def public_pem(text: str) -> str:
    """An Ed25519 public key in the one PEM form that is stored and compared.

    Raises ``ValueError`` if ``text`` is not an Ed25519 public key in PEM.
    """
    serialization = import_module("cryptography.hazmat.primitives.serialization")
    ed25519 = import_module("cryptography.hazmat.primitives.asymmetric.ed25519")
    exceptions = import_module("cryptography.exceptions")
    try:
        key = serialization.load_pem_public_key(text.encode())
    except exceptions.UnsupportedAlgorithm as error:
        raise ValueError(str(error)) from error
    if not isinstance(key, ed25519.Ed25519PublicKey):
        raise ValueError("it is not an Ed25519 key")  # noqa: TRY004 - the value of the text is wrong, not its type
    pem: bytes = key.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return pem.decode()


def is_signed(public_pem: str, signature: str, data: bytes) -> bool:
    """Whether ``signature`` is that of the device's key over ``data``; false for a malformed key
    or signature."""
    serialization = import_module("cryptography.hazmat.primitives.serialization")
    ed25519 = import_module("cryptography.hazmat.primitives.asymmetric.ed25519")
    exceptions = import_module("cryptography.exceptions")
    try:
        key = serialization.load_pem_public_key(public_pem.encode())
        if not isinstance(key, ed25519.Ed25519PublicKey):
            return False
        key.verify(base64.b64decode(signature, validate=True), data)
    except (ValueError, exceptions.InvalidSignature, exceptions.UnsupportedAlgorithm):
        return False
    return True


def open_envelope(envelope: Any, payload_type: str, public_pem: str) -> Any:
    """The payload of an envelope that the device's key signed.

    Raises:
        SignatureInvalid: the envelope is malformed, of another type, or not signed by this key.
    """
    payload, kind, signatures = _parts(envelope)
    if kind != payload_type:
        raise SignatureInvalid(f"its type is {kind[:100]!r}")
    signed = encoding(payload, kind)
    if not any(is_signed(public_pem, signature, signed) for signature in signatures):
        raise SignatureInvalid("it is not signed by the key of this device")
    return _json(payload)


def unverified_payload(envelope: Any) -> Any:
    """The payload of an envelope, without verifying its signature. Raises SignatureInvalid."""
    return _json(_parts(envelope)[0])


def _parts(envelope: Any) -> tuple[bytes, str, list[str]]:
    try:
        payload = base64.b64decode(envelope["payload"], validate=True)
        kind = str(envelope["payloadType"])
        return payload, kind, [str(one["sig"]) for one in envelope["signatures"]]
    except (KeyError, TypeError, ValueError) as error:
        raise SignatureInvalid("its envelope is malformed") from error


def _json(payload: bytes) -> Any:
    try:
        return json.loads(payload)
    except (ValueError, RecursionError) as error:
        raise SignatureInvalid("its payload is not JSON") from error
