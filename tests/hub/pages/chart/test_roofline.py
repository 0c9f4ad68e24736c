"""Calls under the roofs: area is share, colour is precision, the table has every call."""

from typing import Any

import pytest

from hub.pages import chart
from registry.kernels.networkwork import NetworkWork
from registry.selectors.analysis.performance import groups_in
from registry.selectors.analysis.roof import Roofs
from registry.selectors.analysis.roofline import RooflineView, calls_under
from registry.services.analysis.roof import roof_of
from registry.tables import CallSite, Device, RoofSet, Target
from tests.hub.pages.chart.checks import checked, marks, series
from tests.registry.analysis.roofs import compute, memory
from tests.registry.analysis.test_roofline import document


def site(sequence: int, median_ns: int, node: int, **columns: Any) -> CallSite:
    return CallSite(
        sequence=sequence, name=f"call{sequence}", operator="Conv", median_ns=median_ns, mad_ns=1,
        runs=3, nodes=[{"index": node, "grade": "exact"}], **columns,
    )  # fmt: skip


def view(*sites: CallSite, is_emulated: bool = False) -> RooflineView:
    device = Device(name="d", target=Target(slug="x86-64"))
    roofs = Roofs(
        RoofSet(device=device, is_emulated=is_emulated),
        {"float32": roof_of(compute(ms=10)), "bfloat16": roof_of(compute(ms=5))},
        {"L2": roof_of(memory(level="L2", ms=2)), "memory": roof_of(memory(ms=20))},
    )
    groups = groups_in(sites, 0, "float32", NetworkWork(document()))
    return RooflineView("", roofs, None, calls_under(groups, roofs))


def test_area_shows_the_share_and_every_call_is_in_the_table() -> None:
    made = checked(
        chart.roofline(
            view(
                site(0, 40_000, 0, precision="bfloat16"),
                site(1, 10_000, 1, precision="float32"),
                site(2, 50_000, 2),
            )
        )
    )
    (mark,) = marks(made)
    assert mark["id"] == "0"
    assert mark["symbolSize"] == 46.0
    assert len(made.rows) == 3
    assert "2 of 3 calls have no multiply-adds" in made.caption
    names = [key.name for key in made.keys]
    assert any(name.startswith("memory, 10.1 GB/s") for name in names)
    assert any(name.startswith("bfloat16, ") for name in names)
    assert not any(name.startswith("float32, ") for name in names)


def test_the_ceiling_begins_at_the_ridge() -> None:
    made = checked(chart.roofline(view(site(0, 40_000, 0, precision="float32"))))
    ceiling = next(one for one in made.option["series"] if one["id"].startswith("float32"))
    slope = next(one for one in made.option["series"] if one["id"].startswith("memory"))
    assert ceiling["data"][0] == pytest.approx(slope["data"][1], abs=1e-3)


def test_calls_above_the_roof_are_said() -> None:
    made = checked(chart.roofline(view(site(0, 1, 0, precision="float32"))))
    assert "1 call lies above the roof" in made.caption
    assert any("above the roof" in text for text in marks(made)[0]["tip"])
    assert series(made, "calls float32")["data"]


def test_emulated_roofs_are_said() -> None:
    made = checked(chart.roofline(view(site(0, 9000, 0), is_emulated=True)))
    assert "emulated" in made.caption


def test_without_work_there_is_no_chart() -> None:
    assert chart.roofline(view(site(0, 1000, 2))) is None
    assert chart.roofline(RooflineView("no profile")) is None
