"""The scenarios of measurements, as choices of columns. No ORM."""

from django.db.models import TextChoices


class Scenario(TextChoices):
    """What a measurement is of, with the values of :mod:`hpcfair.scenarios`."""

    SINGLE_STREAM = "single-stream", "Single stream"
    MULTI_STREAM = "multi-stream", "Multi-stream"
    OFFLINE = "offline", "Offline"
    SERVER = "server", "Server"


#: Scenarios whose runs are queries of many samples, as searches measure them.
QUERY_SCENARIOS = (Scenario.OFFLINE, Scenario.MULTI_STREAM)
