"""Schedules of TVM's MetaSchedule as plain data: what was decided, in words and in columns.

Pure functions on the JSON that trials hold; TVM is not needed. :class:`Sketch` reads the
instructions of a sketch, :func:`table_of` lays the trials of a workload out in columns.
"""

from registry.traces.columns import Column, ColumnKind
from registry.traces.derived import Machine
from registry.traces.errors import TraceError
from registry.traces.names import Names
from registry.traces.sketch import Decision, Sketch
from registry.traces.table import table_of

__all__ = [
    "Column",
    "ColumnKind",
    "Decision",
    "Machine",
    "Names",
    "Sketch",
    "TraceError",
    "table_of",
]
