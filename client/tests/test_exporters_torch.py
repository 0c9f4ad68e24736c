"""What becomes of PyTorch modules: a program for Inductor and ONNX for everything else."""

import copy
import pickletools
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpcfair.errors import BadInput
from hpcfair.exporters.registry import export
from hpcfair.runtimes import registry as runtimes
from hpcfair.samples import add_samples

pytestmark = pytest.mark.skipif(
    not all(map(find_spec, ("torch", "onnxscript"))),
    reason="torch or onnxscript is not installed: pip install 'hpcfair[torch]'",
)


@pytest.fixture(scope="module")
def module() -> Any:
    # Not at the top: every process that collects these tests would wait seconds for it.
    import torch  # noqa: PLC0415

    class Tiny(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.first = torch.nn.Linear(4, 8)
            self.drop = torch.nn.Dropout(0.5)
            self.second = torch.nn.Linear(8, 3)

        def forward(self, x: Any) -> Any:
            return self.second(self.drop(torch.relu(self.first(x))))

    return Tiny()


@pytest.fixture(scope="module")
def files(module: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Exported once: it takes seconds."""
    scratch = tmp_path_factory.mktemp("scratch")
    x = np.zeros((1, 4), np.float32)
    return add_samples(export(module, (x,), scratch).files, (x,), None, scratch)


def test_a_module_becomes_a_program_an_onnx_file_and_samples(files: dict[str, Path]) -> None:
    assert sorted(files) == [
        "model.onnx",
        "model.pt2",
        "requirements-export.txt",
        "samples.npz",
    ]


def test_the_onnx_file_agrees_with_the_module_on_any_batch(
    files: dict[str, Path], module: Any
) -> None:
    import torch  # noqa: PLC0415

    runtime = runtimes.open("onnxruntime", files["model.onnx"], {})
    described = [(tensor.name, tensor.shape) for tensor in (*runtime.inputs, *runtime.outputs)]
    assert described == [("x", ("N", 4)), ("output", ("N", 3))]
    for rows in (1, 5):
        x = np.random.default_rng(rows).standard_normal((rows, 4)).astype(np.float32)
        with torch.no_grad():
            expected = module.eval()(torch.from_numpy(x)).numpy()
        np.testing.assert_allclose(runtime.run({"x": x})["output"], expected, atol=1e-6)


def test_the_program_loads_and_tells_nothing_of_its_author(files: dict[str, Path]) -> None:
    import torch  # noqa: PLC0415

    program = torch.export.load(files["model.pt2"])
    assert program.module()(torch.zeros(7, 4)).shape == (7, 3)
    assert b"test_exporters_torch" not in files["model.pt2"].read_bytes()
    with zipfile.ZipFile(files["model.pt2"]) as archive:
        (inner,) = [n for n in archive.namelist() if n.endswith("sample_inputs/model.pt")]
        with archive.open(inner) as stream, zipfile.ZipFile(stream) as samples:
            pickle = samples.read(next(n for n in samples.namelist() if n.endswith("data.pkl")))
    found = {
        argument for opcode, argument, _ in pickletools.genops(pickle) if "GLOBAL" in opcode.name
    }
    assert found <= {
        "torch._utils _rebuild_tensor_v2",
        "torch FloatStorage",
        "collections OrderedDict",
    }


def test_the_module_keeps_its_mode(module: Any, tmp_path: Path) -> None:
    module.train()
    module.drop.eval()
    with pytest.raises(BadInput, match="cannot be saved"):
        export(module, (np.zeros((2, 5), np.float32),), tmp_path)
    assert module.training
    assert not module.drop.training


@pytest.mark.parametrize(
    ("examples", "said"),
    [
        (None, "needs example inputs"),
        ({"z": np.zeros((1, 4), np.float32)}, "takes x; example inputs are z"),
    ],
)
def test_missing_or_unknown_examples_are_refused(
    module: Any, tmp_path: Path, examples: Any, said: str
) -> None:
    with pytest.raises(BadInput, match=said):
        export(module, examples, tmp_path)


def test_weights_that_onnx_runtime_cannot_compute_with_are_refused_with_the_remedy(
    module: Any, tmp_path: Path
) -> None:
    import torch  # noqa: PLC0415

    narrow = copy.deepcopy(module).to(torch.bfloat16)
    with pytest.raises(BadInput, match=r"bfloat16.*float"):
        export(narrow, (np.zeros((2, 4), np.float32),), tmp_path)


def test_an_argument_is_not_taken_for_another_one(tmp_path: Path) -> None:
    import torch  # noqa: PLC0415

    class Masked(torch.nn.Module):
        def forward(self, x: Any, mask: Any = None, bias: Any = 0) -> Any:
            return x + bias if mask is None else x * mask + bias

    x = np.ones((2, 4), np.float32)
    with pytest.raises(BadInput, match="takes x, mask, bias; example inputs are x, bias"):
        export(Masked(), {"x": x, "bias": x}, tmp_path)
