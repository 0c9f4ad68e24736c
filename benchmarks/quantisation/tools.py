"""The tools: what is installed for each, and the builds that it is asked for."""

import json
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.quantisation.exchange import Inputs, write_inputs
from benchmarks.report import say
from tests.environments import Environments
from workers.engine.samples import held_out_samples, rows_per_run
from workers.engine.types import BuildResult, Network, Options

_ROOT = Path(__file__).resolve().parent.parent.parent
#: A build that takes longer counts as none.
_WALL_S = 300.0
_DESCRIPTION = "build.json"


@dataclass(frozen=True, slots=True)
class Tool:
    """A quantisation tool.

    Attributes:
        requirements: What is installed in its environment.
        runtime: The one that its documentation recommends on CPUs.
        ways: Names of the builds that it is asked for.
        labelled: Those that need labels.
    """

    requirements: tuple[str, ...]
    runtime: str
    ways: tuple[str, ...]
    labelled: tuple[str, ...] = ()


TOOLS = {
    "nncf": Tool(
        ("nncf==3.4.0", "openvino==2026.4.1"),
        "openvino",
        ("published", "quantize", "within_error"),
        ("within_loss",),
    ),
    # Olive imports requests and does not require it.
    "olive": Tool(
        ("olive-ai==0.13.0", "onnxruntime==1.31.1", "torch==2.13.0", "requests==2.34.2"),
        "onnxruntime",
        ("static", "per_channel", "dynamic"),
    ),
    "modelopt": Tool(
        ("nvidia-modelopt[onnx]==0.47.0", "torch==2.13.0"), "onnxruntime", ("entropy", "max")
    ),
}
ENVIRONMENTS = Environments(
    _ROOT / ".quantisers", {name: tool.requirements for name, tool in TOOLS.items()}
)


@dataclass(frozen=True, slots=True)
class ToolBuild:
    """What a tool came to in one way.

    Attributes:
        folder: Of its files.
        entry_point: The file that the runtime opens; empty without a build.
        seconds: Wall time, with the start of its process.
        detail: Why there is no build.
    """

    tool: str
    way: str
    folder: Path
    entry_point: str
    seconds: float
    detail: str = ""

    def opened(self, options: Options) -> BuildResult:
        """As the engine opens it in the tool's runtime."""
        return BuildResult(
            "measured",
            directory=self.folder,
            entry_point=self.entry_point,
            runtime=TOOLS[self.tool].runtime,
            runtime_options=options,
            tolerance="int8",
        )


def builds_of(tool: str, network: Network, folder: Path) -> list[ToolBuild]:
    """All builds of ``tool``, made now unless they are in ``folder``."""
    runs, labels = calibration_runs(network)
    inputs = folder / "inputs.npz"
    if not inputs.exists():
        folder.mkdir(parents=True, exist_ok=True)
        write_inputs(inputs, runs, labels)
    ways = TOOLS[tool].ways + (TOOLS[tool].labelled if labels is not None else ())
    return [_build(tool, way, network, inputs, folder / tool / way) for way in ways]


def calibration_runs(network: Network) -> tuple[list[Inputs], Any]:
    """The samples that our own builds are calibrated with, one by one, and their labels.

    Raises ValueError if the network has none: random inputs calibrate nothing worth comparing.
    """
    if network.samples_path is None:
        raise ValueError("the network has no samples")
    samples, _ = held_out_samples(network)
    batch = rows_per_run(network, samples)
    rows = min(map(len, samples.values())) // batch * batch
    runs = [
        {spec.name: samples[f"inputs/{spec.name}"][at : at + batch] for spec in network.inputs}
        for at in range(0, rows, batch)
    ]
    return runs, samples.get("labels")


def _build(tool: str, way: str, network: Network, inputs: Path, folder: Path) -> ToolBuild:
    description = folder / _DESCRIPTION
    if not description.exists():
        folder.mkdir(parents=True, exist_ok=True)
        started = perf_counter()
        answer = _answer(tool, [way, str(network.model_path), str(inputs), str(folder)], network)
        answer["seconds"] = perf_counter() - started
        say(f"{tool} {way}: {answer['seconds']:.0f} s {answer.get('detail', '')}")
        # Written last: a run may be interrupted at any moment.
        description.write_text(json.dumps(answer))
    answer = json.loads(description.read_text())
    entry_point, detail = answer.get("entry_point", ""), answer.get("detail", "")
    return ToolBuild(tool, way, folder, entry_point, answer["seconds"], detail)


def _answer(tool: str, arguments: Sequence[str], network: Network) -> dict[str, Any]:
    """What the tool's script says, or ``detail``, why it failed."""
    python = ENVIRONMENTS.python_of(tool)
    is_transformer = network.architecture_class == "transformer"
    command = [
        *(str(python), "-m", f"benchmarks.quantisation.with_{tool}"),
        *(*arguments, *(["--transformer"] if is_transformer else [])),
    ]
    # A home of its own, so that no settings or caches of this user count.
    variables = {
        "PATH": f"{python.parent}:/usr/bin:/bin",
        "HOME": arguments[-1],
        "OLIVE_DISABLE_TELEMETRY": "1",
    }
    try:
        done = subprocess.run(
            command,
            cwd=_ROOT,
            env=variables,
            capture_output=True,
            text=True,
            check=False,
            timeout=_WALL_S,
        )
    except subprocess.TimeoutExpired:
        return {"detail": f"it takes over {_WALL_S:g} s"}
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        return {"detail": f"the process ended with {done.returncode}: {last[:400]}"}
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def described(build: ToolBuild) -> dict[str, Any]:
    """A build as JSON, without paths of this machine."""
    return {key: value for key, value in asdict(build).items() if key != "folder"}
