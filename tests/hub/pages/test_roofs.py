"""Roofs on the pages of devices and targets, and rooflines on those of builds."""

import pytest
from django.test import Client
from onnx import ModelProto, TensorProto, helper

from registry.kernels.networkwork import CallWork
from registry.selectors.analysis.tunenext import tune_next
from registry.services.analysis.roof import roof_of
from registry.tables import Build, Device, RoofSet
from tests.hub.pages.conftest import Tuned
from tests.registry import shopfloor
from tests.registry.analysis.comparisons import published
from tests.registry.analysis.roofs import compute, rounds
from tests.registry.analysis.test_roofline import plant_roofs, plant_topology
from tests.registry.drawings import document_of, draw
from tests.registry.shopfloor import call_site

pytestmark = pytest.mark.django_db


def pages(device: Device) -> list[str]:
    return [f"/devices/{device.uuid}", f"/targets/{device.target.slug}"]


def test_roofs_are_shown_with_their_samples(client: Client) -> None:
    _, device = shopfloor.make_machine()
    plant_roofs(device)
    RoofSet.objects.update(notes=["openvino does not compute in int8 here: it crashed"])
    for address in pages(device):
        text = client.get(address).content.decode()
        assert "100 GFLOP/s" in text
        assert "400 GFLOP/s" in text
        assert "10 GB/s" in text
        assert "12 samples in 3 rounds" in text
        assert "openvino does not compute in int8 here" in text


def test_a_device_without_roofs_says_when_it_will_have_them(client: Client) -> None:
    _, device = shopfloor.make_machine()
    for address in pages(device):
        assert "in its first search or reproduction" in client.get(address).content.decode()


def test_disturbed_and_emulated_roofs_are_marked(client: Client) -> None:
    _, device = shopfloor.make_machine()
    roof_set = RoofSet.objects.create(
        device=device, tools_sha256="d" * 64, took_s=1, is_emulated=True
    )
    roof = roof_of(compute(rounds=rounds(10, is_disturbed=True)))
    roof.roof_set = roof_set
    roof.save()
    text = client.get(f"/devices/{device.uuid}").content.decode()
    assert ">disturbed<" in text
    assert ">emulated<" in text
    assert "3 disturbed" in text


def test_a_build_says_what_reaching_the_roof_would_save(client: Client) -> None:
    floor = shopfloor.floor()
    plant_roofs(floor.device)
    plant_topology(floor)
    calls = [call_site("conv", 40_000, (0, "exact"), precision="float32"),
             call_site("gemm", 60_000, (2, "exact"), operator="Gemm")]  # fmt: skip
    (default,) = published(floor, calls={"all": calls})
    text = client.get(f"/builds/{default.uuid}").content.decode()
    # Half of the 40 µs could go: a fifth of the profile, and of the latency of 4 ms.
    assert "<strong>3.20 ms</strong> instead of 4.00 ms" in text
    assert "20.0 % of the time" in text
    assert "Calls with 60.0 % of the time have unknown work" in text
    assert 'data-chart="roofline"' in text


@pytest.mark.parametrize(("precision", "width"), [("float32", 4), ("bfloat16", 2), ("int8", 1)])
def test_all_pages_agree_about_the_work_of_a_call(
    client: Client, precision: str, width: int
) -> None:
    floor = shopfloor.floor()
    plant_roofs(floor.device, precision)
    draw(floor.graph, document_of(product()))
    site = call_site("product", 40_000, (0, "exact"), (1, "exact"), precision=precision)
    (build,) = published(floor, calls={"all": [site]})
    model = floor.revision.mlmodel.full_name
    perf = client.get(f"/{model}/perf?build={build.uuid}").context
    compare = client.get(f"/compare?model={model}&build={build.uuid}").context
    (on_perf,), (on_compare,) = (
        page.view.calls for page in (perf["roofline_panel"], compare["rooflines"][0])
    )
    assert on_perf.work == on_compare.work
    # x[1, 64] and w[64, 32] in, y[1, 32] out.
    assert on_compare.work == CallWork(
        2.0 * 64 * 32, width * (64 + 64 * 32 + 32), precision, is_assumed=False
    )
    why = perf["evidence"].roofline
    assert (why.flops, why.traffic) == (on_compare.work.flops, on_compare.work.traffic)
    assert why.intensity == on_compare.intensity
    assert why == on_compare.roofline
    (opportunity,) = tune_next(None, floor.target).opportunities
    assert opportunity.headroom == pytest.approx(max(1 - why.of_roof, 0))
    api = client.get(f"/api/v1/models/{model}/performance?build={build.uuid}").json()
    assert api["groups"][0]["flops_per_s"] == pytest.approx(why.rate)


def product() -> ModelProto:
    """``relu(x w)``."""
    weight = helper.make_tensor("w", TensorProto.FLOAT, [64, 32], [0.1] * 64 * 32)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["t"]), helper.make_node("Relu", ["t"], ["y"])]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 64])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 32])
    graph = helper.make_graph(nodes, "product", [x], [y], [weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def test_a_build_without_roofs_says_why(client: Client, tuned: Tuned) -> None:
    build = Build.objects.get(is_baseline=False)
    text = client.get(f"/builds/{build.uuid}").content.decode()
    assert "No roofline. No device of x86-64-avx512 has measured its roofs yet" in text
