"""Bundles without a device: the content of an export, and results as a device writes them."""

import base64
import hashlib
import io
import json
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.utils import timezone

from hpcfair import machine
from hpcfair.bundle import RESULTS_SCHEMA, RESULTS_TYPE, BundledBlob, end_bytes, pieces
from hpcfair.bundlefile import BundleFile
from registry.selectors.work.bundle import bundle_pieces
from registry.services.work.bundle import bundle_export
from registry.tables import Device, Job, JobBundle
from workers.agent.devicekey import DeviceKey


def key_of(device: Device, folder: Path) -> DeviceKey:
    """Give a device a key, and store its public half at the hub."""
    key = DeviceKey.in_folder(folder)
    Device.objects.filter(pk=device.pk).update(public_key=key.public_pem)
    return key


def export(device: Device, path: Path | None = None, *, budget_s: float = 1000.0) -> JobBundle:
    """A bundle for a device, written to ``path``."""
    row = bundle_export(actor=None, device=device.name, budget_s=budget_s, lease_s=3600.0)
    # The durations of the results must fit into the time since the claim.
    began = timezone.now() - timedelta(hours=1)
    Job.objects.filter(uuid__in=row.claims).update(started_at=began)
    if path is not None:
        path.write_bytes(b"".join(bundle_pieces(row)))
    return row


def payload_of(envelope: Any) -> dict[str, Any]:
    """The payload of an envelope, unverified."""
    payload: dict[str, Any] = json.loads(base64.b64decode(envelope["payload"]))
    return payload


def answers_in(path: Path) -> dict[str, Any]:
    """The answers in a bundle."""
    with BundleFile(path, payload_of) as file:
        document: dict[str, Any] = json.loads(file.content_of(file.manifest["answers"]))
    return document


class Results:
    """Results of a bundle, as a device writes them; each method adds a line to the journal."""

    def __init__(self, row: JobBundle, key: DeviceKey) -> None:
        self.bundle = str(row)
        self.key = key
        self.lines: list[dict[str, Any]] = []
        self.blobs: list[bytes] = []
        self._claims: dict[str, int] = row.claims
        self._numbers: dict[str, int] = dict.fromkeys(row.claims, 0)

    def write(self, job: str, name: str, **columns: Any) -> "Results":
        self._numbers[job] += 1
        return self._add(job, number=self._numbers[job], name=name, columns=columns)

    def keep(self, job: str, content: bytes) -> "Results":
        self.blobs.append(content)
        return self._add(job, keep=hashlib.sha256(content).hexdigest())

    def end(self, job: str, summary: str = "done") -> "Results":
        result = {"summary": summary}
        signed = end_bytes(job=job, fence=self._claims[job], outcome="succeeded", result=result)
        end = {"outcome": "succeeded", "result": result, "signature": self.key.sign(signed)}
        return self._add(job, end=end)

    def _add(self, job: str, **members: Any) -> "Results":
        self.lines.append({"job": job, "fence": self._claims[job], **members})
        return self

    def packed(self, path: Path, **changes: Any) -> Path:
        """The file, with ``changes`` of its manifest."""
        journal = b"".join(json.dumps(line).encode() + b"\n" for line in self.lines)
        return write_results(path, self.key, self.bundle, [journal, *self.blobs], changes=changes)


def write_results(
    path: Path,
    key: DeviceKey,
    bundle: str,
    contents: Sequence[bytes],
    *,
    changes: dict[str, Any] | None = None,
) -> Path:
    """A signed file of results; the first of its contents is the journal."""
    of = {hashlib.sha256(content).hexdigest(): content for content in contents}
    blobs = [BundledBlob(sha256, len(content)) for sha256, content in of.items()]
    manifest = {
        "schema": RESULTS_SCHEMA,
        "bundle": bundle,
        "journal": hashlib.sha256(contents[0]).hexdigest(),
        "facts": machine.describe().to_dict(),
        "tools": {},
        "agent_version": "1",
        "blobs": [{"sha256": blob.sha256, "size_bytes": blob.size_bytes} for blob in blobs],
        **(changes or {}),
    }
    envelope = key.envelope(manifest, RESULTS_TYPE)
    path.write_bytes(b"".join(pieces(envelope, blobs, lambda sha256: io.BytesIO(of[sha256]))))
    return path
