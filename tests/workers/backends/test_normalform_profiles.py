"""Profiles of builds from a normal form link calls to nodes of the published graph."""

from pathlib import Path

import onnx
import pytest

from tests.programs import needs
from tests.workers.backends import graphs
from workers.backends import registry
from workers.backends.normalform import NORMALISER
from workers.engine.local import LocalDevice
from workers.engine.normalform import PROVENANCE
from workers.engine.random_inputs import random_inputs
from workers.engine.requests import TuningRequest
from workers.engine.types import Options
from workers.testing import networks
from workers.testing.backend_contract import this_target

pytestmark = pytest.mark.slow

CONVERTING: dict[str, Options] = {
    "onnxruntime": {"default": False, "precision": "float32", "graph_optimization": "all"},
    "openvino": {"precision": "float32"},
    "tvm": {"passes": "default"},
}


@pytest.mark.parametrize(
    "name", ["onnxruntime", "openvino", pytest.param("tvm", marks=needs("cc"))]
)
def test_calls_are_linked_to_published_nodes(tmp_path: Path, name: str) -> None:
    steps = ["product", "call", "centre", "product", "reshape", "scale", "sum", "relu"]
    model = graphs.chain(steps, 17)
    network = networks.write(model, tmp_path / "model")
    backend, target = registry.get(name), this_target()
    space = backend.space(network, target)
    options = next(each for each in space.enumerate() if CONVERTING[name].items() <= each.items())
    for folder in ("scratch", "code"):
        (tmp_path / folder).mkdir()
    request = TuningRequest(network, target, (name,), normaliser=NORMALISER)
    with LocalDevice(request, {name: backend}, tmp_path / "scratch") as device:
        build = device.build(name, options)
        assert build.outcome == "measured", build.detail
        assert build.provenance[PROVENANCE] == {"steps": ["functions", "constants"], "skipped": {}}
        assert "onnxscript" in build.toolchain
        inputs = random_inputs(network, 0)
        profile = device.profile(name, build, inputs, tmp_path / "code")
    nodes = onnx.load(network.model_path).graph.node
    linked = {link.index for site in profile.call_sites for link in site.nodes}
    computed = {i for i, node in enumerate(nodes) if node.op_type in {"MatMul", "Twice", "Relu"}}
    assert computed <= linked
    assert linked | set(profile.folded) <= set(range(len(nodes)))
    constants = {i for i, node in enumerate(nodes) if node.op_type == "Constant"}
    assert constants <= set(profile.folded)
