"""Programs and commands that the pages show to be copied. Pure functions.

Each snippet is complete: together with the ones before it in its group it runs in a new environment
that has nothing but Python. ``tests/snippets`` runs them.
"""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from hub.pages.examplerun import example_run
from registry.scenarios import Scenario
from registry.selectors.results.speed import InputShape
from registry.states import ToleranceClass

#: Runtime of a build to the extra of the package ``hpcfair`` that installs it.
EXTRAS = {
    "onnxruntime": "run",
    "onnxruntime_cuda": "cuda",
    "tensorrt": "tensorrt",
    "openvino": "openvino",
    "litert": "litert",
    "torch": "torch",
    "torch_cuda": "torch",
    "tvm": "tvm",
    "tvm_cuda": "tvm",
}
#: The runtime of the published network.
PLAIN_RUNTIME = "onnxruntime"
#: Calls of many samples, by scenario.
_CALLS: Mapping[str, tuple[str, ...]] = {
    Scenario.OFFLINE: ("for y in m.map([x, x]):  # any number of samples", "    print(y)"),
    Scenario.MULTI_STREAM: ("for y in m.map([x] * 8):  # a query of eight", "    print(y)"),
}


@dataclass(frozen=True, slots=True)
class Snippet:
    """Text to copy.

    Attributes:
        title: Where it is entered.
        language: ``sh`` for commands of a terminal.
    """

    title: str
    language: Literal["sh", "python"]
    text: str


def load(
    hub_url: str,
    name: str,
    *,
    revision: str = "",
    runtime: str = PLAIN_RUNTIME,
    limits: Mapping[str, str | float] | None = None,
    inputs: Sequence[InputShape] = (),
    scenario: str = Scenario.SINGLE_STREAM,
    sign_in: bool = False,
) -> list[Snippet]:
    """Load a model with the client and run it.

    Args:
        name: ``namespace/name``.
        revision: Branch, tag or commit id; "" for the default branch.
        runtime: Of the build that is to be loaded.
        limits: Arguments that the build needs: ``tolerance``, a class or the largest relative
            error, or ``min_accuracy``.
        inputs: Example inputs; without them, the model is loaded and not run.
        scenario: In those of queries, many samples are run.
        sign_in: Whether strangers may not load it.
    """
    options = [_quoted(name)]
    if revision:
        options.append(f"revision={_quoted(revision)}")
    for argument, limit in (limits or {}).items():
        if limit != ToleranceClass.EXACT:
            value = _quoted(limit) if isinstance(limit, str) else limit
            options.append(f"{argument}={value}")
    if scenario != Scenario.SINGLE_STREAM:
        options.append(f"scenario={_quoted(scenario)}")
    call = f"m = hpcfair.load({', '.join(options)})"
    run = example_run(inputs, _CALLS.get(scenario, ("y = m(x)",)))
    numpy = ["import numpy as np"] if any("np." in line for line in run) else []
    lines = ["import hpcfair", *numpy, "", call, *run]
    lines.append("print(m.explain())  # what was loaded, and why")
    return [
        Snippet("Terminal", "sh", _lines(*setup(hub_url, runtime, sign_in=sign_in))),
        Snippet("Python", "python", _lines(*lines)),
    ]


def command(
    hub_url: str,
    name: str,
    *,
    revision: str = "",
    runtime: str = PLAIN_RUNTIME,
    tolerance: str = ToleranceClass.EXACT,
    sign_in: bool = False,
) -> list[Snippet]:
    """Load a model by the command line; the other arguments are those of :func:`load`.

    Args:
        tolerance: The class that the build needs.
    """
    words = ["hpcfair", "load", name]
    if revision:
        words += ["--revision", revision]
    if tolerance != ToleranceClass.EXACT:
        words += ["--tolerance", str(tolerance)]
    lines = [*setup(hub_url, runtime, sign_in=sign_in), shlex.join(words)]
    return [Snippet("Terminal", "sh", _lines(*lines))]


def reproduce(
    hub_url: str, name: str, *, revision: str = "", sign_in: bool = False
) -> list[Snippet]:
    """Run a model's builds on its test tensors; the arguments are those of :func:`load`."""
    words = ["hpcfair", "reproduce", name, *(["--revision", revision] if revision else [])]
    lines = setup(hub_url, PLAIN_RUNTIME, sign_in=sign_in)
    return [Snippet("Terminal", "sh", _lines(*lines, shlex.join(words)))]


def tune(
    hub_url: str, name: str, *, target: str, budget_s: float, revision: str = ""
) -> list[Snippet]:
    """Search for builds on a target for ``budget_s`` seconds, for those who may write to the model;
    the other arguments are those of :func:`load`."""
    words = ["hpcfair", "tune", name, "--target", target, "--budget", f"{budget_s:.0f}s"]
    words += ["--revision", revision] if revision else []
    lines = setup(hub_url, PLAIN_RUNTIME, sign_in=True)
    return [Snippet("Terminal", "sh", _lines(*lines, shlex.join(words)))]


def measure_again(
    hub_url: str, record_id: str, *, runtime: str = PLAIN_RUNTIME, sign_in: bool = False
) -> list[Snippet]:
    """Repeat the measurement of a record on the reader's machine.

    Args:
        runtime: Of the build that was measured; the defaults beside it need the plain runtime.
        sign_in: Whether strangers may not read the record.
    """
    lines = setup(hub_url, runtime, PLAIN_RUNTIME, sign_in=sign_in)
    return [Snippet("Terminal", "sh", _lines(*lines, f"hpcfair bench reproduce {record_id}"))]


def push(hub_url: str, name: str) -> list[Snippet]:
    """Upload the folder ``files`` by the command line, which resumes."""
    lines = setup(hub_url, PLAIN_RUNTIME, sign_in=True)
    words = ["hpcfair", "push", "./files", name]
    return [Snippet("Terminal", "sh", _lines(*lines, shlex.join(words)))]


def publish(hub_url: str, name: str) -> list[Snippet]:
    """Publish a network with the client."""
    python = _lines(
        "import hpcfair",
        "",
        "hpcfair.save(",
        '    "model.onnx",',
        f"    {_quoted(name)},",
        '    card={"license": "apache-2.0"},',
        ")",
    )
    return [
        Snippet("Terminal", "sh", _lines(*setup(hub_url, PLAIN_RUNTIME, sign_in=True))),
        Snippet("Python", "python", python),
    ]


def setup(hub_url: str, *runtimes: str, sign_in: bool = False) -> list[str]:
    """Commands that install the client for builds of runtimes, with what verifies their signatures,
    and point it at the hub."""
    extras = {EXTRAS.get(runtime, "run") for runtime in runtimes}
    # The extra ``run`` contains what verifies.
    names = ",".join(sorted(extras if "run" in extras else {*extras, "verify"}))
    lines = [f"pip install 'hpcfair[{names}]'", f"export HPCFAIR_URL={shlex.quote(hub_url)}"]
    return [*lines, "hpcfair login"] if sign_in else lines


def download(
    hub_url: str,
    name: str,
    *,
    revision: str = "",
    library: str = "",
    is_dataset: bool = False,
    sign_in: bool = False,
) -> list[Snippet]:
    """Fetch the published files in Python with a library of Hugging Face.

    Args:
        library: Of the model's card: ``transformers`` loads with that library.
        sign_in: Whether strangers may not fetch them.
    """
    options = _quoted(name) + (f", revision={_quoted(revision)}" if revision else "")
    if is_dataset:
        package = "datasets"
        text = ("from datasets import load_dataset", "", f"data = load_dataset({options})")
    elif library == "transformers":
        package = "transformers torch"
        text = (
            "from transformers import AutoModel",
            "",
            f"m = AutoModel.from_pretrained({options})",
        )
    else:
        package = "huggingface_hub"
        text = (
            "from huggingface_hub import snapshot_download",
            "",
            f"folder = snapshot_download({options})",
        )
    return [
        Snippet("Terminal", "sh", _lines(*_endpoint(hub_url, package, sign_in=sign_in))),
        Snippet("Python", "python", _lines(*text)),
    ]


def hf(
    hub_url: str,
    name: str,
    *,
    revision: str = "",
    is_dataset: bool = False,
    sign_in: bool = False,
) -> list[Snippet]:
    """Fetch the published files by the command ``hf``."""
    words = ["hf", "download", name]
    words += ["--repo-type", "dataset"] if is_dataset else []
    words += ["--revision", revision] if revision else []
    lines = [*_endpoint(hub_url, "huggingface_hub", sign_in=sign_in), shlex.join(words)]
    return [Snippet("Terminal", "sh", _lines(*lines))]


def git(clone_url: str) -> list[Snippet]:
    """Clone the repository."""
    return [
        Snippet("Terminal", "sh", _lines("git lfs install", f"git clone {shlex.quote(clone_url)}"))
    ]


def _endpoint(hub_url: str, package: str, *, sign_in: bool) -> list[str]:
    lines = [f"pip install {package}", f"export HF_ENDPOINT={shlex.quote(hub_url)}"]
    return [*lines, "hf auth login"] if sign_in else lines


def _quoted(text: str) -> str:
    """A string literal of Python."""
    return json.dumps(text, ensure_ascii=False)


def _lines(*lines: str) -> str:
    return "\n".join(lines)
