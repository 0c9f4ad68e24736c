"""Environment variables of the roofs of devices."""

from hub.settings.env import SettingsSection

_work = SettingsSection("Jobs and workers")
ROOFS_S = _work.integer(
    "HPCFAIR_ROOFS_SECONDS",
    60,
    low=0,
    high=600,
    about="Seconds that a device may take, in its first job and in the first one after a change of "
    "its tools, to measure how fast its arithmetic and its memory are; 0: never.",
)
