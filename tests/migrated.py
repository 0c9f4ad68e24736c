"""The database of an empty hub, made by migrations: once for all processes of a run.

Migrating takes some processor seconds. Hubs that tests start as their operators do begin with a
copy, and find nothing left to migrate.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[1]


def migrated_database(factory: pytest.TempPathFactory) -> Path:
    """The file of a migrated SQLite database, which is only read and copied."""
    folder = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    data = folder / "migrated"
    data.mkdir(exist_ok=True)
    # One process of the run makes it, the others wait.
    with (folder / "migrated.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (data / "complete").exists():
            environment = {"PATH": os.environ["PATH"], "HPCFAIR_DATA": str(data)}
            command = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
            subprocess.run(command, cwd=_ROOT, env=environment, check=True)
            (data / "complete").touch()
    return data / "db.sqlite3"


def migrated_data(factory: pytest.TempPathFactory, data: Path) -> Path:
    """A new data folder of an empty hub whose database is migrated."""
    data.mkdir(parents=True)
    shutil.copyfile(migrated_database(factory), data / "db.sqlite3")
    return data
