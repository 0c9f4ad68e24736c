"""Schedules of operator workloads: the loop that spends trials where a network gains most.

Independent of the compiler: a :class:`~workers.engine.schedules.ports.ScheduleCompiler` proposes,
builds and times schedules.
"""
