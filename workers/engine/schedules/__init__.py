"""Schedules of operator workloads: the loop that spends trials where a network gains most.

Knows no compiler: what proposes, builds and times schedules stands behind
:class:`~workers.engine.schedules.ports.ScheduleCompiler`.
"""
