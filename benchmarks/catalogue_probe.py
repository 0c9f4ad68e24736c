"""The parts of :mod:`benchmarks.catalogue` that need Django: rows, and calls of functions.

``python -m benchmarks.catalogue_probe VERB ARGUMENTS`` prints one line of JSON::

    fill MODELS SEED FILES     writes the rows; prints names of models to ask for
    functions CALLS            prints milliseconds of each call of each function
"""

import json
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import django

django.setup()

from django.conf import settings  # noqa: E402
from django.contrib.auth.models import AnonymousUser  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection, transaction  # noqa: E402

from benchmarks.catalogue_jobs import queue  # noqa: E402
from benchmarks.catalogue_rows import WORDS, fill, name_of  # noqa: E402
from registry.fair.description import MAX_CRATE_FILES  # noqa: E402
from registry.selectors.search.catalogue import catalogue_search  # noqa: E402
from registry.services.fair.assessment import assess_due  # noqa: E402
from registry.services.repository.mlmodel import mlmodel_create  # noqa: E402
from registry.services.repository.revision import Add, commit  # noqa: E402
from registry.services.storage.gc import gc  # noqa: E402
from registry.services.work.attempt import job_claim  # noqa: E402
from registry.services.work.reaper import job_reap  # noqa: E402
from registry.states import JobKind  # noqa: E402
from registry.tables import Device, MLModel, Target  # noqa: E402
from tests.factories import make_user, store  # noqa: E402

_LARGE, _LARGEST_CRATE = "bench/large", "bench/crate"
_CATALOGUE_PAGE = 50
#: Most models with a queued job.
_WAITING = 100_000
#: Threads that search at once.
_CLIENTS = 16


def write(models: int, seed: int, files: int) -> dict[str, str]:
    """Write the hub; returns what stands for the names in braces of the addresses."""
    call_command("migrate", interactive=False, verbosity=0)
    fill(models, seed=seed)
    queue(min(models, _WAITING))
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE")
    make_user("bench")
    _write_files(_LARGE, files)
    # With card and .gitattributes; larger models are refused as a crate.
    _write_files(_LARGEST_CRATE, min(files, MAX_CRATE_FILES - 2))
    return {
        "network": name_of(1, seed),
        "large": _LARGE,
        "crate": _LARGEST_CRATE,
        "last_page": str(-(-models // _CATALOGUE_PAGE)),
    }


def _write_files(full_name: str, files: int) -> None:
    namespace, _, name = full_name.partition("/")
    mlmodel = mlmodel_create(actor=None, namespace=namespace, name=name)
    card = store(b"---\nlicense: mit\n---\n# Large\n").sha256
    digests = [store(b"%d" % number).sha256 for number in range(100)]
    operations = [
        Add(f"part-{number // 1000:03}/{number:06}.txt", digests[number % 100])
        for number in range(files)
    ]
    commit(
        actor=None,
        mlmodel=mlmodel,
        message="Many",
        operations=[Add("README.md", card), *operations],
    )


def functions(calls: int) -> dict[str, list[float]]:
    """Milliseconds of each function."""
    numbers = iter(range(10**9))
    target = Target.objects.order_by("pk").first()
    assert target is not None
    Device.objects.get_or_create(name="bench", defaults={"target": target})
    return {
        "search": _crowd(calls, lambda at: _search(at, with_counts=False)),
        "facets": _crowd(calls, lambda at: _search(at, with_counts=True)),
        "fresh": [_fresh(next(numbers)) for _ in range(min(calls, 20))],
        "claim": _timed(calls, lambda: _claim(target.slug)),
        "reap": _timed(min(calls, 10), job_reap),
        "commit_onto_large": _timed(min(calls, 10), lambda: _commit(next(numbers))),
        "assess_due": _timed(min(calls, 3), lambda: assess_due(limit=10)),
        "gc": _timed(min(calls, 3), lambda: gc(grace=settings.GC_GRACE)),
    }


def _search(at: int, *, with_counts: bool) -> None:
    first, second = WORDS[at % len(WORDS)], WORDS[(at * 7 + 3) % len(WORDS)]
    options: list[Mapping[str, Any]] = [
        {"query": first},
        {"query": f"{first} {second}"},
        {"task": "translation", "sort": "updated"},
        {"library": "onnx", "license": "mit", "sort": "downloads"},
        {"sort": "updated"},
    ]
    catalogue_search(AnonymousUser(), with_counts=with_counts, **options[at % len(options)])


def _fresh(number: int) -> float:
    """Milliseconds from a commit to its first appearance in a search."""
    name = f"new-{number}-{time.time_ns()}"
    mlmodel_create(actor=None, namespace="bench", name=name)
    began = time.perf_counter()
    while not catalogue_search(None, query=name, with_counts=False).items:
        time.sleep(0.005)
    return 1000 * (time.perf_counter() - began)


def _claim(target: str) -> None:
    """Claim a job and put it back."""
    with transaction.atomic():
        ticket = job_claim(device_name="bench", kinds=[JobKind.TUNE], target=target)
        transaction.set_rollback(True)
    if ticket is None:
        raise RuntimeError("no job is waiting")


def _commit(number: int) -> None:
    large = MLModel.objects.select_related("namespace").get(namespace__name="bench", name="large")
    digest = store(b"new %d" % number).sha256
    commit(actor=None, mlmodel=large, message="One", operations=[Add(f"new-{number}.txt", digest)])


def _timed(calls: int, function: Callable[[], object]) -> list[float]:
    samples = []
    for _ in range(calls):
        began = time.perf_counter()
        function()
        samples.append(1000 * (time.perf_counter() - began))
    return samples


def _crowd(calls: int, function: Callable[[int], object]) -> list[float]:
    """Milliseconds of calls by several threads at once."""
    samples: list[float] = []

    def work(client: int) -> None:
        try:
            for at in range(client, client + calls):
                samples.extend(_timed(1, lambda at=at: function(at)))  # type: ignore[misc]
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(client,)) for client in range(_CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return samples


def main(verb: str, *arguments: str) -> None:
    """Run one verb."""
    numbers = [int(argument) for argument in arguments]
    answer = write(*numbers) if verb == "fill" else functions(*numbers)
    sys.stdout.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
