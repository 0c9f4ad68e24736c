"""Environment variables of analyses: roofs of devices, experiments with schedules."""

from hub.settings.env import SettingsSection

_analyses = SettingsSection("Analyses")
ROOFS_S = _analyses.integer(
    "HPCFAIR_ROOFS_SECONDS",
    60,
    low=0,
    high=600,
    about="Seconds that a device may take, in its first job and in the first one after a change of "
    "its tools, to measure how fast its arithmetic and its memory are; 0: never.",
)
ABLATION_S = _analyses.integer(
    "HPCFAIR_ABLATION_SECONDS",
    60,
    low=0,
    high=86_400,
    about="Seconds of an ablation, which reverts the decisions of a schedule one by one, or of a "
    "cross-application, which measures the best schedules of other targets. They follow a search "
    "for schedules, for the three workloads with most time; 0: only on request.",
)
PRINCIPLES = _analyses.boolean(
    "HPCFAIR_PRINCIPLES",
    default=True,
    about="Whether searches for schedules begin with schedules that follow the published "
    "principles; a job's parameter `principles` overrides it.",
)
