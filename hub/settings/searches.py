"""Environment variables of searches: how long each kind takes, and how many follow."""

from hub.settings.env import SettingsSection

_searches = SettingsSection("Searches")
TUNE_BUDGET_S = _searches.integer(
    "HPCFAIR_TUNE_SECONDS",
    40,
    low=5,
    high=86_400,
    about="Seconds of search of a tune job; a job may ask for up to six times as many.",
)
SCHEDULE_S = _searches.integer(
    "HPCFAIR_SCHEDULE_SECONDS",
    300,
    low=0,
    high=86_400,
    about="Seconds of a search for operator schedules, which follows the first tune job of a "
    "network; 0: none.",
)
PASSES_S = _searches.integer(
    "HPCFAIR_PASSES_SECONDS",
    300,
    low=0,
    high=86_400,
    about="Seconds of a study of compiler passes, which runs in the background for the first "
    "networks of an architecture class; 0: none.",
)
IDLE_SEARCHES = _searches.integer(
    "HPCFAIR_IDLE_SEARCHES",
    4,
    low=0,
    high=20,
    about="Further searches of a downloaded model on a target whose devices have nothing else to "
    "do, each longer than the one before and for four times as many downloads; 0: none.",
)
