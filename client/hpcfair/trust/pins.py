"""The keys of hubs that this user trusts: ``keys.json`` beside ``config.json``.

::

    {"<hub>": {"keyid": ..., "public": <PEM>, "since": <ISO 8601>,
               "list": <envelope of the hub's keys>, "checked_at": <seconds since 1970>}}

Readable by its owner only. The list is kept for use without the hub.
"""

import json
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hpcfair.config import Config, config_file
from hpcfair.errors import BadConfig
from hpcfair.localfiles import local_files


@dataclass(frozen=True, slots=True)
class Pin:
    """The trusted key of a hub, the last list of its keys, and when that was fetched."""

    keyid: str
    public: str
    since: str
    list: Any
    checked_at: float


def pin_file(config: Config) -> Path:
    """The file with the trusted keys."""
    return config.keys or config_file().with_name("keys.json")


def read_pin(config: Config) -> Pin | None:
    """The trusted key of the hub. Raises BadConfig if the file cannot be read."""
    path = pin_file(config)
    stored = _read(path).get(config.url)
    try:
        return Pin(**stored) if stored else None
    except TypeError as error:
        raise _damaged(path, error) from error


def write_pin(config: Config, pin: Pin) -> None:
    """Trust a key of the hub from now on. Raises BadConfig if the file cannot be read, and
    StorageFailed if it cannot be written."""
    path = pin_file(config)
    _write(path, {**_read(path), config.url: asdict(pin)})


def _read(path: Path) -> dict[str, Any]:
    try:
        pins = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise _damaged(path, error) from error
    if not isinstance(pins, dict):
        raise _damaged(path, "it is not an object")
    return pins


def _write(path: Path, pins: dict[str, Any]) -> None:
    with local_files(path.parent, "HPCFAIR_CONFIG"):
        _replace(path, pins)


def _replace(path: Path, pins: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # mkstemp creates the file with mode 0600, which the rename preserves.
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".keys-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(pins, file, indent=2)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _damaged(path: Path, error: object) -> BadConfig:
    return BadConfig(
        f"{path} cannot be read: {error}.",
        "If you delete it, the keys that hubs show next are trusted.",
    )
