"""``make demo``: a complete unattended run of the hub.

Starts an embedded hub, publishes real models through the public client, waits for their inspection
and tuning for this machine, searches, loads and runs the best builds, and ends all processes that
it started. Exit status 0 if all of it worked.
"""

import argparse
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

import hpcfair
from examples.hub import embedded_hub, user_token
from examples.models.catalogue import make

_OWNER = "demo"
_MODELS = ("digits", "squeezenet", "resnet50")
#: Seconds of search for each; measuring the best again takes up to as much, their throughput as
#: much or more. Below 30 s no throughput is measured.
TUNE_S = "30"
#: Environment variables of the hub. The demo ends before background jobs would have results.
SETTINGS = {
    "HPCFAIR_TUNE_SECONDS": TUNE_S,
    "HPCFAIR_SCHEDULE_SECONDS": "0",
    "HPCFAIR_ABLATION_SECONDS": "0",
    "HPCFAIR_PASSES_SECONDS": "0",
    "HPCFAIR_IDLE_SEARCHES": "0",
    "HPCFAIR_ROOFS_SECONDS": "0",
}
#: The jobs take about five minutes on two quiet processors, and longer on busy ones.
_GIVE_UP_S = 1200.0

console = Console()
if not console.is_terminal:
    # A log has no width at which to wrap.
    console = Console(width=160)


@dataclass(frozen=True, slots=True)
class Row:
    """What the table shows of one model."""

    name: str
    builds: tuple[hpcfair.Build, ...]


def main() -> int:
    """Run the demo; returns the exit status."""
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path(".demo"), help="made anew each time")
    parser.add_argument("--models", nargs="+", choices=_MODELS, default=_MODELS)
    parser.add_argument("--verbose", action="store_true", help="show the hub's own lines too")
    parser.add_argument("--keep", action="store_true", help="keep the hub up until Enter")
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    # The hub of an earlier run would already have its builds.
    shutil.rmtree(folder / "hub", ignore_errors=True)
    started = time.monotonic()
    try:
        with embedded_hub(
            folder / "hub", environment=SETTINGS, verbose=arguments.verbose
        ) as address:
            step(f"hub up at {address}")
            token = user_token(folder / "hub", _OWNER)
            config = hpcfair.Config(
                url=address, token=token, cache=folder / "cache", keys=folder / "keys.json"
            )
            with hpcfair.Client(config=config) as client:
                run(client, arguments.models, folder)
                console.print(f"\nPages: {address}  Log: {folder / 'hub' / 'serve.log'}")
                if arguments.keep:
                    console.input("The hub stays up until you press Enter. ")
    except (hpcfair.HpcfairError, RuntimeError, AssertionError) as error:
        console.print(f"[bold red]The demo failed:[/] {error}")
        return 1
    step(f"done in {time.monotonic() - started:.0f} s; the hub has been stopped")
    return 0


def run(client: hpcfair.Client, models: list[str], folder: Path) -> None:
    """Publish, tune, search, load."""
    for name in models:
        path = folder / "models" / name
        if not (path / "model.onnx").exists():
            step(f"making {name}")
            make(name, path)
        step(f"publishing {full_name(name)}")
        client.save(path, full_name(name), message=f"Publish {name}")
    tuned(client, models)
    searched(client, models)
    table([loaded(client, name, folder / "models" / name) for name in models])


def tuned(client: hpcfair.Client, models: list[str]) -> None:
    """Wait for every search, showing where each one is."""
    step("the hub's workers tune each model for this machine")
    columns = (TextColumn("{task.description:<18}"), BarColumn(24), TimeElapsedColumn())
    with Progress(*columns, TextColumn("{task.fields[status]}"), console=console) as progress:
        bars = {name: progress.add_task(name, total=None, status="") for name in models}
        deadline = time.monotonic() + _GIVE_UP_S
        while not all(ended := [job_shown(client, name, progress, bars[name]) for name in models]):
            if time.monotonic() > deadline:
                slow = [name for name, done in zip(models, ended, strict=True) if not done]
                raise RuntimeError(f"not tuned within {_GIVE_UP_S:.0f} s: {', '.join(slow)}")
            time.sleep(0.5)


def job_shown(client: hpcfair.Client, name: str, progress: Progress, bar: object) -> bool:
    """Show a model's newest search; whether it has ended. Raises RuntimeError if it failed."""
    jobs = client.jobs(model=full_name(name), kind="tune")
    job = next((each for each in jobs if not is_repetition(each)), None)
    if job is None:
        return False
    status = " ".join(str(job.progress.get(key) or "") for key in ("phase", "message"))
    progress.update(
        bar,  # type: ignore[arg-type]
        completed=job.progress.get("done") or 0,
        total=job.progress.get("total"),
        status=(job.state if job.state != "leased" else status)[:80],
    )
    if job.state in {"failed", "cancelled"}:
        raise RuntimeError(f"tuning {name} {job.state}: {job.failure}")
    return job.state == "succeeded"


def is_repetition(job: hpcfair.Job) -> bool:
    """Whether a job only measures again, later, what a search left inconclusive."""
    return "repeats" in job.parameters


def searched(client: hpcfair.Client, models: list[str]) -> None:
    """Find what was published: by text, by task, by tensor signature."""
    for description, hits in searches(client):
        names = ", ".join(hit.name for hit in hits)
        step(f"search {description}: {names}")
        if "digits" in models:
            assert full_name("digits") in names, f"search {description} missed the digits model"


def searches(client: hpcfair.Client) -> Iterator[tuple[str, hpcfair.Hits]]:
    """Three ways to the same model."""
    yield 'text "handwritten digit"', client.search("handwritten digit")
    yield "task image-classification", client.search(task="image-classification")
    signature = "float32[N,1,8,8] -> float32[N,10]"
    yield f"signature {signature}", client.search(signature=signature)


def loaded(client: hpcfair.Client, name: str, folder: Path) -> Row:
    """Load the best build, run it on the model's samples, check what comes out."""
    with (
        client.load(full_name(name)) as m,
        np.load(folder / "samples.npz", allow_pickle=False) as samples,
    ):
        inputs = {
            key.removeprefix("inputs/"): samples[key]
            for key in samples.files
            if key.startswith("inputs/")
        }
        expected = next(samples[key] for key in samples.files if key.startswith("outputs/"))
        # One sample at a time: some of these networks take no other batch.
        rows = [
            m({key: array[at : at + 1] for key, array in inputs.items()})
            for at in range(len(expected))
        ]
        outputs = np.concatenate([np.asarray(row) for row in rows])
        assert np.allclose(outputs, expected, rtol=1e-3, atol=1e-4), f"{name}: outputs differ"
        if "labels" in samples.files:
            accuracy = float(np.mean(outputs.argmax(axis=1) == samples["labels"]))
            step(f"{name}: accuracy of the loaded build on {len(outputs)} samples: {accuracy:.1%}")
        console.print(m.explain(), highlight=False)
        assert m.build is not None, f"{name}: no build suits this machine"
        exact = m.build
    builds = client.builds(full_name(name), target=exact.target)
    lowered = [
        build for build in builds if build.verdict == "faster" and build.tolerance != "exact"
    ]
    return Row(name, (exact, *sorted(lowered, key=lambda build: -build.ratio)))


def table(rows: list[Row]) -> None:
    """One line for each model's best exact build, one for each lower precision that is faster."""
    shown = Table(title="Best builds for this machine, against ONNX Runtime's defaults")
    shown.add_column("model", no_wrap=True)
    shown.add_column("class", no_wrap=True)
    shown.add_column("best build")
    for heading in ("default", "build", "ratio [95 %]", "faster", "relative L2", "accuracy"):
        shown.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        for at, build in enumerate(row.builds):
            shown.add_row("" if at else row.name, *cells(build))
    console.print(shown)


def cells(build: hpcfair.Build) -> tuple[str, ...]:
    """A build's line. The default's time is that of the same interleaved run as the ratio: the
    default's own build was measured in another run, perhaps at another speed of the machine."""
    chosen = {key: value for key, value in build.candidate["options"].items() if key != "default"}
    options = " ".join(f"{key}={value}" for key, value in chosen.items())
    low = build.ratio if build.ratio_low is None else build.ratio_low
    high = build.ratio if build.ratio_high is None else build.ratio_high
    accuracy = "" if build.accuracy is None else f"{build.accuracy:.1%}"
    if build.accuracy is not None and build.accuracy_reference is not None:
        accuracy += f" of {build.accuracy_reference:.1%}"
    return (
        build.tolerance,
        "ONNX Runtime's defaults" if build.is_baseline else f"{build.backend} {options}",
        f"{build.p50_ns / build.ratio / 1e6:.3f} ms",
        f"{build.p50_ns / 1e6:.3f} ms",
        "1 (is the default)" if build.is_baseline else f"{build.ratio:.3f} [{low:.3f}, {high:.3f}]",
        "" if build.is_baseline else f"{1 / build.ratio:.2f}x",
        f"{build.deviation.get('relative_l2', 0):.1e}" if build.deviation else "",
        accuracy,
    )


def full_name(name: str) -> str:
    """The example's name on the hub."""
    return f"{_OWNER}/{name.replace('_', '-')}"


def step(text: str) -> None:
    """Tell where the demo is."""
    console.print(f"[bold cyan]==>[/] {text}", highlight=False)


if __name__ == "__main__":
    sys.exit(main())
