"""A processor with fewer instructions: builds for its target use only these."""

from contextlib import closing
from pathlib import Path

import pytest

from examples.emulated.enter import interpreter
from hpcfair.isolation.limits import Limits
from tests.emulated.machines import run_json
from tests.programs import needs
from workers.backends import registry
from workers.engine.errors import CandidateFailed
from workers.engine.local import LocalDevice
from workers.engine.othermachine import OtherMachine
from workers.engine.random_inputs import random_inputs
from workers.engine.requests import TuningRequest
from workers.engine.types import Network, TargetSpec
from workers.testing import networks

pytestmark = [needs("x86-64-v3"), needs("emulation"), pytest.mark.slow]

LIMITS = Limits(wall_s=600.0)
AVX2 = frozenset({"avx2", "f16c", "fma", "sse4_2"})
MASKED = TargetSpec("x86-64-avx2-emulated", "x86-64", AVX2, 2, None)
WIDE = TargetSpec("x86-64-avx512", "x86-64", AVX2 | {"avx512f", "avx512bw"}, 2, None)


@pytest.mark.parametrize(
    ("name", "slug"),
    [("x86-64-v3", "x86-64-avx2-emulated"), ("x86-64-v2", "x86-64-baseline-emulated")],
)
def test_it_reports_only_features_of_the_masked_processor(name: str, slug: str) -> None:
    facts = run_json(name, "facts")
    assert facts["machine"]["is_emulated"] is True
    assert facts["target"]["slug"] == slug
    features = facts["machine"]["features"]
    assert not [feature for feature in features if feature.startswith(("avx512", "amx"))]
    assert ("avx2" in features) is (name == "x86-64-v3")


def run_there(network: Network, target: TargetSpec, folder: Path) -> None:
    """Build for a target here, run on the masked processor."""
    backends, _ = registry.available(target, ["tvm"], {"onnx"})
    request = TuningRequest(network, target, ("tvm",), limits=LIMITS)
    (folder / "scratch").mkdir()
    inputs = random_inputs(network, 3)
    there = OtherMachine(interpreter("x86-64-v3", folder), frozenset({"tvm"}))
    with LocalDevice(request, backends, folder / "scratch", other=there) as device:
        options = {**backends["tvm"].default(network, target), "shapes": "fixed"}
        build = device.build("tvm", options)
        assert build.outcome == "measured", build.detail
        with closing(device.open("tvm", build, "candidate", inputs)) as session:
            session.run(inputs)


@needs("tvm")
def test_a_build_for_the_target_uses_no_other_instructions(tmp_path: Path) -> None:
    run_there(networks.write(networks.residual_cnn(), tmp_path / "model"), MASKED, tmp_path)


@needs("tvm")
def test_a_build_with_other_instructions_is_stopped(tmp_path: Path) -> None:
    network = networks.write(networks.residual_cnn(), tmp_path / "model")
    with pytest.raises(CandidateFailed) as caught:
        run_there(network, WIDE, tmp_path)
    assert caught.value.outcome == "crash"
