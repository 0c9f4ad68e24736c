"""A small shop floor for tests of work and results: a model, its network, a target, a device."""

import copy
import hashlib
import json
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.utils import timezone
from hypothesis import strategies as st

from hpcfair.tickets import GraphFacts, JobTicket
from registry import schemas
from registry.services.work.attempt import job_claim
from registry.services.work.device import device_register
from registry.services.work.job import job_submit
from registry.services.work.target import target_register
from registry.states import JobKind, NamespaceKind, RefKind, Role, Visibility
from registry.tables import (
    Blob,
    Device,
    Graph,
    Job,
    Membership,
    MLModel,
    Namespace,
    OutboxEntry,
    Ref,
    Revision,
    Target,
    User,
)
from tests import factories

EXAMPLE = json.loads((Path(schemas.__file__).parent / "examples" / "squeezenet.json").read_bytes())
SLUG = "x86-64-avx512"

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"]))
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=10,
)  # fmt: skip


@dataclass(frozen=True)
class Floor:
    """Everything a job hangs on."""

    alice: User
    revision: Revision
    graph: Graph
    target: Target
    device: Device

    def tune(self, **options: Any) -> Job:
        """A queued tune job."""
        return job_submit(
            actor=None, kind=JobKind.TUNE, revision=self.revision, target=self.target, **options
        )

    def claim(self, kind: JobKind = JobKind.TUNE) -> JobTicket:
        """The best job of a kind for this target, claimed by this device."""
        ticket = job_claim(device_name=self.device.name, kinds=[kind], target=SLUG)
        assert ticket is not None
        return ticket


def floor(name: str = "alice/squeezenet", *, private: bool = False) -> Floor:
    """A fresh floor; call again with another name for another model on the same machine."""
    revision = make_revision(name, private=private)
    target, device = make_machine()
    return Floor(
        alice=User.objects.get(username=name.split("/", maxsplit=1)[0]),
        revision=revision,
        graph=make_graph(revision),
        target=target,
        device=device,
    )


def claim_inspect() -> JobTicket:
    """The oldest inspection that waits, claimed."""
    ticket = job_claim(device_name=None, kinds=[JobKind.INSPECT], target=None)
    assert ticket is not None
    return ticket


def make_machine(
    slug: str = SLUG,
    *,
    name: str = "floor-1",
    rank: int = 30,
    features: tuple[str, ...] = ("avx2",),
) -> tuple[Target, Device]:
    """A target and a device of it, registered."""
    target = target_register(
        slug=slug, title=slug, architecture="x86-64", features=list(features), rank=rank
    )
    return target, device_register(name=name, target=target, facts={"cores": 2})


def make_blob(content: bytes) -> Blob:
    """A row of a blob; nothing here reads its bytes."""
    sha256 = hashlib.sha256(content).hexdigest()
    git_oid = hashlib.sha1(content, usedforsecurity=False).hexdigest()
    row, _ = Blob.objects.get_or_create(
        sha256=sha256, defaults={"size_bytes": len(content), "git_oid": git_oid}
    )
    return row


def make_revision(name: str, *, private: bool = False) -> Revision:
    """A revision that holds ``model.onnx``, owned by the person in front of the slash."""
    owner, _, short = name.partition("/")
    user, _ = User.objects.get_or_create(username=owner)
    namespace, _ = Namespace.objects.get_or_create(name=owner, kind=NamespaceKind.USER)
    Membership.objects.get_or_create(namespace=namespace, user=user, role=Role.ADMIN)
    mlmodel = MLModel.objects.create(
        namespace=namespace,
        name=short,
        visibility=Visibility.PRIVATE if private else Visibility.PUBLIC,
        updated_at=timezone.now(),
    )
    # As services do: an index of this row is not continued by a test that has other rows.
    OutboxEntry.objects.create(mlmodel_uuid=mlmodel.uuid)
    oid = hashlib.sha1(name.encode(), usedforsecurity=False).hexdigest()
    revision = factories.revision_row(
        mlmodel,
        oid=oid,
        tree_oid=oid,
        author_line="Alice <alice@example.org> 0 +0000",
        message="first",
        created_at=timezone.now(),
        card={"license": "apache-2.0"},
    )
    Ref.objects.create(mlmodel=mlmodel, kind=RefKind.BRANCH, name="main", revision=revision)
    blob = make_blob(b"weights of " + name.encode())
    factories.file_row(revision, "model.onnx", blob, is_lfs=True)
    return revision


def make_facts(path: str = "model.onnx") -> GraphFacts:
    """Facts of a small network."""
    return GraphFacts(
        path=path,
        graph_hash="a" * 64,
        architecture_class="plain-cnn",
        parameters=10,
        macs=None,
        signature={
            "inputs": [{"name": "x", "dtype": "float32", "shape": ["N", 3]}],
            "outputs": [{"name": "y", "dtype": "float32", "shape": ["N", 10]}],
        },
        operators={"Conv": 1},
        embedding=[0.6, 0.8],
        opsets={"ai.onnx": 21},
        ir_version=10,
        producer="test 1",
        external_data=[],
        weight_bytes=40,
    )


def make_graph(revision: Revision) -> Graph:
    """The primary graph of ``model.onnx``."""
    graph = graph_row(revision)
    graph.save()
    return graph


def graph_row(revision: Revision) -> Graph:
    """:func:`make_graph`, not saved."""
    facts = make_facts()
    return Graph(
        revision=revision,
        path=facts.path,
        is_primary=True,
        graph_hash=facts.graph_hash,
        architecture_class=facts.architecture_class,
        parameters=facts.parameters,
        signature=facts.signature,
        operators=facts.operators,
        embedding=facts.embedding,
        facts={
            "opsets": facts.opsets,
            "ir_version": facts.ir_version,
            "producer": facts.producer,
            "external_data": facts.external_data,
            "weight_bytes": facts.weight_bytes,
            "forms": facts.forms,
            "integer_bounds": facts.integer_bounds,
            "weight_dtypes": facts.weight_dtypes,
            "convolutions": facts.convolutions,
            "format": facts.format,
        },
    )


def candidate(threads: str = "all") -> dict[str, Any]:
    """A configuration of ONNX Runtime."""
    return {"backend": "onnxruntime", "options": {"threads": threads}}


def trial(number: int = 1, threads: str = "all", **columns: Any) -> dict[str, Any]:
    """A measured trial, as ``trial_add`` takes it."""
    return {
        "search_key": "b" * 64,
        "number": number,
        "config_sha256": schemas.sha256_of(candidate(threads)),
        "candidate": candidate(threads),
        "proposed_by": "tpe",
        "outcome": "measured",
        "tolerance": "exact",
        "ratio": 0.8,
        "duration_s": 1.5,
        **columns,
    }


def document(revision: Revision, threads: str = "all", *, job: str = "") -> dict[str, Any]:
    """The worked example, made to be about the floor; without its id."""
    made: dict[str, Any] = copy.deepcopy(EXAMPLE)
    del made["record_id"]
    config = candidate(threads)
    made["identity"] |= {
        "mlmodel": revision.mlmodel.full_name,
        "revision": revision.oid,
        "model_sha256": revision.files.get(path="model.onnx").blob_id,
        "config_sha256": schemas.sha256_of(config),
        "artifact_sha256": schemas.artifact_sha256(artefact(threads)),
    }
    made["config"] |= config
    made["provenance"] |= {"job": job or str(uuid.uuid4())}
    return made


def offline(
    made: dict[str, Any], batch: int = 16, scenario: str = "offline", samples: int = 64
) -> dict[str, Any]:
    """The same record as one of queries, which both sides compute in batches."""
    made["protocol"] |= {
        "scenario": scenario,
        "samples_per_run": samples,
        "batch": {"baseline": 8, "candidate": batch},
        "streams": {"baseline": 1, "candidate": 2},
        "sweep": [
            {"side": side, "batch": size, "streams": 1, "throughput_per_s": 100.0 * size}
            for side in ("baseline", "candidate")
            for size in (1, 8)
        ],
    }
    for side in made["statistics"].values():
        side["throughput_per_s"] = 1e9 * samples / side["mean_ns"]
    return made


def artefact(threads: str = "all") -> dict[str, str]:
    """Files of a build: path to digest of a stored blob."""
    return {"model.ort": make_blob(f"artefact with {threads} threads".encode()).sha256}


def call_site(name: str, median_ns: int, *nodes: tuple[int, str], **columns: Any) -> dict[str, Any]:
    """A call site as part of :func:`profile`; ``nodes`` are positions with grades."""
    return {
        "name": name,
        "operator": "Conv",
        "median_ns": median_ns,
        "mad_ns": 1,
        "runs": 5,
        "nodes": [{"index": index, "grade": grade} for index, grade in nodes],
        **columns,
    }


def profile(**changes: Any) -> dict[str, Any]:
    """A profile, as ``profile_store`` takes it: five nodes, three call sites, one kernel."""
    code = {"asm": make_blob(b"vfmadd231ps").sha256}
    kernel = {"symbol": "conv", "workload": "c" * 64, "schedule": [["Split", 8]], "code": code}
    sites = [
        call_site("reorder", 5, (0, "shared"), precision="float32"),
        call_site("stem", 60, (0, "exact"), (1, "inferred"), kernel="conv", precision="bfloat16"),
        call_site("head", 30, (2, "exact"), (3, "shared"), kernel="conv", precision="bfloat16"),
    ]
    return {
        "method": "onnxruntime 1.31.1 profiler",
        "total_ns": 100,
        "folded": [4],
        "kernels": [kernel],
        "call_sites": sites,
        **changes,
    }


def build(record_id: str, threads: str = "all", **columns: Any) -> dict[str, Any]:
    """A build, as ``builds_publish`` takes it."""
    return {
        "config_sha256": schemas.sha256_of(candidate(threads)),
        "candidate": candidate(threads),
        "runtime": "onnxruntime",
        "runtime_options": {"threads": threads},
        "entry_point": "model.ort",
        "tolerance": "exact",
        "is_baseline": False,
        "record_id": record_id,
        "ratio": 0.8,
        "verdict": "faster",
        "p50_ns": 3_000_000,
        "deviation": {"max_absolute": 1e-6},
        "files": artefact(threads),
        **columns,
    }
