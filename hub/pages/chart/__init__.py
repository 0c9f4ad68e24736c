"""Charts of the pages: pure functions from rows to a :class:`Chart`, which one partial shows."""

from hub.pages.chart.bars import Part, bars
from hub.pages.chart.course import course
from hub.pages.chart.durations import run_durations
from hub.pages.chart.figure import Chart, LinkedText
from hub.pages.chart.histogram import histogram
from hub.pages.chart.pareto import pareto
from hub.pages.chart.roofline import roofline
from hub.pages.chart.scores import ScoredRun, distribution, history
from hub.pages.chart.tornado import Reverted, tornado
from hub.pages.chart.utilisation import utilisation

__all__ = [
    "Chart",
    "LinkedText",
    "Part",
    "Reverted",
    "ScoredRun",
    "bars",
    "course",
    "distribution",
    "histogram",
    "history",
    "pareto",
    "roofline",
    "run_durations",
    "tornado",
    "utilisation",
]
