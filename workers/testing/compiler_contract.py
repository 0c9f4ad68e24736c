"""Contract of backends that compile ONNX networks. Subclass like :class:`BackendContract`."""

from contextlib import closing
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

from hpcfair.runtimes.base import TensorInfo
from hpcfair.signature import Signature
from workers.engine.errors import CandidateFailed
from workers.engine.ports import Array
from workers.engine.testset import make_test_set
from workers.engine.types import Network, Options, TargetSpec
from workers.testing import networks
from workers.testing.backend_contract import SEED
from workers.testing.bad_input_contract import BadInputContract
from workers.testing.builds import assert_close


class CompilerContract(BadInputContract):
    """Additional contract of backends that compile ONNX networks.

    Attributes:
        default_error: Largest relative and absolute error of the backend's defaults on a small
            network; ``None`` for rounding of float32.
    """

    default_error: ClassVar[float | None] = None

    @pytest.mark.parametrize("domain", ["", "ai.nobody"])
    def test_an_unknown_operator_is_named(
        self, target: TargetSpec, tmp_path: Path, domain: str
    ) -> None:
        failure = self.attempt(networks.with_operator("Abracadabra", domain), target, tmp_path)
        assert failure is not None
        assert failure.outcome == "invalid"
        assert "Abracadabra" in str(failure)

    @pytest.mark.parametrize("damage", ["empty", "truncated", "text"])
    def test_a_broken_file_is_an_invalid_candidate(
        self, target: TargetSpec, tmp_path: Path, damage: str
    ) -> None:
        whole = networks.mlp().SerializeToString()
        broken = {"empty": b"", "truncated": whole[: len(whole) // 2], "text": b"hello, world"}
        failure = self.attempt(broken[damage], target, tmp_path)
        assert failure is not None
        assert failure.outcome == "invalid"
        assert str(tmp_path) not in str(failure)

    def test_external_data_travels_with_the_build(self, target: TargetSpec, tmp_path: Path) -> None:
        inside = networks.write(networks.mlp(), tmp_path / "inside/model")
        outside = networks.write(networks.mlp(), tmp_path / "outside/model", external_data="data")
        for options in self.candidates(inside, target):
            expected = self._outputs(inside, target, options, tmp_path / "inside")
            outputs = self._outputs(outside, target, options, tmp_path / "outside")
            assert_close(outputs, expected)

    def _outputs(
        self, network: Network, target: TargetSpec, options: Options, folder: Path
    ) -> Array:
        """The first output of a build that is opened after its network was removed."""
        backend = self.backend()
        inputs = make_test_set(network, {}, SEED).timing
        with self.device_for(network, target, folder) as device:
            build = device.build(backend.name, options)
            assert build.outcome == "measured", (options, build.detail)
            hidden = network.model_path.parent.rename(folder / "hidden")
            with closing(device.open(backend.name, build, "candidate", inputs)) as session:
                outputs = session.run(inputs)
            hidden.rename(network.model_path.parent)
        return next(iter(outputs.values()))

    def test_outputs_have_names_order_types_and_shapes_of_the_signature(
        self, target: TargetSpec, tmp_path: Path
    ) -> None:
        model = networks.labelled()
        inputs = {"x": np.linspace(-1, 1, 24, dtype=np.float32).reshape(3, 8)}
        expected = ReferenceEvaluator(model).run(None, inputs)
        network = networks.write(model, tmp_path / "model")
        backend = self.backend()
        with self.device_for(network, target, tmp_path) as device:
            build = device.build(backend.name, backend.default(network, target))
            with closing(device.open(backend.name, build, "candidate", {})) as session:
                outputs = session.run(inputs)
        sides = (
            tuple(TensorInfo(spec.name, spec.dtype, spec.shape) for spec in specs)
            for specs in (network.inputs, network.outputs)
        )
        arranged = Signature(*sides).arrange(outputs)
        assert list(arranged) == ["scores", "label"]
        for array, right in zip(arranged.values(), expected, strict=True):
            assert (array.dtype, array.shape) == (right.dtype, right.shape)
            if self.default_error is None:
                assert_close(array, right)
            else:
                error = self.default_error
                np.testing.assert_allclose(array, right, rtol=error, atol=error)

    def test_open_dimensions_take_any_size(self, target: TargetSpec, tmp_path: Path) -> None:
        network = networks.write(networks.transformer(), tmp_path / "model")
        backend = self.backend()
        with self.device_for(network, target, tmp_path) as device:
            build = device.build(backend.name, backend.default(network, target))
            with closing(device.open(backend.name, build, "candidate", {})) as session:
                for rows, length in ((1, 1), (3, 7), (2, 64)):
                    ids = np.ones((rows, length), np.int64)
                    assert session.run({"ids": ids})["scores"].shape == (rows, 10)

    def test_an_empty_batch_works_or_fails_in_its_class(
        self, target: TargetSpec, tmp_path: Path
    ) -> None:
        network = networks.write(networks.mlp(), tmp_path / "model")
        backend = self.backend()
        with self.device_for(network, target, tmp_path) as device:
            build = device.build(backend.name, backend.default(network, target))
            with closing(device.open(backend.name, build, "candidate", {})) as session:
                try:
                    shape = session.run({"x": np.zeros((0, 8), np.float32)})["scores"].shape
                except CandidateFailed as failure:
                    shape = (0, 10) if failure.outcome in {"invalid", "crash"} else ()
            assert shape == (0, 10)
            assert (
                device.build(backend.name, backend.default(network, target)).outcome == "measured"
            )
