"""OpenVINO keeps the contract."""

import pytest

from workers.backends.openvino.backend import OpenVinoBackend
from workers.testing.compiler_contract import CompilerContract


@pytest.mark.slow
class TestOpenVino(CompilerContract):
    backend = OpenVinoBackend
    heavy = ("openvino", "nncf")
    # Its int8, which takes seconds each time, has tests of its own.
    sampled = 0
