"""Deleting takes all that hangs on a repository, of every table, and nothing else."""

import pytest
from django.apps import apps
from django.db import connection
from django.utils import timezone

from registry.errors import Forbidden
from registry.services.people.account import member_set
from registry.services.repository.gate import access_grant
from registry.services.repository.like import like_add
from registry.services.repository.mlmodel import (
    mlmodel_create,
    mlmodel_delete,
    mlmodel_move,
    mlmodel_update,
)
from registry.services.repository.ref import ref_create
from registry.states import (
    DiscussionState,
    EventKind,
    IdentifierKind,
    RefKind,
    RepositoryKind,
    Role,
)
from registry.tables import (
    BestBuild,
    Build,
    Conversion,
    ConversionFile,
    Discussion,
    DiscussionEvent,
    ForeignEvidence,
    Graph,
    ImportedCall,
    ImportedProfile,
    JobAttempt,
    JobBlob,
    JobReport,
    JobUpload,
    JobWrite,
    MLModel,
    Namespace,
    OutboxEntry,
    RemoteRun,
    Topology,
    User,
    Webhook,
    WebhookWatch,
)
from tests.factories import commit_files
from tests.registry.shopfloor import make_blob
from tests.registry.test_access import full_floor

#: What outlives a repository: people and their things, machines, bytes, what tells of it (its
#: identifiers above all), and what the hub has learnt about operators and classes of networks.
OUTLIVE = {
    "User", "Namespace", "Membership", "Token", "DeviceGrant", "AuditEntry", "Blob", "Upload",
    "Target", "Device", "OutboxEntry", "Webhook", "WebhookDelivery", "Xorb", "XorbUpload",
    "XorbRun", "XorbChunk", "XetFile", "ScheduleTask", "ScheduleUse", "ScheduleSketch",
    "ScheduleTrial", "PassPortfolio", "Identifier", "FormerName", "DataTable", "HubKey",
    "Sweep", "PartsBegun", "SignInAttempts", "JobFlow", "JobQueue", "FormerNamespace", "UserTarget",
    "DeviceCode", "JobRequirement", "StudyStatistic", "CandidateCrash", "Ban", "JobBundle",
    "ScheduleAblation", "CrossApplication", "Principle", "PrincipleVersion", "RoofSet", "Roof",
    "Converter", "ForeignHub",
}  # fmt: skip


def counts() -> dict[str, int]:
    """How many rows each table that belongs to repositories has."""
    tables = apps.get_app_config("registry").get_models()
    return {t.__name__: t._default_manager.count() for t in tables if t.__name__ not in OUTLIVE}


def fill(mlmodel: MLModel, owner: User | None, friend: User) -> None:
    """Add everything that may hang on ``mlmodel``."""
    first = mlmodel.refs.get(name="main").revision
    ref_create(actor=owner, mlmodel=mlmodel, kind=RefKind.TAG, name="v1", revision=first)
    merged = commit_files(mlmodel, {"b.txt": b"b", "big.bin": b"large"}, actor=owner)
    commit_files(mlmodel, {"c.txt": b"c", "README.md": "---\ntags: [x]\n---\n"}, actor=owner)
    talk = Discussion.objects.create(
        mlmodel=mlmodel,
        num=1,
        title="More",
        state=DiscussionState.MERGED,
        is_pull_request=True,
        target_branch="main",
        merged_as=merged,
        author=friend,
    )
    DiscussionEvent.objects.create(discussion=talk, kind=EventKind.COMMENT, author=friend, text="a")
    mlmodel.refs.create(kind=RefKind.PULL, name="1", revision=merged)
    evidence = ForeignEvidence.objects.create(revision=merged, hub="https://far.test", document={})
    evidence.identifiers.create(identifier="ark:/99999/h2far", kind=IdentifierKind.VERSION)
    hook = Webhook.objects.create(user=friend, url="https://example.org/hook")
    WebhookWatch.objects.create(webhook=hook, mlmodel=mlmodel)
    like_add(actor=friend, mlmodel=mlmodel)
    for build in Build.objects.filter(graph__revision__mlmodel=mlmodel):
        BestBuild.objects.create(
            mlmodel=mlmodel, target=build.target, tolerance="exact", build=build, p50_ns=1, ratio=1
        )
        _analyse(build.graph, friend)
    for attempt in JobAttempt.objects.filter(job__revision__mlmodel=mlmodel):
        _work(attempt, friend)
    mlmodel_update(actor=owner, mlmodel=mlmodel, gate="manual")
    access_grant(actor=owner, mlmodel=mlmodel, user=friend)
    mlmodel_move(
        actor=owner, mlmodel=mlmodel, namespace=mlmodel.namespace.name, name=f"{mlmodel.name}-2"
    )


def _analyse(graph: Graph, friend: User) -> None:
    """The network as a graph, as converted from weights, and a profile that somebody imported."""
    conversion = Conversion.objects.create(revision=graph.revision)
    ConversionFile.objects.create(
        conversion=conversion, path="converted/model.onnx", blob=make_blob(b"network")
    )
    Topology.objects.create(graph=graph, blob=make_blob(b"topology"))
    profile = ImportedProfile.objects.create(
        graph=graph,
        actor=friend,
        format="onnxruntime",
        target="a laptop",
        method="ONNX Runtime",
        total_ns=1,
        is_total_stated=True,
        is_ordered=True,
        blob=make_blob(b"trace"),
    )
    ImportedCall.objects.create(
        profile=profile, sequence=0, name="call", median_ns=1, mad_ns=0, runs=1
    )


def _work(attempt: JobAttempt, friend: User) -> None:
    """What a device sent for a job, and the job as a run with somebody's inputs."""
    job, blob = attempt.job, make_blob(b"input")
    JobWrite.objects.create(attempt=attempt, number=1, sha256="0" * 64, reply={})
    JobReport.objects.create(attempt=attempt, document={}, signature="")
    JobBlob.objects.create(job=job, blob=blob)
    JobUpload.objects.create(job=job, sha256="0" * 64, key="k", size_bytes=1, part_bytes=1)
    RemoteRun.objects.create(
        job=job, owner=friend, inputs=blob, limit_s=1.0, expires_at=timezone.now()
    )


def test_everything_of_a_model_goes_and_everything_else_stays(alice: User, bob: User) -> None:
    full_floor("owner/kept", private=False)
    fill(MLModel.objects.get(name="kept"), None, bob)
    before = counts()
    assert [name for name, count in before.items() if count == 0] == []
    full_floor("owner/doomed", private=False)
    doomed = MLModel.objects.get(name="doomed")
    fill(doomed, None, bob)
    assert all(counts()[name] > before[name] for name in before)
    mlmodel_delete(actor=None, mlmodel=doomed)
    connection.check_constraints()
    assert counts() == before
    assert OutboxEntry.objects.filter(mlmodel_uuid=doomed.uuid).exists()


def test_a_data_set_goes_as_a_model_does(alice: User, bob: User) -> None:
    before = counts()
    data = mlmodel_create(actor=alice, namespace="alice", name="data", kind=RepositoryKind.DATASET)
    fill(data, alice, bob)
    mlmodel_delete(actor=alice, mlmodel=data)
    connection.check_constraints()
    assert counts() == before


@pytest.mark.parametrize("role", [None, Role.READ, Role.WRITE, Role.ADMIN])
def test_writers_delete_and_readers_do_not(
    galaxy: MLModel, lab: Namespace, charlie: User, bob: User, role: Role | None
) -> None:
    if role is not None:
        member_set(actor=charlie, namespace=lab, user=bob, role=role)
    if role in {Role.WRITE, Role.ADMIN}:
        mlmodel_delete(actor=bob, mlmodel=galaxy)
        assert not MLModel.objects.exists()
    else:
        with pytest.raises(Forbidden):
            mlmodel_delete(actor=bob, mlmodel=galaxy)
        assert MLModel.objects.exists()
