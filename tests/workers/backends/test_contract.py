"""The fake backend and ONNX Runtime keep the contract; each other backend has a file like this."""

import pytest

from workers.backends.fake.backend import FakeBackend
from workers.backends.onnxruntime.backend import OnnxRuntimeBackend
from workers.testing.backend_contract import BackendContract
from workers.testing.compiler_contract import CompilerContract


@pytest.mark.slow
class TestOnnxRuntime(CompilerContract):
    backend = OnnxRuntimeBackend
    heavy = ("onnxruntime", "onnx")


class TestFake(BackendContract):
    backend = FakeBackend
    sampled = 2
