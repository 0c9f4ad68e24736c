"""Measured roofs of devices, stored by the job that measured them."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from django.db import transaction

from registry.errors import Invalid
from registry.services.work.lease import held_job
from registry.tables import Roof, RoofSet
from registry.validation.texts import check_json

#: Operations of a multiply-accumulate.
_OPERATIONS_PER_MAC = 2


def roofs_store(
    *,
    job_uuid: str,
    fence: int,
    tools: dict[str, Any],
    tools_sha256: str,
    took_s: float,
    roofs: Sequence[dict[str, Any]],
    notes: Sequence[str],
) -> RoofSet:
    """Store the roofs of the device that holds a job.

    Speeds are computed here from the raw samples and the described work, so that a device cannot
    report one that its own samples contradict.

    Args:
        roofs: Each by :data:`registry.schemas.roof.ROOFS`; of several with the same precision or
            level the fastest is stored.
        notes: Why roofs are missing.

    Raises:
        Conflict: ``lease_lost``; nothing is written.
        Invalid: ``invalid_request`` if the job has no device, or the values are not storable.
    """
    check_json({"tools": tools, "notes": list(notes), "roofs": list(roofs)})
    with transaction.atomic():
        job = held_job(job_uuid=job_uuid, fence=fence)
        if job.device is None:
            raise Invalid("invalid_request", "The job is not done by a device.")
        row = RoofSet.objects.create(
            device=job.device,
            job=job,
            tools=tools,
            tools_sha256=tools_sha256,
            facts=job.device.facts,
            is_emulated=job.device.is_emulated,
            notes=list(notes),
            took_s=took_s,
        )
        best: dict[tuple[str, str], Roof] = {}
        for each in roofs:
            roof = roof_of(each)
            key = roof.precision, roof.level
            if key not in best or _rank(roof) > _rank(best[key]):
                best[key] = roof
        for roof in best.values():
            roof.roof_set = row
        Roof.objects.bulk_create(best.values())
        return row


def roof_of(document: Mapping[str, Any]) -> Roof:
    """The roof of a device's document, with the speed that follows from its samples, unsaved."""
    rounds = document["rounds"]
    calm = [each for each in rounds if not each["is_disturbed"]]
    work = work_of(document)
    speeds = [work / median(each["samples_ns"]) * 1e9 for each in calm or rounds]
    names = ("size", "layers", "bytes", "arrays", "repeats")
    return Roof(
        precision=document.get("precision", ""),
        level=document.get("level", ""),
        per_second=max(speeds),
        low=min(speeds),
        high=max(speeds),
        work=work,
        shape={name: document[name] for name in names if name in document},
        rounds=list(rounds),
        is_disturbed=not calm,
        backend=document.get("backend", ""),
        method=document["method"],
        threads=document["threads"],
    )


def work_of(document: Mapping[str, Any]) -> float:
    """Operations of a chain of products, or bytes of a triad, that one sample takes."""
    if "size" in document:
        macs = document["layers"] * document["size"] ** 3
        return float(_OPERATIONS_PER_MAC * macs)
    return float(document["arrays"] * document["bytes"] * document["repeats"])


def _rank(roof: Roof) -> tuple[bool, float]:
    return not roof.is_disturbed, roof.per_second
