"""Rows for tests of the search, many at a time and straight into the tables."""

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from registry.states import NamespaceKind, RecordKind, RefKind, Role
from registry.tables import (
    Build,
    Graph,
    Membership,
    MLModel,
    Namespace,
    OutboxEntry,
    Record,
    Ref,
    Revision,
    Target,
    User,
)
from tests.factories import make_mlmodel, make_user, readme, revision_row

LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


def publish(full_name: str, text: str = "A network.", **card: Any) -> MLModel:
    """A public MLModel made through the services; its namespace too, if it is not there."""
    owner, _, _ = full_name.partition("/")
    if not Namespace.objects.filter(name=owner).exists():
        make_user(owner)
    return make_mlmodel(full_name, files={"README.md": readme(text, **card)})


def user(name: str, *namespaces: str) -> User:
    """A person with a namespace of their own, reading in others."""
    person, _ = User.objects.get_or_create(username=name)
    for other in (name, *namespaces):
        Membership.objects.get_or_create(namespace=namespace(other), user=person, role=Role.READ)
    return person


def namespace(name: str) -> Namespace:
    row, _ = Namespace.objects.get_or_create(name=name, kind=NamespaceKind.ORGANISATION)
    return row


def mlmodel(
    full_name: str,
    *,
    age_s: float = 0,
    **columns: Any,
) -> MLModel:
    """An MLModel with one empty revision on main, announced to the index; quickly made."""
    owner, _, name = full_name.partition("/")
    row = MLModel.objects.create(
        namespace=namespace(owner),
        name=name,
        updated_at=LONG_AGO - timedelta(seconds=age_s),
        **columns,
    )
    commit(row, full_name)
    announce(row)
    return row


def commit(row: MLModel, seed: str) -> Revision:
    """A revision that main now names."""
    oid = hashlib.sha1(seed.encode(), usedforsecurity=False).hexdigest()
    columns = {"oid": oid, "tree_oid": oid, "created_at": LONG_AGO}
    revision = revision_row(row, author_line="", message="", **columns)
    Ref.objects.update_or_create(
        mlmodel=row, kind=RefKind.BRANCH, name="main", defaults={"revision": revision}
    )
    return revision


def graph(
    row: MLModel,
    *,
    structure: str = "a",
    inputs: Sequence[tuple[str, list[int | str]]] = (),
    outputs: Sequence[tuple[str, list[int | str]]] = (),
    architecture_class: str = "plain-cnn",
    embedding: Sequence[float] = (1.0, 0.0),
) -> Graph:
    """The network of main, announced to the index; ``structure`` stands for its hash."""
    signature = {
        side: [{"name": "t", "dtype": dtype, "shape": shape} for dtype, shape in tensors]
        for side, tensors in (("inputs", inputs), ("outputs", outputs))
    }
    made = Graph.objects.create(
        revision=row.refs.get(name="main").revision,
        path="model.onnx",
        is_primary=True,
        graph_hash=structure_hash(structure),
        architecture_class=architecture_class,
        parameters=1,
        signature=signature,
        operators={},
        embedding=list(embedding),
    )
    announce(row)
    return made


def structure_hash(structure: str) -> str:
    return hashlib.sha256(structure.encode()).hexdigest()


def build(network: Graph, slug: str, *, withdrawn: bool = False) -> Build:
    """A build for a target, announced to the index."""
    target, _ = Target.objects.get_or_create(slug=slug, architecture="x86-64")
    digest = hashlib.sha256(f"{network.pk} {slug}".encode()).hexdigest()
    record = Record.objects.create(
        id=digest,
        document={},
        kind=RecordKind.CONFIRMED,
        revision=network.revision,
        target=target,
        backend="onnxruntime",
        tolerance="exact",
        p50_ns=1,
        created_at=LONG_AGO,
    )
    made = Build.objects.create(
        graph=network,
        target=target,
        config_sha256=digest,
        candidate={},
        runtime="onnxruntime",
        entry_point="model.ort",
        tolerance="exact",
        withdrawn_at=LONG_AGO if withdrawn else None,
        record=record,
        ratio=0.5,
        verdict="faster",
        p50_ns=1,
    )
    announce(network.revision.mlmodel)
    return made


def announce(row: MLModel) -> None:
    """Tell the index that it changed."""
    OutboxEntry.objects.create(mlmodel_uuid=row.uuid)


def names(items: Sequence[MLModel]) -> list[str]:
    """Full names, in order."""
    return [row.full_name for row in items]
