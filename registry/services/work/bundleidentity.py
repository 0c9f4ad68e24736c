"""Enrolment of a device without a network, by a file that it wrote about itself."""

import json
from pathlib import Path
from typing import Any

from django.db import transaction

from hpcfair.bundle import IDENTITY_SCHEMA, IDENTITY_TYPE
from registry.attestations.devicekey import SignatureInvalid, open_envelope, unverified_payload
from registry.errors import Invalid
from registry.schemas.bundle import identity_fault
from registry.selectors.access import Actor, require_staff
from registry.services.work.devicecode import device_code_issue
from registry.services.work.enrolment import device_enrol
from registry.tables import Device
from registry.validation.texts import unstorable

_MAX_BYTES = 2**20


def bundle_enrol(*, actor: Actor, path: Path) -> Device:
    """Enrol the device that an identity file describes, with a code that is issued for it.

    The signature proves that the writer of the file has the private key. It does not prove that the
    file is from the right machine: the operator must ensure that. The token of the device is not
    returned, since it is useless without a network.

    Raises:
        Unauthenticated, Forbidden: the actor is not an operator of the hub.
        Invalid: ``invalid_bundle``: the file is malformed or its signature wrong.
        NotFound: ``target_not_found``.
        Conflict, Invalid: the errors of :func:`registry.services.work.enrolment.device_enrol`.
        OSError: the file cannot be read.
    """
    require_staff(actor)
    identity = _read_identity(path)
    with transaction.atomic():
        code = device_code_issue(actor=actor, target=identity["target"])
        device, _ = device_enrol(
            code=code,
            name=identity["name"],
            facts=identity["facts"],
            public_key=identity["public_key"],
            tools=identity["tools"],
            agent_version=identity["agent_version"],
        )
    return device


def _read_identity(path: Path) -> dict[str, Any]:
    """The signed description in a file. Raises ``Invalid`` ``invalid_bundle``."""
    with path.open("rb") as file:
        content = file.read(_MAX_BYTES + 1)
    if len(content) > _MAX_BYTES:
        raise _refusal(f"it has more than {_MAX_BYTES} bytes")
    try:
        envelope = json.loads(content)
        public_key = str(unverified_payload(envelope)["public_key"])
        identity = open_envelope(envelope, IDENTITY_TYPE, public_key)
    except SignatureInvalid as error:
        raise _refusal(str(error)) from error
    except (ValueError, RecursionError, KeyError, TypeError) as error:
        raise _refusal("it does not describe a device") from error
    if unstorable(identity):
        raise _refusal("it has a value that no database stores")
    if fault := identity_fault(identity, IDENTITY_SCHEMA):
        raise _refusal(fault)
    return dict(identity)


def _refusal(reason: str) -> Invalid:
    return Invalid(
        "invalid_bundle",
        f"The identity is refused: {reason}.",
        "Write it again on the device: hpcfair-agent bundle identify FILE",
    )
