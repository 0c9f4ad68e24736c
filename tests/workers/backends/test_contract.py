"""Every backend of ours keeps the contract."""

import pytest

from workers.backends.fake.backend import FakeBackend
from workers.backends.onnxruntime.backend import OnnxRuntimeBackend
from workers.backends.openvino.backend import OpenVinoBackend
from workers.testing.backend_contract import BackendContract
from workers.testing.compiler_contract import CompilerContract


@pytest.mark.slow
class TestOnnxRuntime(CompilerContract):
    backend = OnnxRuntimeBackend
    heavy = ("onnxruntime", "onnx")


@pytest.mark.slow
class TestOpenVino(CompilerContract):
    backend = OpenVinoBackend
    heavy = ("openvino", "nncf")
    sampled = 1


class TestFake(BackendContract):
    backend = FakeBackend
    sampled = 2
