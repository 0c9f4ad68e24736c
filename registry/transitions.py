"""Transitions of devices and jobs: the states that may follow each state.

``docs/states.md`` draws them. A transition is one filtered UPDATE that took effect if it changed a
row; services make them, and nothing else writes a ``state`` column.
"""

from registry.states import DeviceState, JobState

DEVICE_TRANSITIONS: dict[DeviceState, frozenset[DeviceState]] = {
    DeviceState.ACTIVE: frozenset(
        {
            DeviceState.DRAINING,
            DeviceState.MAINTENANCE,
            DeviceState.QUARANTINED,
            DeviceState.RETIRED,
        }
    ),
    DeviceState.DRAINING: frozenset(
        {DeviceState.ACTIVE, DeviceState.MAINTENANCE, DeviceState.QUARANTINED, DeviceState.RETIRED}
    ),
    DeviceState.MAINTENANCE: frozenset(
        {DeviceState.ACTIVE, DeviceState.QUARANTINED, DeviceState.RETIRED}
    ),
    DeviceState.QUARANTINED: frozenset(
        {DeviceState.ACTIVE, DeviceState.MAINTENANCE, DeviceState.RETIRED}
    ),
    DeviceState.RETIRED: frozenset(),
}

JOB_TRANSITIONS: dict[JobState, frozenset[JobState]] = {
    JobState.QUEUED: frozenset({JobState.LEASED, JobState.CANCELLED}),
    JobState.LEASED: frozenset(
        {JobState.QUEUED, JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED}
    ),
    JobState.SUCCEEDED: frozenset(),
    JobState.FAILED: frozenset(),
    JobState.CANCELLED: frozenset(),
}

JOB_ENDED = frozenset(state for state, following in JOB_TRANSITIONS.items() if not following)
