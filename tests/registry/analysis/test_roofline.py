"""Calls of a build under the roofs of its device: work, least time, and what reaching it saves."""

import gzip
import json
from typing import Any

import pytest

from registry.selectors.analysis.roofline import RooflineView, roofline_of_build
from registry.services.analysis.roof import roof_of
from registry.tables import Build, Device, MLModel, RoofSet, Topology, User
from tests import factories
from tests.registry import shopfloor
from tests.registry.analysis.comparisons import published
from tests.registry.analysis.roofs import compute, memory
from tests.registry.shopfloor import Floor, call_site

pytestmark = pytest.mark.django_db

#: Operations and bytes per second of the planted roofs.
PEAK, BANDWIDTH = 100e9, 10e9


def document() -> dict[str, Any]:
    """x[1,1000] -> Conv (1 M macs, 4 kB of weights) -> Relu -> Gemm (unknown macs) -> y."""
    return {
        "operators": ["Conv", "Relu", "Gemm"],
        "dtypes": ["float32"],
        "nodes": {
            "operator": [0, 1, 2],
            "name": ["conv", "relu", "gemm"],
            "macs": [1_000_000, 0, None],
            "inputs": [[0, 1], [2], [3, 4]],
            "outputs": [[2], [3], [5]],
        },
        "tensors": {
            "dtype": [0, 0, 0, 0, 0, 0],
            "shape": [["N", 1000], [1000], [1, 2000], [1, 2000], [100], None],
        },
        "outputs": [5],
    }


def plant_roofs(device: Device, *more: str) -> None:
    """Roofs of float32 and bfloat16, and of further precisions."""
    roof_set = RoofSet.objects.create(device=device, tools_sha256="d" * 64, took_s=1.0)
    ms = 1e3 * 2 * 4 * 512**3 / PEAK
    memory_ms = 1e3 * 3 * 64 * 2**20 / BANDWIDTH
    precisions = {"float32": ms, "bfloat16": ms / 4} | dict.fromkeys(more, ms / 8)
    arithmetic = [compute(ms=ms, precision=name) for name, ms in precisions.items()]
    for each in (*arithmetic, memory(ms=memory_ms)):
        roof = roof_of(each)
        roof.roof_set = roof_set
        roof.save()


def plant_topology(floor: Floor) -> None:
    blob = factories.store(gzip.compress(json.dumps(document()).encode()))
    Topology.objects.create(graph=floor.graph, blob=blob)


@pytest.fixture
def floor() -> Floor:
    made = shopfloor.floor()
    plant_roofs(made.device)
    plant_topology(made)
    return made


def build_with(floor: Floor, *calls: Any) -> Build:
    (default,) = published(floor, calls={"all": list(calls)})
    return Build.objects.select_related("record__device", "target").get(pk=default.pk)


def view(build: Build, actor: Any = None) -> RooflineView:
    return roofline_of_build(actor, build)


def test_a_call_is_held_against_both_roofs(floor: Floor) -> None:
    build = build_with(
        floor,
        call_site("conv", 40_000, (0, "exact"), precision="float32"),
        call_site("relu", 10_000, (1, "exact"), operator="Relu", precision="float32"),
        call_site("gemm", 50_000, (2, "exact"), operator="Gemm"),
    )
    shown = view(build)
    assert shown.refusal == ""
    conv, relu, gemm = shown.calls
    assert conv.roofline is not None
    assert relu.roofline is not None
    # 2 M operations at 100 G/s take 20 µs, 16 kB at 10 GB/s 1.6 µs.
    assert conv.roofline.least_ns == pytest.approx(20_000, rel=1e-6)
    assert conv.of_roof == pytest.approx(0.5)
    assert conv.saving_ns == pytest.approx(20_000)
    assert conv.intensity == pytest.approx(125)
    assert conv.is_memory_bound is False
    # 16 kB in and out.
    assert relu.roofline.least_ns == pytest.approx(1600, rel=1e-6)
    assert relu.intensity is None
    assert gemm.roofline is None
    assert gemm.work.is_assumed
    assert shown.unknown_share == pytest.approx(0.5)
    assert shown.saving_ns == pytest.approx(28_400, rel=1e-6)


def test_the_roof_of_the_executed_precision_applies(floor: Floor) -> None:
    build = build_with(floor, call_site("conv", 40_000, (0, "exact"), precision="bfloat16"))
    (conv,) = view(build).calls
    assert conv.roofline is not None
    assert conv.roofline.least_ns == pytest.approx(5000, rel=1e-6)
    assert not conv.work.is_assumed


def test_a_call_above_the_roof_saves_nothing(floor: Floor) -> None:
    build = build_with(floor, call_site("conv", 10_000, (0, "exact"), precision="float32"))
    shown = view(build)
    assert shown.calls[0].of_roof == pytest.approx(2.0)
    assert shown.saving_ns == 0
    assert shown.above == 1


def test_a_node_of_several_calls_is_work_of_the_longest(floor: Floor) -> None:
    build = build_with(
        floor,
        call_site("reorder", 5000, (0, "exact"), precision="float32"),
        call_site("branch", 6000, (0, "shared"), precision="float32"),
        call_site("conv", 40_000, (0, "exact"), precision="float32"),
        call_site("short", 0, (1, "exact"), precision="float32"),
    )
    reorder, branch, conv, short = view(build).calls
    assert reorder.work.flops is None
    assert branch.work.flops is None
    assert conv.work.flops == 2_000_000
    assert short.of_roof is None


def test_refusals_say_what_is_missing(floor: Floor) -> None:
    (bare,) = published(floor)
    bare = Build.objects.select_related("record__device", "target").get(pk=bare.pk)
    assert "no profile" in view(bare).refusal
    build = build_with(floor, call_site("conv", 10**18, (0, "exact")))
    assert "times that no call can take" in view(build).refusal
    Topology.objects.all().delete()
    assert "drawn" in view(Build.objects.get(pk=build.pk)).refusal
    RoofSet.objects.all().delete()
    assert "measured its roofs" in view(Build.objects.get(pk=build.pk)).refusal


def test_restricted_files_tell_nothing_of_their_network(floor: Floor) -> None:
    build = build_with(floor, call_site("conv", 40_000, (0, "exact")))
    MLModel.objects.update(gate="manual")
    build = Build.objects.get(pk=build.pk)
    stranger = factories.make_user("stranger")
    assert "restricted" in view(build, stranger).refusal
    assert view(build, User.objects.get(username="alice")).calls
