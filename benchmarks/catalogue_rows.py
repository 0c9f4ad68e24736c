"""Rows of a hub of any size for :mod:`benchmarks.catalogue`; needs Django to be set up.

Rows are the same for the same seed and number, and are written by COPY on PostgreSQL. A tenth of
the models is private; two thirds have a network, of which half have a structure of their own; a
tenth of these have builds and a record.
"""

import hashlib
import random
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from benchmarks.copying import Table, Values, copy, restart_sequences
from registry.states import (
    ArchitectureClass,
    IdentifierKind,
    RefKind,
    RepositoryKind,
    ToleranceClass,
)
from registry.tables import (
    BestBuild,
    Blob,
    Build,
    File,
    FileSeries,
    Graph,
    Identifier,
    Label,
    MLModel,
    Namespace,
    OutboxEntry,
    Record,
    Ref,
    Revision,
    Tag,
    Target,
)

WORDS = (
    "bert", "galaxy", "resnet", "digits", "llama", "whisper", "vision", "speech", "tiny",
    "large", "base", "protein", "climate", "weather", "genome", "particle", "detector", "segment",
    "caption", "embed", "rank", "fraud", "traffic", "crop", "satellite", "retina", "heart", "lung",
    "bone", "cell", "river", "storm", "ocean", "glacier", "forest", "plasma", "quark", "lepton",
)  # fmt: skip
TASKS = (
    "image-classification", "object-detection", "text-generation", "translation", "summarization",
    "token-classification", "tabular-regression", "audio-classification", "feature-extraction",
)  # fmt: skip
LICENSES = ("apache-2.0", "mit", "bsd-3-clause", "cc-by-4.0", "gpl-3.0", "openrail")
LIBRARIES = ("onnx", "pytorch", "transformers", "keras", "scikit-learn", "jax")
TARGETS = ("x86-64-avx2", "x86-64-avx512", "arm64-neon", "cuda-sm90")
#: Models of one namespace, and rows written at once.
_OF_NAMESPACE, _AT_ONCE = 50, 5_000
_DIMENSIONS = 45
BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_SIGNATURE = {
    "inputs": [{"name": "x", "dtype": "float32", "shape": ["N", 3, 224, 224]}],
    "outputs": [{"name": "y", "dtype": "float32", "shape": ["N", 1000]}],
}
_FACTS = {"opsets": {"": 17}, "weight_bytes": 4}


def fill(models: int, *, seed: int) -> None:
    """Write a hub of this many models."""
    shared = _shared(models)
    for start in range(0, models, _AT_ONCE):
        _write(start, min(models, start + _AT_ONCE), seed, shared)
    OutboxEntry.objects.create(mlmodel_uuid=uuid_of("model", models))
    tables = (MLModel, FileSeries, Revision, Ref, File, Tag, Label, Identifier, Graph, Build)
    restart_sequences(Namespace, *tables, BestBuild)


def name_of(number: int, seed: int) -> str:
    """``namespace/name`` of a model."""
    chance = random.Random(f"{seed} {number}")  # noqa: S311 - not a secret
    first, second = chance.sample(WORDS, 2)
    return f"lab-{number // _OF_NAMESPACE}/{first}-{second}-{number}"


def _shared(models: int) -> dict[str, Any]:
    """Rows that the models refer to."""
    count = -(-models // _OF_NAMESPACE)
    copy(
        Namespace,
        (
            {
                "id": 1000 + at,
                "uuid": uuid_of("ns", at),
                "name": f"lab-{at}",
                "kind": "organisation",
            }
            | {"created_at": BEGIN}
            for at in range(count)
        ),
    )
    targets = [
        Target.objects.get_or_create(slug=slug, defaults={"architecture": slug.split("-")[0]})[0]
        for slug in TARGETS
    ]
    digest = hashlib.sha256(b"weights").hexdigest()
    Blob.objects.get_or_create(sha256=digest, defaults={"size_bytes": 7, "git_oid": "1" * 40})
    return {"targets": [target.pk for target in targets], "blob": digest}


def _write(start: int, end: int, seed: int, shared: Mapping[str, Any]) -> None:
    rows: dict[Table, list[Values]] = {}

    def add(table: Table, **values: Any) -> None:
        rows.setdefault(table, []).append(values)

    for number in range(start, end):
        chance = random.Random(f"{seed} {number}")  # noqa: S311 - not a secret
        _model(add, number, seed, chance, shared["blob"])
        if number % 3:
            _network(add, number, chance, shared["targets"])
    for table, values in rows.items():
        copy(table, values)


def _model(add: Any, number: int, seed: int, chance: random.Random, blob: str) -> None:
    key, full_name = number + 1, name_of(number, seed)
    oid = hashlib.sha1(full_name.encode(), usedforsecurity=False).hexdigest()
    words = chance.sample(WORDS, 3)
    task, license_id, library = (chance.choice(each) for each in (TASKS, LICENSES, LIBRARIES))
    updated = BEGIN + timedelta(seconds=number * 30 + chance.randrange(30))
    add(
        MLModel, id=key, uuid=uuid_of("model", number), kind=RepositoryKind.MODEL,
        namespace_id=1000 + number // _OF_NAMESPACE, name=full_name.split("/")[1],
        visibility="private" if number % 10 == 9 else "public", created_at=updated,
        updated_at=updated, downloads=int(chance.paretovariate(1)),
        likes=int(chance.paretovariate(1.5)), title=" ".join(words).title(),
        description=" ".join(chance.choices(WORDS, k=12)), license=license_id, task=task,
        library=library,
    )  # fmt: skip
    add(FileSeries, id=key, mlmodel_id=key, length=1, row_count=1, fewest_files=1)
    add(
        Revision, id=key, uuid=uuid_of("revision", number), mlmodel_id=key, oid=oid,
        series_id=key, position=0,
        tree_oid=_EMPTY_TREE, directory_oid=_EMPTY_TREE, file_count=1, size_bytes=7,
        author_line="A <a@example.org> 0 +0000", message="Publish", created_at=updated,
        card={"license": license_id},
    )  # fmt: skip
    add(Ref, id=key, mlmodel_id=key, kind=RefKind.BRANCH, name="main", revision_id=key)
    add(
        File, id=key, series_id=key, first=0, path="model.onnx", blob_id=blob, oid="1" * 40,
        is_lfs=False, changed_in_id=key,
    )  # fmt: skip
    for at, word in enumerate(words):
        add(Tag, id=3 * number + at + 1, mlmodel_id=key, value=word)
        add(Label, id=6 * number + at + 1, mlmodel_id=key, kind="tag", value=word)
    labels = {"pipeline_tag": task, "license": f"license:{license_id}", "library": library}
    for at, (kind, value) in enumerate(labels.items(), 4):
        add(Label, id=6 * number + at, mlmodel_id=key, kind=kind, value=value)
    for at, kind in enumerate((IdentifierKind.CONCEPT, IdentifierKind.VERSION), 1):
        add(
            Identifier, id=2 * number + at, name=f"h{at}{number:08d}", kind=kind,
            repository_kind=RepositoryKind.MODEL, full_name=full_name, mlmodel_id=key,
            oid=oid if kind == IdentifierKind.VERSION else "", minted_at=updated,
            revision_id=key if kind == IdentifierKind.VERSION else None,
        )  # fmt: skip


def _network(add: Any, number: int, chance: random.Random, targets: list[int]) -> None:
    key = number + 1
    # Half of the networks are copies of one of a hundred.
    structure = str(number) if chance.random() < 0.5 else f"copy {chance.randrange(100)}"
    drawn = random.Random(structure)  # noqa: S311 - not a secret
    vector = [drawn.random() ** 3 for _ in range(_DIMENSIONS)]
    length = sum(value * value for value in vector) ** 0.5
    add(
        Graph, id=key, uuid=uuid_of("graph", number), revision_id=key, path="model.onnx",
        is_primary=True, graph_hash=hashlib.sha256(structure.encode()).hexdigest(),
        architecture_class=drawn.choice(list(ArchitectureClass)), parameters=drawn.randrange(10**9),
        signature=_SIGNATURE, operators={}, created_at=BEGIN, facts=_FACTS,
        embedding=[round(value / length, 6) for value in vector],
    )  # fmt: skip
    if number % 10 != 1:
        return
    digest = hashlib.sha256(f"record {number}".encode()).hexdigest()
    target, ratio = chance.choice(targets), round(chance.uniform(0.2, 1.0), 4)
    latency_ns = int(10 ** chance.uniform(3, 9))
    add(
        Record, id=digest, document={}, kind="confirmed", revision_id=key, target_id=target,
        backend="onnxruntime", tolerance="exact", p50_ns=latency_ns, ratio=ratio, ratio_low=ratio,
        ratio_high=ratio, verdict="faster", created_at=BEGIN,
    )  # fmt: skip
    for at, is_baseline in enumerate((True, False)):
        add(
            Build, id=2 * key + at, uuid=uuid_of(f"build {at}", number), graph_id=key,
            target_id=target, config_sha256=hashlib.sha256(f"{at}".encode()).hexdigest(),
            candidate={"backend": "onnxruntime", "options": {}}, runtime="onnxruntime",
            entry_point="model.onnx", tolerance="exact", is_baseline=is_baseline, record_id=digest,
            ratio=1.0 if is_baseline else ratio, verdict="faster", p50_ns=latency_ns,
            created_at=BEGIN,
        )  # fmt: skip
    for at, tolerance in enumerate(ToleranceClass):
        add(
            BestBuild, id=4 * key + at, mlmodel_id=key, target_id=target, tolerance=tolerance,
            build_id=2 * key + 1, p50_ns=latency_ns, ratio=ratio,
        )  # fmt: skip


def uuid_of(kind: str, number: int) -> uuid.UUID:
    return uuid.uuid5(uuid.NAMESPACE_OID, f"{kind} {number}")
