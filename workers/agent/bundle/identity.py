"""The file by which a device without a network is enrolled."""

import json
from pathlib import Path

from hpcfair.bundle import IDENTITY_SCHEMA, IDENTITY_TYPE
from workers.agent.connection import agent_version
from workers.agent.devicekey import DeviceKey
from workers.device.toolchain import tools_here
from workers.fleet.probe import served_machine


def write_identity(out: Path, state: Path, *, name: str | None, target: str | None) -> DeviceKey:
    """Write the description of this machine and the public key of the device, signed by it.

    Args:
        name: Name of the device; by default ``HPCFAIR_DEVICE`` or the host's name.
        target: Slug of the target to serve, which must be registered at the hub; by default that of
            its processor.

    Raises:
        KeyUnusable, OSError.
        ValueError: the machine does not fit the target.
    """
    key = DeviceKey.in_folder(state)
    here = served_machine(target)
    payload = {
        "schema": IDENTITY_SCHEMA,
        "name": name or here.device,
        "public_key": key.public_pem,
        "target": target and here.spec.slug,
        "agent_version": agent_version(),
        "facts": here.spec.facts,
        "tools": tools_here(here),
    }
    out.write_text(json.dumps(key.envelope(payload, IDENTITY_TYPE), indent=1) + "\n", "utf-8")
    return key
