"""DSSE envelopes: a payload, its type and signatures over both.

Sources: https://github.com/secure-systems-lab/dsse, ``envelope.md`` and ``protocol.md``.
"""

import base64
import json
from typing import Any

from registry.attestations.keys import SigningKey

IN_TOTO = "application/vnd.in-toto+json"


def sign(payload: dict[str, Any], payload_type: str, *keys: SigningKey) -> dict[str, Any]:
    """An envelope of ``payload`` as JSON, signed by each of ``keys``. Raises SigningUnavailable."""
    data = json.dumps(payload, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()
    signed = encoding(data, payload_type)
    return {
        "payloadType": payload_type,
        "payload": base64.b64encode(data).decode(),
        "signatures": [
            {"keyid": key.keyid, "sig": base64.b64encode(key.sign(signed)).decode()} for key in keys
        ],
    }


def encoding(payload: bytes, payload_type: str) -> bytes:
    """The signed bytes: DSSE's pre-authentication encoding."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)
