"""Verifies that a bundle comes from the hub that this device trusts, and is for this device.

The trusted key is stored beside the device's own, in ``hub.json``::

    {"hub": <address>, "keyid": <id>, "public": <PEM>}

A device that joined over the network trusts the key that the hub sent with the enrolment.
"""

import json
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hpcfair.bundle import JOBS_SCHEMA, JOBS_TYPE, BundleInvalid
from hpcfair.bundlefile import BundleFile
from hpcfair.errors import Untrusted
from hpcfair.trust.envelope import keyid_of, open_envelope, unverified
from hpcfair.trust.keylist import KeyList, follow, read_list
from workers.agent.devicekey import DeviceKey
from workers.agent.enrolment import Enrolment, NotEnrolled

_FILE = "hub.json"


class BundleRefused(Exception):
    """This device refuses a bundle; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class TrustedHub:
    """A hub, and the key that its bundles must be signed with: its id, and the key in PEM."""

    hub: str
    keyid: str
    public: str


def trusted_hub(folder: Path) -> TrustedHub | None:
    """The hub that the device trusts; ``None`` before the first one. Raises BundleRefused if the
    file in ``folder`` is damaged."""
    path = folder / _FILE
    try:
        return TrustedHub(**json.loads(path.read_text("utf-8")))
    except FileNotFoundError:
        return _joined_hub(folder)
    except (ValueError, TypeError) as error:
        raise BundleRefused(
            f"{path} is damaged: delete it, and name the key with --trust"
        ) from error


def _joined_hub(folder: Path) -> TrustedHub | None:
    try:
        enrolment = Enrolment.read(folder)
    except NotEnrolled:
        return None
    pem = enrolment.hub_key
    return TrustedHub(enrolment.hub, keyid_of(pem), pem) if pem else None


def trust_hub(folder: Path, hub: TrustedHub) -> None:
    """Trust a hub's key from now on."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=".hub-")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(asdict(hub), file)
        file.flush()
        os.fsync(file.fileno())
    Path(temporary).replace(folder / _FILE)


def open_jobs(path: Path, folder: Path, key: DeviceKey, named: str | None) -> BundleFile:
    """An open bundle of jobs whose signature is that of the trusted hub.

    Args:
        folder: State of the agent, with the trusted key.
        key: The key of this device; bundles for another device are refused.
        named: Id of a key that the operator trusts from now on.

    Raises:
        BundleRefused: the bundle is damaged, of another hub, or for another device.
        OSError: it cannot be read.
    """

    def verify(envelope: Any) -> Any:
        claimed = unverified(envelope)
        keys = read_list(claimed["keys"])
        hub = _accepted(keys, str(claimed["hub"]), trusted_hub(folder), named)
        manifest, _ = open_envelope(envelope, JOBS_TYPE, {hub.keyid: hub.public})
        if manifest["schema"] != JOBS_SCHEMA:
            raise BundleRefused(f"This agent cannot read a bundle of {manifest['schema']!r}.")
        if manifest["device"]["public_key"] != key.public_pem:
            name = manifest["device"]["name"]
            raise BundleRefused(f"This bundle is for the device {name!r}, which has another key.")
        trust_hub(folder, hub)
        return manifest

    try:
        return BundleFile(path, verify)
    except BundleInvalid as error:
        raise BundleRefused(f"{path.name} is refused: {error}.") from error
    except Untrusted as error:
        raise BundleRefused(f"{path.name} is refused: {error.detail}") from error
    except (KeyError, TypeError) as error:
        raise BundleRefused(f"{path.name} is refused: its manifest is incomplete.") from error


def _accepted(
    keys: KeyList, name: str, trusted: TrustedHub | None, named: str | None
) -> TrustedHub:
    """The hub with its current key, if the operator named that key or the trusted key vouches for
    it.

    A hub other than ``trusted`` is accepted only if the operator named its key.
    """
    if keys.current in keys.revoked:
        raise BundleRefused("The hub's key is revoked. Export the jobs again.")
    hub = TrustedHub(name, keys.current, keys.public[keys.current])
    if named == hub.keyid:
        return hub
    if named is not None:
        raise BundleRefused(f"The bundle is signed by the key {hub.keyid}, not by {named}.")
    if trusted is None:
        raise BundleRefused(
            "This device trusts no hub yet. Compare the id of the hub's key with its operator "
            f"(`manage.py keys`), then add: --trust {hub.keyid}"
        )
    follow(keys, trusted.keyid, trusted.public, hub=trusted.hub)
    return hub
