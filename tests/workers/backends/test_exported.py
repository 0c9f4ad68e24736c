"""Networks as PyTorch's exporter writes them: what backends refused is built, and is right."""

from contextlib import closing
from pathlib import Path

import pytest

from tests.programs import needs
from tests.workers.backends.torch_networks import export
from workers.backends import registry
from workers.backends.normalform import NORMALISER
from workers.engine.clock import SystemClock
from workers.engine.evaluation_context import EvaluationContext
from workers.engine.local import LocalDevice
from workers.engine.ports import Backend
from workers.engine.requests import TuningRequest
from workers.engine.types import Candidate, Network, Options
from workers.testing.backend_contract import this_target

pytestmark = [pytest.mark.slow, needs("torch")]

BACKENDS: dict[str, Backend] = {
    name: registry.get(name) for name in ("onnxruntime", "openvino", "tvm")
}


@pytest.fixture(scope="module")
def networks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Network]:
    folder = tmp_path_factory.mktemp("exported")
    return {name: export(name, folder / name) for name in ("transformer", "recurrent", "pooled")}


@pytest.mark.parametrize(
    ("network", "backend", "options"),
    [
        ("transformer", "onnxruntime", {"precision": "int8-dynamic"}),
        ("transformer", "onnxruntime", {"precision": "int8-static"}),
        ("recurrent", "onnxruntime", {"precision": "int8-dynamic"}),
        ("pooled", "openvino", {"precision": "float32"}),
        ("pooled", "openvino", {"precision": "int8"}),
        pytest.param("recurrent", "tvm", {}, marks=needs("cc")),
    ],
)
def test_a_network_that_was_refused_is_built_and_is_right(
    tmp_path: Path,
    networks: dict[str, Network],
    network: str,
    backend: str,
    options: Options,
) -> None:
    subject, target = networks[network], this_target()
    space = BACKENDS[backend].space(subject, target)
    chosen = next(each for each in space.enumerate() if options.items() <= each.items())
    request = TuningRequest(subject, target, (backend,), normaliser=NORMALISER)
    reference = BACKENDS[request.reference_backend]
    (tmp_path / "scratch").mkdir()
    with (
        LocalDevice(request, BACKENDS, tmp_path / "scratch") as device,
        EvaluationContext(request, reference, device, SystemClock()) as context,
    ):
        build = device.build(backend, chosen)
        assert build.outcome == "measured", build.detail
        candidate = Candidate(backend, chosen)
        with closing(context.open(candidate, build, "candidate")) as session:
            context.require(context.compare(session), build.tolerance)
