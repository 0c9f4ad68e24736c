"""Rows of the fleet benchmark: owners with models, devices that have joined, and jobs.

Needs Django to be set up before it is imported.
"""

import copy
import hashlib
import json
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from django.db import transaction
from django.utils import timezone

from benchmarks.fleet_client import AgentClient
from registry.errors import Unavailable
from registry.fairshare import NEW_ACCOUNT
from registry.selectors.people.account import user_find
from registry.services.work.devicecode import device_code_issue
from registry.services.work.job import job_submit
from registry.services.work.target import target_register
from registry.states import JobKind, Visibility
from registry.tables import (
    Blob,
    File,
    FileSeries,
    Graph,
    Job,
    MLModel,
    Namespace,
    Revision,
    Target,
    User,
)
from tests.factories import make_mlmodel, make_user, readme, tiny_onnx
from tests.registry import shopfloor
from tests.registry.work.queue_rows import fill

#: Target of the simulated devices. No real machine fits it, so no real worker serves it.
SLUG = "simulated"
FLOOD = "flood"
#: Target of the device whose claims are timed, and the owners of the jobs that wait for it.
_BUSY, _BUSY_OWNERS = "waiting", 400
#: Rows of one statement, and devices that join at the same time.
_AT_ONCE, _JOINING = 1000, 8
FACTS = {
    "architecture": "simulated",
    "processor": "Simulated Processor 1",
    "cores": 4,
    "memory_bytes": 16 << 30,
    "os": "Linux",
    "features": [],
}


def make_owners(count: int) -> list[User]:
    """The flooding owner and others, with accounts old enough for a share of their own."""
    owners = [make_user(name) for name in (FLOOD, *(f"owner-{number}" for number in range(count)))]
    User.objects.update(date_joined=timezone.now() - 2 * NEW_ACCOUNT)
    return owners


def make_models(names: Iterable[str]) -> list[Revision]:
    """A model with a network for each ``owner/name``.

    They have no branches, because catch-up searches read the heads of branches, and no files.
    """
    pairs = [name.split("/") for name in names]
    spaces = {owner: _namespace(owner) for owner in {owner for owner, _ in pairs}}
    with transaction.atomic():
        mlmodels = MLModel.objects.bulk_create(
            [_mlmodel(spaces[owner], name) for owner, name in pairs],
            _AT_ONCE,
        )
        series = FileSeries.objects.bulk_create(
            [FileSeries(mlmodel=mlmodel, length=1) for mlmodel in mlmodels], _AT_ONCE
        )
        revisions = Revision.objects.bulk_create(map(_revision, series), _AT_ONCE)
        contents = [b"weights of " + revision.oid.encode() for revision in revisions]
        blobs = Blob.objects.bulk_create(map(_blob, contents), _AT_ONCE)
        File.objects.bulk_create(map(_file, revisions, blobs), _AT_ONCE)
        Graph.objects.bulk_create(map(shopfloor.graph_row, revisions), _AT_ONCE)
    return revisions


def _namespace(owner: str) -> Namespace:
    first = shopfloor.make_revision(f"{owner}/first")
    first.mlmodel.refs.all().delete()
    return first.mlmodel.namespace


def _mlmodel(namespace: Namespace, name: str) -> MLModel:
    return MLModel(
        namespace=namespace, name=name, visibility=Visibility.PUBLIC, updated_at=timezone.now()
    )


def _revision(series: FileSeries) -> Revision:
    oid = hashlib.sha1(series.mlmodel.full_name.encode(), usedforsecurity=False).hexdigest()
    return Revision(
        mlmodel=series.mlmodel,
        series=series,
        position=0,
        oid=oid,
        tree_oid=oid,
        author_line="Alice <alice@example.org> 0 +0000",
        message="first",
        created_at=timezone.now(),
        card={"license": "apache-2.0"},
    )


def _blob(content: bytes) -> Blob:
    git_oid = hashlib.sha1(content, usedforsecurity=False).hexdigest()
    sha256 = hashlib.sha256(content).hexdigest()
    return Blob(sha256=sha256, size_bytes=len(content), git_oid=git_oid)


def _file(revision: Revision, blob: Blob) -> File:
    return File(
        series=revision.series,
        first=0,
        path="model.onnx",
        blob=blob,
        oid=blob.git_oid,
        is_lfs=True,
        changed_in=revision,
    )


def make_target() -> Target:
    """The target of the simulated devices."""
    return target_register(
        slug=SLUG, title="Simulated devices", architecture="simulated", features=[], rank=0
    )


def submit(revision: Revision, target: Target) -> str:
    """Queue a search for the owner of a revision; returns its UUID."""
    owner = user_find(revision.mlmodel.namespace.name)
    while True:
        # SQLite is busy for longer than a write waits; clients of the hub repeat requests as well.
        with suppress(Unavailable):
            job = job_submit(actor=owner, kind=JobKind.TUNE, revision=revision, target=target)
            return str(job.uuid)


def submit_all(revisions: Sequence[Revision], target: Target) -> list[str]:
    """:func:`submit` for many revisions of one owner, as rows like those of the first one."""
    if not revisions:
        return []
    first = Job.objects.get(uuid=submit(revisions[0], target))
    rows = Job.objects.bulk_create(
        [
            Job(
                kind=first.kind,
                revision=revision,
                target=target,
                flow_id=first.flow_id,
                queue_rank=first.queue_rank + number / 1000,
                estimate_s=first.estimate_s,
                requirement_id=first.requirement_id,
                requested_by_id=first.requested_by_id,
            )
            for number, revision in enumerate(revisions[1:], 1)
        ],
        _AT_ONCE,
    )
    return [str(job.uuid) for job in (first, *rows)]


def join(address: str, folder: Path, count: int) -> list[str]:
    """Let devices join over HTTP, each with a code of its own; writes ``identities.json``."""
    codes = {f"agent-{n:04}": device_code_issue(actor=None, target=SLUG) for n in range(count)}

    def identity(name: str) -> dict[str, str]:
        key = Ed25519PrivateKey.generate()
        secret = key.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
        client = AgentClient(address, "", key)
        token = _enrol(client, name, codes[name])
        client.close()
        return {"name": name, "token": token, "key": secret.hex()}

    with ThreadPoolExecutor(_JOINING) as threads:
        identities = dict(zip(codes, threads.map(identity, codes), strict=True))
    (folder / "identities.json").write_text(json.dumps(identities))
    return list(identities)


def _enrol(client: AgentClient, name: str, code: str) -> str:
    answer = client.post("enrol", code=code, name=name, facts=FACTS, public_key=client.public_key)
    return str(answer["token"])


def write_work(folder: Path, **options: float) -> None:
    """Write ``work.json``: results that agents send, and their behaviour."""
    document = copy.deepcopy(shopfloor.EXAMPLE)
    del document["record_id"]
    candidate = shopfloor.candidate()
    document["identity"] |= {"config_sha256": shopfloor.trial()["config_sha256"]}
    document["config"] |= candidate
    document["target"] |= {"slug": SLUG, "processor": FACTS["processor"]}
    # As in its record; the ratio of a baseline is 1.
    p50_ns = round(document["statistics"]["candidate"]["p50_ns"])
    build = shopfloor.build("", files={}, is_baseline=True, p50_ns=p50_ns)
    build |= {"ratio": 1.0, "verdict": "same"}
    work: dict[str, Any] = {
        "facts": FACTS,
        "document": document,
        "trial": shopfloor.trial(),
        "build": build,
    }
    (folder / "work.json").write_text(json.dumps(work | options))


def publish_real(number: int) -> None:
    """Publish a network that real workers inspect and tune."""
    files: dict[str, bytes | str] = {
        "README.md": readme(),
        "model.onnx": tiny_onnx(features=2 + number % 60),
    }
    make_mlmodel(f"{FLOOD}/real-{number}", actor=user_find(FLOOD), files=files)


def fill_queue(jobs: int) -> str:
    """Queue many jobs of many owners for a new target; returns its slug."""
    target = target_register(
        slug=_BUSY, title="Waiting", architecture="simulated", features=[], rank=0
    )
    fill(target, jobs=jobs, owners=_BUSY_OWNERS)
    return _BUSY


def join_one(address: str, slug: str) -> AgentClient:
    """Let a device of a target join; returns its client."""
    client = AgentClient(address, "", Ed25519PrivateKey.generate())
    code = device_code_issue(actor=None, target=slug)
    client.token = _enrol(client, f"agent-of-{slug}", code)
    client.post("hello", facts=FACTS, tools={}, agent_version="0", clock=None)
    return client
