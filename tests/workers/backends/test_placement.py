"""The calling thread is placed in confined child processes as well."""

from contextlib import closing
from pathlib import Path

import pytest

from tests.programs import needs
from workers.backends.onnxruntime.backend import OnnxRuntimeBackend
from workers.engine.clock import SystemClock
from workers.engine.local import LocalDevice
from workers.engine.measure import measure_into
from workers.engine.requests import TuningRequest
from workers.engine.rounds import Rounds, StopRule
from workers.engine.testset import make_test_set
from workers.testing import networks
from workers.testing.backend_contract import this_target

pytestmark = needs("processors")


@pytest.mark.slow
def test_a_measurement_in_confined_children_places_the_baseline_and_says_so(tmp_path: Path) -> None:
    """Neither Landlock nor the system-call filter may keep a child from its threads' affinities.
    ONNX Runtime pins no workers of a build that states their number."""
    backend, target = OnnxRuntimeBackend(), this_target()
    network = networks.write(networks.mlp(), tmp_path / "model")
    request = TuningRequest(network, target, (backend.name,))
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    timing = make_test_set(network, {}, 0).timing
    default = backend.default(network, target)
    reference = backend.reference(network, target)
    rule = StopRule(half_width=1.0, seconds=1.0, rounds=1)
    rounds = Rounds()
    with LocalDevice(request, {backend.name: backend}, scratch) as device:
        builds = [device.build(backend.name, options) for options in (default, reference)]
        assert [build.outcome for build in builds] == ["measured"] * 2, builds
        with (
            closing(device.open(backend.name, builds[0], "baseline", timing)) as one,
            closing(device.open(backend.name, builds[1], "candidate", timing)) as other,
        ):
            measure_into(rounds, one, other, rule, SystemClock())
        assert device.isolation == "landlock+seccomp"
    assert "threads" in builds[1].runtime_options
    protocol = rounds.measurement(rule).protocol
    assert protocol["caller_placed"] == {"baseline": True, "candidate": False}
