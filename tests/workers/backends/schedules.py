"""Writes files of TVM schedules."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workers.backends.tvm.database import DatabaseRecord


def write_records(path: Path, records: Iterable["DatabaseRecord"]) -> None:
    """Write a schedule file, as ``workers.backends.tvm.database.read_records`` reads it."""
    path.write_text("".join(json.dumps(asdict(record)) + "\n" for record in records))
