"""Schedules of TVM's MetaSchedule as plain data: what was decided, in words and in columns.

Pure functions on the JSON that trials hold; TVM is not needed. :class:`Sketch` reads the
instructions of a sketch, :func:`table_of` lays the trials of a workload out in columns.
"""

from registry.traces.columns import DecisionColumn, DecisionColumnKind
from registry.traces.derived import VectorRegisters
from registry.traces.errors import TraceError
from registry.traces.names import WorkloadNames
from registry.traces.sketch import Decision, Sketch
from registry.traces.table import table_of

__all__ = [
    "Decision",
    "DecisionColumn",
    "DecisionColumnKind",
    "Sketch",
    "TraceError",
    "VectorRegisters",
    "WorkloadNames",
    "table_of",
]
