"""The enrolment of a device: ``device.json`` in its state folder, readable by its owner only.

Standard library only: the heartbeat process imports it, and starts in a fraction of a second.
"""

import json
import os
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

_FILE = "device.json"
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class NotEnrolled(Exception):
    """The state folder has no usable enrolment; the message says why."""


class UnsafeHub(ValueError):
    """An address to which no token may be sent; the message says why."""


@dataclass(frozen=True, slots=True)
class Enrolment:
    """The membership of a device in the fleet of a hub.

    Attributes:
        hub: Address of the hub, without a trailing slash.
        device: Name of the device.
        token: Secret that authenticates the device.
        hub_key: Public key of the hub, which signs bundles; empty if the hub signs nothing.
        heartbeat_s, poll_s: Seconds between heartbeats, and between claims of an idle device.
    """

    hub: str
    device: str
    token: str = field(repr=False)
    hub_key: str = ""
    heartbeat_s: float = 20.0
    poll_s: float = 10.0

    @classmethod
    def read(cls, state: Path) -> Self:
        """The enrolment in a state folder. Raises NotEnrolled."""
        path = state / _FILE
        try:
            if path.stat().st_mode & 0o077:
                raise NotEnrolled(f"{path} can be read by others: chmod 600 {path}")
            return cls(**json.loads(path.read_text("utf-8")))
        except FileNotFoundError:
            raise NotEnrolled(
                f"{state} belongs to no device. Run `hpcfair-agent join CODE --hub ADDRESS` first."
            ) from None
        except (OSError, ValueError, TypeError) as error:
            raise NotEnrolled(f"{path} cannot be read: {error}") from error

    def write(self, state: Path) -> None:
        """Store it durably, in place of an earlier one. Raises OSError."""
        make_state(state)
        # mkstemp creates the file with mode 0600, which the rename preserves.
        handle, temporary = tempfile.mkstemp(dir=state, prefix=".device-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(asdict(self), file, indent=2)
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).replace(state / _FILE)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise

    @staticmethod
    def forget(state: Path) -> None:
        """Remove the enrolment from a state folder."""
        (state / _FILE).unlink(missing_ok=True)


def make_state(state: Path) -> None:
    """Create a state folder that only its owner can enter."""
    state.mkdir(parents=True, exist_ok=True, mode=0o700)


def checked_hub(url: str) -> str:
    """The address of a hub without a trailing slash.

    Raises:
        UnsafeHub: it is not an address, contains a password, or is neither HTTPS nor local.
    """
    try:
        parts = urlsplit(url.strip())
        is_address = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address or parts.username or parts.query or parts.fragment:
        raise UnsafeHub("The address of a hub must look like https://hub.example.org.")
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise UnsafeHub(
            f"http://{parts.netloc} is not encrypted: anybody on the network could read the token. "
            "Use an address that begins with https://."
        )
    return f"{parts.scheme}://{parts.netloc.lower()}{parts.path.rstrip('/')}"
