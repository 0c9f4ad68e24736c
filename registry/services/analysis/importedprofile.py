"""Import and deletion of profiles that somebody else measured.

A profile is read and matched here, within the bounds of :mod:`registry.profilefiles.bounds`, so
that a refusal with its figure is the answer to the upload (ADR 57).
"""

import threading
from dataclasses import asdict

from django.db import IntegrityError, transaction

from registry.errors import Conflict, Forbidden, Invalid, TooLarge, Unavailable
from registry.nodelinks.link import Linked, link
from registry.profilefiles import formats
from registry.profilefiles.bounds import MOST_BYTES
from registry.profilefiles.errors import ProfileFault
from registry.profilefiles.types import ProfileFile
from registry.selectors.access import Actor, person, require
from registry.selectors.analysis.importedprofile import may_delete
from registry.selectors.analysis.network import network_of
from registry.selectors.analysis.topology import network_get
from registry.selectors.storage.blob import blob_get, blob_open
from registry.services.audit import audit
from registry.services.storage.blob import blobs_hold
from registry.services.storage.gc import erase
from registry.services.storage.quota import usage_grow, usage_recount
from registry.states import Role
from registry.tables import Blob, Graph, ImportedCall, ImportedProfile, Revision
from registry.validation.texts import check_lines, check_text, printable

#: Most imported profiles of a model.
MOST_PROFILES = 200
_BATCH = 500
#: One file is parsed at a time: the largest takes 160 MiB of memory.
_READING = threading.Lock()
_PATIENCE_S = 30.0


def profile_import(
    *,
    actor: Actor,
    revision: Revision,
    sha256: str,
    target: str,
    format_name: str = "",
    details_sha256: str = "",
    tool_version: str = "",
    environment: str = "",
) -> ImportedProfile:
    """Read a profile, match it to the network of a revision, and store it.

    Args:
        sha256: Digest of the file, whose bytes the actor has uploaded.
        target: The machine, as a name of a target or in words.
        format_name: One of :data:`registry.profilefiles.formats.FORMATS`; "" recognises it.
        details_sha256: Digest of the second file of formats that have one.
        environment: What else was the same in all runs: driver, clocks, threads, batch.

    Raises:
        Unauthenticated, Forbidden: see :func:`registry.selectors.access.require`;
            ``quota_exceeded``.
        NotFound: ``graph_not_found``, ``topology_not_found``, ``blob_not_found``.
        Invalid: ``invalid_profile`` for a damaged or impossible file, and for the profile of
            another network; ``invalid_request``.
        TooLarge: ``body_too_large``.
        Conflict: ``profile_exists``.
        Unavailable: ``hub_unavailable``, if other files are being read.
    """
    mlmodel = revision.mlmodel
    require(actor, role=Role.WRITE, namespace=mlmodel.namespace)
    check_text(target, field="target", most=200, least=1)
    check_text(tool_version, field="tool_version", most=100)
    if environment.strip():
        environment = check_lines(environment, what="environment", field="environment", most=2000)
    graph = network_get(revision, None)
    blobs = [blob_get(actor, one) for one in (sha256, details_sha256) if one]
    read, linked = _read(graph, blobs, format_name)
    try:
        with transaction.atomic():
            blobs_hold({blob.sha256 for blob in blobs})
            usage_grow(mlmodel, blobs)
            _check_count(revision)
            row = _store(actor, graph, blobs, read, linked, target, tool_version, environment)
            audit(
                actor,
                "profile.import",
                f"{mlmodel.full_name}@{revision.oid}",
                namespace=mlmodel.namespace.name,
                detail={"profile": str(row.uuid), "format": read.format, "sha256": sha256},
            )
    except IntegrityError:
        raise Conflict(
            "profile_exists",
            f"This file was imported before as a profile on {target}.",
            "Delete that one first, to state another tool version or environment.",
        ) from None
    return row


def profile_delete(*, actor: Actor, profile: ImportedProfile) -> None:
    """Delete an imported profile and its file, unless the file is used elsewhere.

    Raises ``Unauthenticated`` or ``Forbidden`` unless the actor imported it and may still write
    there, or is an admin of the namespace.
    """
    mlmodel = profile.graph.revision.mlmodel
    require(actor, role=Role.WRITE, namespace=mlmodel.namespace)
    if not may_delete(actor, profile):
        raise Forbidden(
            "permission_denied",
            "Only the person who imported a profile and admins may delete it.",
            f"Ask an admin of {mlmodel.namespace.name}.",
        )
    digests = [digest for digest in (profile.blob_id, profile.details_id) if digest]
    owner = profile.actor
    with transaction.atomic():
        uuid = str(profile.uuid)
        profile.delete()
        usage_recount(mlmodel)
        audit(
            actor,
            "profile.delete",
            mlmodel.full_name,
            namespace=mlmodel.namespace.name,
            detail={"profile": uuid},
        )
    if owner is not None:
        erase(digests, owner=owner)


def _read(graph: Graph, blobs: list[Blob], format_name: str) -> tuple[ProfileFile, Linked]:
    network = network_of(graph)
    for blob in blobs:
        if blob.size_bytes > MOST_BYTES:
            raise TooLarge(
                "body_too_large",
                f"A profile may have {MOST_BYTES} bytes; this file has {blob.size_bytes}.",
                "Record fewer runs: medians of 10 to 30 runs are enough.",
            )
    if not _READING.acquire(timeout=_PATIENCE_S):
        raise Unavailable("hub_unavailable", "Other profiles are being read.", "Try again soon.")
    try:
        data, *details = [_bytes(blob) for blob in blobs]
        read = formats.read(data, name=format_name, details=details[0] if details else None)
        linked = link(network, read.calls, is_ordered=read.is_ordered)
    except ProfileFault as fault:
        raise Invalid("invalid_profile", fault.detail, fault.hint) from None
    finally:
        _READING.release()
    if not linked.fit.is_same:
        raise Invalid(
            "invalid_profile",
            f"This is no profile of {graph.path}, or too little of it can be told: {linked.fit}.",
            "Profile the published file itself, with its names."
            if read.is_ordered
            else "A summary has no order: export the trace (nsys stats --report cuda_gpu_trace).",
        )
    return read, linked


def _bytes(blob: Blob) -> bytes:
    with blob_open(blob) as stream:
        return stream.read(MOST_BYTES + 1)


def _check_count(revision: Revision) -> None:
    rows = ImportedProfile.objects.filter(graph__revision__mlmodel=revision.mlmodel_id)
    if rows.count() >= MOST_PROFILES:
        raise Forbidden(
            "quota_exceeded",
            f"A model may have {MOST_PROFILES} imported profiles.",
            "Delete some first.",
        )


def _store(
    actor: Actor,
    graph: Graph,
    blobs: list[Blob],
    read: ProfileFile,
    linked: Linked,
    target: str,
    tool_version: str,
    environment: str,
) -> ImportedProfile:
    row = ImportedProfile.objects.create(
        graph=graph,
        actor=person(actor),
        format=read.format,
        tool_version=tool_version.strip(),
        target=target.strip(),
        environment=environment,
        method=read.method[:200],
        total_ns=read.total_ns,
        is_total_stated=read.is_total_stated,
        is_ordered=read.is_ordered,
        notes=list(read.notes),
        folded=list(linked.folded),
        fit=asdict(linked.fit),
        blob=blobs[0],
        details=blobs[1] if len(blobs) > 1 else None,
    )
    ImportedCall.objects.bulk_create(
        [
            ImportedCall(
                profile=row,
                sequence=sequence,
                name=_cut(call.name, 500),
                operator=_cut(call.operator, 200),
                median_ns=call.median_ns,
                mad_ns=call.mad_ns,
                runs=call.runs,
                precision=call.precision[:16],
                implementation=_cut(call.implementation, 200),
                nodes=[{"index": index, "grade": grade} for index, grade in links.items()],
                reason=reason[:200],
            )
            for sequence, (call, links, reason) in enumerate(
                zip(read.calls, linked.links, linked.reasons, strict=True)
            )
        ],
        batch_size=_BATCH,
    )
    return row


def _cut(text: str, most: int) -> str:
    text = printable(text)
    return text if len(text) <= most else f"{text[: most - 1]}…"
