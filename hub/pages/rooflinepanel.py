"""The roofline of a build as a panel: ``templates/partials/roofline.html``."""

from dataclasses import dataclass

from hub.pages.chart import Chart
from hub.pages.chart.roofline import roofline
from registry.selectors.access import Actor
from registry.selectors.analysis.performance import Performance
from registry.selectors.analysis.roofline import RooflineView, roofline_of_build
from registry.tables import Build


@dataclass(frozen=True, slots=True)
class RooflinePanel:
    """A roofline with its chart; without one, ``refusal`` says why.

    Attributes:
        saving: Share of the profiled time that reaching the roof in every call would save.
        end_to_end_ns: Latency of the build then, if the rest of it stays as it is.
    """

    build: Build
    view: RooflineView
    chart: Chart | None
    refusal: str
    saving: float
    end_to_end_ns: float


def roofline_panel(
    actor: Actor,
    build: Build,
    *,
    name: str = "roofline",
    performance: Performance | None = None,
) -> RooflinePanel:
    """The panel of a readable build, whose record and target are loaded.

    Args:
        name: Unique on the page.
        performance: That of the build, if the caller has read it for ``actor``.
    """
    view = roofline_of_build(actor, build, performance)
    chart = roofline(view, name=name)
    refusal = view.refusal
    if not refusal and chart is None:
        refusal = "None of its calls has known operations, or the roof of memory is missing."
    saving = view.saving_ns / view.sum_ns if view.sum_ns else 0.0
    # Profilers slow runs down, so the share counts, not the time.
    total = max(float(view.profile.total_ns), view.sum_ns) if view.profile else 0.0
    left = 1 - view.saving_ns / total if total else 1.0
    return RooflinePanel(build, view, chart, refusal, saving, build.p50_ns * left)
