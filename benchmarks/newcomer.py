"""Time from the first uploaded byte to builds of SqueezeNet on this machine, on a new hub.

``make bench NAME=newcomer [ARGS="--rounds 3"]``. Each round starts an embedded hub on empty data,
as ``make serve`` does, without earlier tuning. Times count from the start of the upload: to the
first build that can be loaded (the plain network under the runtime's defaults, checked and
measured), to the first faster build, and to the end of the search with the best build confirmed.
"""

import argparse
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import hpcfair
from benchmarks.calm import wait
from benchmarks.report import Figure, environment, report, say, spread
from examples.hub import embedded_hub, user_token
from examples.models.catalogue import make

_MODEL = "squeezenet"
_NAME = f"newcomer/{_MODEL}"
_GIVE_UP_S = 600.0
_LOOK_EVERY_S = 0.1
#: Targets: seconds to the first usable build and to the published best.
_PROMISE = "20 s to the first usable build, 90 s to the published best"


@dataclass(frozen=True, slots=True)
class Wait:
    """Seconds since the upload began, and ratios of the result.

    Attributes:
        faster_s: To the first build that beats the defaults; ``published_s`` if none did before.
        exact, best: Ratio of the best build to the defaults, float32 and any precision.
    """

    usable_s: float
    faster_s: float
    published_s: float
    exact: float
    best: float


def main() -> None:
    options = _options()
    facts = environment("onnxruntime", "openvino", "optuna", arguments=vars(options))
    with tempfile.TemporaryDirectory(prefix="hpcfair-newcomer-") as folder:
        model = make(_MODEL, Path(folder) / "model")
        waits = []
        for number in range(options.rounds):
            waits.append(_round(model, Path(folder) / f"hub-{number}"))
            say(f"round {number + 1}/{options.rounds}: {waits[-1]}")
    report("newcomer", _figures(waits), baseline=_PROMISE, environment=facts)


def _figures(waits: Sequence[Wait]) -> dict[str, Figure]:
    return {
        "first_usable": spread([wait.usable_s for wait in waits], "s"),
        "first_faster": spread([wait.faster_s for wait in waits], "s"),
        "published_best": spread([wait.published_s for wait in waits], "s"),
        "exact_speed": spread([1 / wait.exact for wait in waits], "x"),
        "best_speed": spread([1 / wait.best for wait in waits], "x"),
    }


def _round(model: Path, data: Path) -> Wait:
    with embedded_hub(data) as address:
        config = hpcfair.Config(
            url=address,
            token=user_token(data, "newcomer"),
            cache=data / "cache",
            keys=data / "keys.json",
        )
        with hpcfair.Client(config=config) as client:
            wait()
            started = time.monotonic()
            client.save(model, _NAME, message="Publish")
            return _watched(client, started)


def _watched(client: hpcfair.Client, started: float) -> Wait:
    """Poll the published builds until the search has ended; RuntimeError on failure or timeout."""
    usable = faster = None
    shown = ""
    while (now := time.monotonic() - started) < _GIVE_UP_S:
        # Jobs that only repeat what a search left inconclusive come later.
        jobs = client.jobs(model=_NAME, kind="tune")
        job = next((each for each in jobs if "repeats" not in each.parameters), None)
        builds = client.builds(_NAME)
        if usable is None and builds:
            usable = now
        if faster is None and any(build.verdict == "faster" for build in builds):
            faster = now
        if job is not None:
            line = f"{job.progress.get('phase')} {job.progress.get('message')}"
            if line != shown:
                say(f"{now:7.1f} s  {line}")
                shown = line
            if job.state in {"failed", "cancelled"}:
                raise RuntimeError(f"the search {job.state}: {job.failure}")
            # Profiles of the published builds come after them.
            published = job.state == "succeeded" or job.progress.get("phase") == "profile"
            if published and usable is not None:
                gains = [one for one in builds if one.is_best and not one.is_baseline]
                exact = [build.ratio for build in gains if build.tolerance == "exact"]
                return Wait(
                    usable_s=usable,
                    faster_s=faster or now,
                    published_s=now,
                    exact=min(filter(None, exact), default=1.0),
                    best=min(filter(None, (build.ratio for build in gains)), default=1.0),
                )
        time.sleep(_LOOK_EVERY_S)
    raise RuntimeError(f"no end after {_GIVE_UP_S:.0f} s")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="does it run? no figures to quote")
    options = parser.parse_args()
    if options.quick:
        options.rounds = 1
    return options


if __name__ == "__main__":
    main()
