"""Charts of the pages: pure functions from rows to a :class:`Chart`, which one partial shows."""

from hub.pages.chart.bars import Part, bars
from hub.pages.chart.costmodel import model_by_round, predicted_and_measured, predicted_ratios
from hub.pages.chart.course import course
from hub.pages.chart.durations import run_durations
from hub.pages.chart.figure import Chart, LinkedText
from hub.pages.chart.histogram import histogram
from hub.pages.chart.pareto import pareto
from hub.pages.chart.progress import CoursePlace
from hub.pages.chart.roofline import roofline
from hub.pages.chart.schedules import best_so_far
from hub.pages.chart.scores import ScoredRun, distribution, history
from hub.pages.chart.tornado import Reverted, tornado
from hub.pages.chart.utilisation import utilisation

__all__ = [
    "Chart",
    "CoursePlace",
    "LinkedText",
    "Part",
    "Reverted",
    "ScoredRun",
    "bars",
    "best_so_far",
    "course",
    "distribution",
    "histogram",
    "history",
    "model_by_round",
    "pareto",
    "predicted_and_measured",
    "predicted_ratios",
    "roofline",
    "run_durations",
    "tornado",
    "utilisation",
]
