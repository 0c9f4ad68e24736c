"""Contract of backends for unusual, malicious and too large networks.

Such a network either gives right results or fails within the limits, with a failure class of the
candidate, and the next candidate runs.
"""

from contextlib import closing
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto
from onnx.reference import ReferenceEvaluator

from hpcfair.isolation.limits import Limits
from workers.engine.errors import CandidateFailed
from workers.engine.local import LocalDevice
from workers.engine.ports import Array
from workers.engine.requests import TuningRequest
from workers.engine.testset import make_test_set
from workers.engine.types import Network, Outcome, TargetSpec
from workers.testing import networks, odd_networks
from workers.testing.backend_contract import SEED, BackendContract

#: Failure classes of a candidate.
_CLASSED: frozenset[Outcome] = frozenset({"invalid", "crash", "timeout"})
#: Limits for networks that would take any amount of memory, disk or time.
_TIGHT = Limits(wall_s=300, memory_bytes=2 * 2**30, file_bytes=2**28)
_OLDEST, _NEWEST = 7, onnx.defs.onnx_opset_version()
_ODD = {
    "empty": odd_networks.empty,
    "NaN weights": odd_networks.of_nan,
    "strings": odd_networks.of_strings,
}


class BadInputContract(BackendContract):
    """Additional contract of backends that compile ONNX networks, for unusual networks."""

    def attempt(
        self, model: ModelProto | bytes, target: TargetSpec, folder: Path
    ) -> CandidateFailed | None:
        """The failure of building and opening the default options; ``None`` if they succeed."""
        good = model if isinstance(model, ModelProto) else networks.mlp()
        network = networks.write(good, folder / "model")
        if isinstance(model, bytes):
            network.model_path.write_bytes(model)
        backend = self.backend()
        with self.device_for(network, target, folder) as device:
            build = device.build(backend.name, backend.default(network, target))
            if build.outcome != "measured":
                return CandidateFailed(build.outcome, build.detail)
            try:
                device.open(backend.name, build, "candidate", {}).close()
            except CandidateFailed as failure:
                return failure
        return None

    def confined(self, network: Network, target: TargetSpec, folder: Path) -> LocalDevice:
        """A device with confined child processes, also if :meth:`device_for` is overridden."""
        scratch = folder / "scratch"
        scratch.mkdir(parents=True)
        backend = self.backend()
        return LocalDevice(
            TuningRequest(network, target, (backend.name,), limits=_TIGHT),
            {backend.name: backend},
            scratch,
        )

    def outputs_or_refusal(
        self, model: ModelProto, inputs: dict[str, Array], target: TargetSpec, folder: Path
    ) -> dict[str, Array] | str:
        """Outputs of the default options for ``inputs``, or the reason for refusing the network;
        raises CandidateFailed if it fails in another way."""
        network = networks.write(model, folder / "model")
        backend = self.backend()
        with self.device_for(network, target, folder) as device:
            build = device.build(backend.name, backend.default(network, target))
            if build.outcome == "invalid":
                return build.detail
            try:
                with closing(device.open(backend.name, build, "candidate", inputs)) as session:
                    return session.run(inputs)
            except CandidateFailed as failure:
                if failure.outcome != "invalid":
                    raise
                return str(failure)

    def test_control_flow_runs_rightly_or_is_refused_by_name(
        self, target: TargetSpec, tmp_path: Path
    ) -> None:
        model = odd_networks.control_flow()
        inputs: dict[str, Array] = {"x": np.array([[1, -2, 3, -4]], np.float32)}
        result = self.outputs_or_refusal(model, inputs, target, tmp_path)
        if isinstance(result, str):
            assert "Loop" in result or "If" in result
        else:
            np.testing.assert_array_equal(result["y"], [[-8, 16, -24, 32]])

    @pytest.mark.parametrize("opset", [_OLDEST, _NEWEST])
    def test_operator_sets_old_and_new_run_rightly_or_are_refused(
        self, target: TargetSpec, tmp_path: Path, opset: int
    ) -> None:
        inputs = make_test_set(
            networks.write(networks.residual_cnn(), tmp_path / "usual"), {}, SEED
        ).timing
        model = networks.residual_cnn(opset=opset)
        result = self.outputs_or_refusal(model, inputs, target, tmp_path)
        if isinstance(result, str):
            assert opset == _NEWEST, result
            assert str(opset) in result or "opset" in result.lower()
        else:
            (expected,) = ReferenceEvaluator(networks.residual_cnn()).run(None, inputs)
            scores = result["scores"].astype(np.float64)
            np.testing.assert_allclose(scores, np.asarray(expected, np.float64), 1e-3, 1e-4)

    @pytest.mark.parametrize("odd", sorted(_ODD))
    def test_odd_networks_open_or_fail_in_their_class(
        self, target: TargetSpec, tmp_path: Path, odd: str
    ) -> None:
        failure = self.attempt(_ODD[odd](), target, tmp_path)
        assert failure is None or (failure.outcome in _CLASSED and str(failure))

    def test_vast_external_data_fill_neither_disk_nor_memory(
        self, target: TargetSpec, tmp_path: Path
    ) -> None:
        network = odd_networks.write_vast(tmp_path / "model", _TIGHT.memory_bytes + 2**28)
        backend = self.backend()
        with self.confined(network, target, tmp_path) as device:
            build = device.build(backend.name, backend.default(network, target))
            assert build.outcome in {*_CLASSED, "measured"}
            sizes = [path.lstat().st_blocks * 512 for path in (tmp_path / "scratch").rglob("*")]
            assert sum(sizes) < _TIGHT.file_bytes

    def test_what_takes_more_than_all_memory_ends_and_the_next_runs(
        self, target: TargetSpec, tmp_path: Path
    ) -> None:
        network = networks.write(odd_networks.outer_product(), tmp_path / "model")
        backend = self.backend()
        huge = {"x": np.ones((2_000_000, 1), np.float32)}
        usual = make_test_set(network, {}, SEED).timing
        with (
            self.device_for(network, target, tmp_path) as builder,
            self.confined(network, target, tmp_path / "tight") as device,
        ):
            build = builder.build(backend.name, backend.default(network, target))
            if build.outcome != "measured":
                assert build.outcome == "invalid"
                return
            with closing(device.open(backend.name, build, "candidate", usual)) as session:
                with pytest.raises(CandidateFailed) as caught:
                    session.run(huge)
                assert caught.value.outcome in _CLASSED
            with closing(device.open(backend.name, build, "candidate", usual)) as session:
                assert session.run(usual)["y"].shape == (1, 1)
