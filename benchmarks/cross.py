"""Builds that TVM makes on this machine for another processor, run on an emulated one.

``make bench NAME=cross [ARGS="--machine x86-64-v3"]`` after ``make emulated``. Each network is
compiled and linked here, runs there, and its outputs are compared with the float32 reference of
this machine on all its test inputs. Times are not reported, because they are emulated.
"""

import argparse
import tempfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from time import perf_counter

from benchmarks.networks import example
from benchmarks.report import Figure, counted, environment, report, say, spread
from examples.emulated.enter import interpreter
from hpcfair.isolation.limits import Limits
from workers.backends import registry
from workers.engine.errors import CandidateFailed, WrongOutput
from workers.engine.local import LocalDevice
from workers.engine.numerics import check, require, run_reference
from workers.engine.othermachine import OtherMachine
from workers.engine.ports import Backend
from workers.engine.requests import TuningRequest
from workers.engine.types import Network, TargetSpec

#: Targets of the emulated machines, with their features.
TARGETS = {
    "arm64": TargetSpec(
        "arm64-neoverse-n1-emulated", "arm64", frozenset({"asimd", "asimddp", "asimdhp"}), 2, None
    ),
    "x86-64-v3": TargetSpec(
        "x86-64-avx2-emulated", "x86-64", frozenset({"avx2", "f16c", "fma", "sse4_2"}), 2, None
    ),
}
MODELS = ("digits", "digits_mlp", "squeezenet")
_LIMITS = Limits(wall_s=1200.0)
_ROWS, _SEED = 2, 0
_BASELINE = "ONNX Runtime in float32 without optimisations, on this machine"


def main() -> None:
    """Build on this machine, run on the emulated one, compare the outputs, report."""
    options = _options()
    target = TARGETS[options.machine]
    backends, missing = registry.available(target, ["tvm"], {"onnx"})
    for reason in missing.values():
        raise SystemExit(reason)
    seconds: dict[str, float] = {}
    wrong: dict[str, str] = {}
    for name in options.models:
        network = example(name, options.cache)
        try:
            seconds[name] = agreeing_build_s(network, target, backends, options.machine)
            say(f"{name}: agrees, built in {seconds[name]:.1f} s")
        except (CandidateFailed, WrongOutput) as error:
            wrong[name] = str(error)
            say(f"{name}: {error}")
    figures: dict[str, Figure] = {
        "agree": counted(len(seconds), "networks"),
        "networks": counted(len(options.models), "networks"),
    }
    if seconds:
        figures["build_s"] = spread(list(seconds.values()), "s")
    facts = environment("apache-tvm", "ziglang", "onnxruntime", machine=options.machine)
    report("cross", figures, baseline=_BASELINE, environment=facts | {"wrong": wrong})


def agreeing_build_s(
    network: Network, target: TargetSpec, backends: Mapping[str, Backend], machine: str
) -> float:
    """Seconds of compiling and linking a build of TVM whose outputs agree with the reference.

    Raises CandidateFailed if it cannot be built or run, WrongOutput if the outputs differ.
    """
    reference = {"onnxruntime": registry.get("onnxruntime")}
    with tempfile.TemporaryDirectory(prefix="hpcfair-bench-") as folder:
        scratch = [Path(folder, name) for name in ("reference", "builds")]
        for each in scratch:
            each.mkdir()
        request = TuningRequest(network, target, ("tvm",), limits=_LIMITS)
        there = interpreter(machine, Path(folder), network.model_path.parent)
        other = OtherMachine(there, frozenset({"tvm"}))
        device = LocalDevice(request, backends, scratch[1], other=other)
        with LocalDevice(request, reference, scratch[0]) as here, device:
            tests = here.test_set(_ROWS, _SEED)
            options = reference["onnxruntime"].reference(network, target)
            unoptimised = here.build("onnxruntime", options)
            with closing(
                here.open("onnxruntime", unoptimised, "reference", tests.timing)
            ) as session:
                expected = run_reference(session, tests)
            started_s = perf_counter()
            build = device.build("tvm", backends["tvm"].default(network, target))
            seconds = perf_counter() - started_s
            with closing(device.open("tvm", build, "candidate", tests.timing)) as session:
                output_check = check(session, tests, expected)
            require(output_check, build.tolerance, None, None)
            return seconds


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--machine", choices=sorted(TARGETS), default="arm64")
    parser.add_argument("--models", type=lambda text: text.split(","), default=list(MODELS))
    parser.add_argument("--cache", type=Path, default=Path(".bench"), help="of the models")
    return parser.parse_args()


if __name__ == "__main__":
    main()
