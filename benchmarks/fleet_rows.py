"""Rows of the fleet benchmark: owners with models, devices that have joined, and jobs.

Needs Django to be set up before it is imported.
"""

import copy
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from django.db import transaction
from django.utils import timezone

from benchmarks.fleet_client import AgentClient
from registry.fairshare import NEW_ACCOUNT
from registry.selectors.people.account import user_find
from registry.services.work.devicecode import device_code_issue
from registry.services.work.job import job_submit
from registry.services.work.target import target_register
from registry.states import JobKind
from registry.tables import Ref, Revision, Target, User
from tests.factories import make_mlmodel, make_user, readme, tiny_onnx
from tests.registry import shopfloor
from tests.registry.work.queue_rows import fill

#: Target of the simulated devices. No real machine fits it, so no real worker serves it.
SLUG = "simulated"
FLOOD = "flood"
#: Target of the device whose claims are timed, and the owners of the jobs that wait for it.
_BUSY, _BUSY_OWNERS = "waiting", 400
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
    revisions = []
    with transaction.atomic():
        for name in names:
            revision = shopfloor.make_revision(name)
            shopfloor.make_graph(revision)
            Ref.objects.filter(revision=revision).delete()
            revisions.append(revision)
    return revisions


def make_target() -> Target:
    """The target of the simulated devices."""
    return target_register(
        slug=SLUG, title="Simulated devices", architecture="simulated", features=[], rank=0
    )


def submit(revision: Revision, target: Target) -> str:
    """Queue a search for the owner of a revision; returns its UUID."""
    owner = user_find(revision.mlmodel.namespace.name)
    job = job_submit(actor=owner, kind=JobKind.TUNE, revision=revision, target=target)
    return str(job.uuid)


def join(address: str, folder: Path, count: int) -> list[str]:
    """Let devices join over HTTP, each with a code of its own; writes ``identities.json``."""
    identities = {}
    for number in range(count):
        key = Ed25519PrivateKey.generate()
        client = AgentClient(address, "", key)
        name = f"agent-{number:04}"
        secret = key.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
        token = _enrol(client, name, SLUG)
        client.close()
        identities[name] = {"name": name, "token": token, "key": secret.hex()}
    (folder / "identities.json").write_text(json.dumps(identities))
    return list(identities)


def _enrol(client: AgentClient, name: str, slug: str) -> str:
    code = device_code_issue(actor=None, target=slug)
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
    client.token = _enrol(client, f"agent-of-{slug}", slug)
    client.post("hello", facts=FACTS, tools={}, agent_version="0", clock=None)
    return client
