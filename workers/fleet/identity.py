"""The name of this machine as a device: kept in the data folder, since host names are not unique.

The folder may be shared by several hosts, and a host may run several workers. Each worker that runs
has the lock of its own file, so that no two have one name; a restarted worker finds its name again.
"""

import fcntl
import itertools
import re
import secrets
import socket
from pathlib import Path
from typing import BinaryIO

_MACHINE_ID = Path("/etc/machine-id")


def claim_name(folder: Path) -> tuple[str, BinaryIO]:
    """The name of this worker's device, and the open file that keeps other workers from it.

    Args:
        folder: Folder of the names; made if it is missing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    host = socket.gethostname()
    owner = re.sub(r"[^\w.-]", "_", host) + _machine_id()
    for number in itertools.count():
        file = (folder / f"{owner}-{number}").open("a+b")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            continue
        file.seek(0)
        name = file.read().decode()
        if not name:
            name = f"{host}-{secrets.token_hex(3)}"
            file.write(name.encode())
            file.flush()
        return name, file
    raise AssertionError  # the numbers do not end


def _machine_id() -> str:
    """A part of the id of the installed system; empty in containers, which have none."""
    try:
        return f"-{_MACHINE_ID.read_text()[:8]}".rstrip("-\n")
    except OSError:
        return ""
