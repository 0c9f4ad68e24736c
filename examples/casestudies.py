"""``python -m examples.casestudies``: the searches behind the case studies of the manual.

Starts an embedded hub, publishes the networks of the studies, waits for their searches, and
downloads the figures of their performance pages. The figures are permalinks of this hub: ``--keep``
leaves it up to look at them.
"""

import argparse
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import httpx
from huggingface_hub import HfApi
from rich.console import Console

import hpcfair
from examples.hub import embedded_hub, user_token
from examples.models.catalogue import make

_OWNER = "cases"
#: Networks by model; several are revisions of it, oldest first, each with a tag of its name.
STUDIES: dict[str, tuple[str, ...]] = {
    # Few workloads, so that each gets hundreds of trials.
    "digits": ("digits",),
    "resnet18": ("resnet18",),
    "mobilenetv2": ("mobilenetv2",),
    "bert-small": ("bert_small",),
    "convnext": ("convnext", "convnext_channels_first"),
}
_POLL_S = 5.0
#: Shortest wait that counts as the end: a job's successors are queued when it has ended.
_QUIET_S = 15.0

console = Console(width=160)


def main() -> int:
    """Run the studies; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m examples.casestudies", description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path(".casestudies"))
    parser.add_argument("--models", nargs="+", choices=STUDIES, default=list(STUDIES))
    parser.add_argument("--tune-s", type=int, default=60, help="seconds of each search of builds")
    parser.add_argument("--schedule-s", type=int, default=600, help="seconds of each of schedules")
    parser.add_argument("--give-up-s", type=float, default=4 * 3600.0)
    parser.add_argument("--keep", action="store_true", help="keep the hub up until Enter")
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    settings = {
        "HPCFAIR_TUNE_SECONDS": str(arguments.tune_s),
        "HPCFAIR_SCHEDULE_SECONDS": str(arguments.schedule_s),
        # No study is about compiler passes.
        "HPCFAIR_PASSES_SECONDS": "0",
        "HPCFAIR_IDLE_SEARCHES": "0",
    }
    shutil.rmtree(folder / "hub", ignore_errors=True)
    try:
        with embedded_hub(folder / "hub", environment=settings) as address:
            console.print(f"hub up at {address}")
            token = user_token(folder / "hub", _OWNER)
            config = hpcfair.Config(
                url=address, token=token, cache=folder / "cache", keys=folder / "keys.json"
            )
            with hpcfair.Client(config=config) as client:
                repositories = HfApi(endpoint=address, token=token)
                for model in arguments.models:
                    publish(client, repositories, model, folder, arguments.give_up_s)
                    await_jobs(client, arguments.give_up_s)
                for model in arguments.models:
                    for page, path in figures(client, address, model, folder / "figures"):
                        console.print(page, path or "", soft_wrap=True)
            if arguments.keep:
                console.input("The hub stays up until you press Enter. ")
    except (hpcfair.HpcfairError, RuntimeError, httpx.HTTPError) as error:
        console.print(f"[bold red]The case studies failed:[/] {error}")
        return 1
    return 0


def publish(
    client: hpcfair.Client, repositories: HfApi, model: str, folder: Path, give_up_s: float
) -> None:
    """Publish the networks of a study as revisions of one model, each tuned before the next.

    Tags name the revisions, so that permalinks are the same on every hub that runs the studies.
    """
    for number, name in enumerate(STUDIES[model]):
        path = folder / "models" / name
        if not (path / "model.onnx").exists():
            make(name, path)
        if number:
            await_jobs(client, give_up_s)
        client.save(path, f"{_OWNER}/{model}", message=f"Publish {name}")
        repositories.create_tag(f"{_OWNER}/{model}", tag=name)


def await_jobs(client: hpcfair.Client, give_up_s: float) -> None:
    """Return when no job has been open for a while. Raises RuntimeError after ``give_up_s``."""
    deadline = time.monotonic() + give_up_s
    quiet_since = time.monotonic()
    shown = ""
    while time.monotonic() - quiet_since < _QUIET_S:
        jobs = [job for job in client.jobs() if is_open(job)]
        if jobs:
            quiet_since = time.monotonic()
        line = ", ".join(sorted({f"{job.kind} {job.model}" for job in jobs}))
        if line and line != shown:
            console.print(f"open jobs: {line}", highlight=False)
            shown = line
        if time.monotonic() > deadline:
            raise RuntimeError(f"jobs are still open after {give_up_s:.0f} s: {line}")
        time.sleep(_POLL_S)


def is_open(job: hpcfair.Job) -> bool:
    """Whether a job will soon run; repetitions of what was inconclusive wait for hours."""
    return job.state in {"queued", "leased"} and "repeats" not in job.parameters


def figures(
    client: hpcfair.Client, address: str, model: str, folder: Path
) -> Iterator[tuple[str, Path | None]]:
    """Download what the performance page shows of each revision's profiled builds.

    Yields permalinks and files; the comparison of revisions has no file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    page = f"{address}/{_OWNER}/{model}"
    for name in STUDIES[model]:
        for build in client.builds(f"{_OWNER}/{model}", revision=name):
            parameters = {"revision": name, "build": build.uuid}
            answer = httpx.get(
                f"{page}/perf", params={**parameters, "format": "json"}, timeout=60.0
            )
            if answer.is_success and answer.headers["Content-Type"] == "application/json":
                role = "default" if build.is_baseline else build.tolerance
                path = folder / f"{name}-{role}-{build.uuid[:8]}.json"
                path.write_bytes(answer.content)
                yield f"{page}/perf?{urlencode(parameters)}", path
    if len(STUDIES[model]) > 1:
        yield f"{page}/compare?from={STUDIES[model][0]}&to={STUDIES[model][-1]}", None


if __name__ == "__main__":
    sys.exit(main())
