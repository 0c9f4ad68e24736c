"""What tests read of DSSE envelopes."""

import base64
import json
from typing import Any


def payload_of(envelope: dict[str, Any]) -> Any:
    """The payload of an envelope, unverified."""
    return json.loads(base64.b64decode(envelope["payload"]))
