"""Running a model on its test tensors: what comes out is judged as the hub judges its builds."""

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper
from typer.testing import CliRunner, Result

from hpcfair import cli
from hpcfair.client import Client
from hpcfair.errors import BadInput, MissingPackage

X = np.arange(8, dtype=np.float32).reshape(2, 4)
#: What the tiny network makes of it.
Y = np.repeat(X.sum(axis=1, keepdims=True) * np.float32(0.5), 3, axis=1)
TESTS = "/api/v1/models/lab/tiny/tests"


@pytest.fixture
def tests(hub: Any, resolution: dict[str, Any]) -> Callable[..., None]:
    """Lets the hub have one test set of these tensors."""

    def have(y: Any = Y, x: Any = X, **columns: Any) -> None:
        tensors = []
        for side, name, value in (("input", "x", x), ("output", "y", y)):
            tensor = value if isinstance(value, TensorProto) else numpy_helper.from_array(value)
            path = f"test_data_set_0/{side}_0.pb"
            kept = hub.keep(tensor.SerializeToString(), path)
            tensors.append({"side": side, "index": 0, "name": name, **kept})
        one = {"number": 0, "is_made": True, "tensors": tensors} | columns
        hub.on("GET", TESTS, {"revision": resolution["revision"], "sets": [one]})

    return have


@pytest.fixture
def run(client: Client) -> Callable[..., Result]:
    """Runs the command with the fake hub."""
    runner = CliRunner()
    return lambda *words: runner.invoke(cli.app, [*words], obj=client)


def test_a_build_that_gives_the_tests_outputs_is_reproduced(
    hub: Any, client: Client, resolution: dict[str, Any], tests: Callable[..., None]
) -> None:
    tests()

    found = client.reproduce("lab/tiny")

    assert found.reproduced
    assert (found.cases, found.is_made) == (1, True)
    assert found.build is not None
    assert found.deviation["max_relative"] < 1e-6
    assert "Reproduced" in str(found)
    assert dict(hub.calls("GET", TESTS)[0].url.params) == {"revision": resolution["revision"]}


@pytest.mark.parametrize(
    ("y", "says"),
    [
        (Y * 1.1, "more than exact allows"),
        (Y[:1], "shape (2, 3), not (1, 3)"),
        (np.where(Y > 8, np.float32("nan"), Y), "not finite"),
    ],
)
def test_a_build_that_gives_something_else_differs(
    client: Client, tests: Callable[..., None], y: Any, says: str
) -> None:
    tests(y.astype(np.float32))

    found = client.reproduce("lab/tiny")

    assert (found.outcome, found.reproduced) == ("differs", False)
    assert says in found.detail


def test_what_the_defaults_stray_a_build_may_stray_too(
    client: Client, tests: Callable[..., None]
) -> None:
    # Both the build and the plain model are this far from what was published.
    tests(Y * np.float32(1.001))

    assert client.reproduce("lab/tiny").reproduced


def test_the_plain_model_is_judged_as_float16_would_be(
    client: Client, resolution: dict[str, Any], tests: Callable[..., None]
) -> None:
    resolution.update(build=None)
    tests(Y * np.float32(1.001))

    found = client.reproduce("lab/tiny", target=None)

    assert (found.build, found.reproduced) == (None, True)
    assert "the plain model" in str(found)


def test_inputs_that_the_model_does_not_take_are_told(
    client: Client, tests: Callable[..., None]
) -> None:
    tests(x=X[:, :3])

    with pytest.raises(BadInput):
        client.reproduce("lab/tiny")


def test_without_test_tensors_there_is_nothing_to_reproduce(
    hub: Any, client: Client, resolution: dict[str, Any]
) -> None:
    hub.on("GET", TESTS, {"revision": resolution["revision"], "sets": []})

    with pytest.raises(BadInput, match="no test tensors"):
        client.reproduce("lab/tiny")


def external() -> TensorProto:
    tensor = numpy_helper.from_array(X)
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="/etc/passwd")
    return tensor


@pytest.mark.parametrize(
    "tensor", [external(), onnx.TensorProto(data_type=99, dims=[2]), TensorProto(dims=[2])]
)
def test_a_tensor_that_is_none_is_refused(
    client: Client, tests: Callable[..., None], tensor: TensorProto
) -> None:
    tests(x=tensor)

    with pytest.raises(BadInput, match=r"input_0\.pb"):
        client.reproduce("lab/tiny")


def test_without_the_package_that_reads_tensors_it_is_named(
    client: Client, tests: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    tests()
    monkeypatch.setitem(sys.modules, "onnx", None)

    with pytest.raises(MissingPackage, match=r"hpcfair\[run\]"):
        client.reproduce("lab/tiny")


def test_the_command_ends_with_status_8_where_outputs_differ(
    run: Callable[..., Result], tests: Callable[..., None]
) -> None:
    tests()
    good = run("reproduce", "lab/tiny")
    assert (good.exit_code, "Reproduced: it gives" in good.stdout) == (0, True)

    tests(Y * 2)
    bad = run("reproduce", "lab/tiny", "--json")

    assert bad.exit_code == 8
    told = json.loads(bad.stdout)
    assert (told["outcome"], told["name"], told["cases"]) == ("differs", "lab/tiny", 1)
    assert told["build"]["backend"] == "onnxruntime"
