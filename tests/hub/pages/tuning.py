"""Builds for pages that show speed, published as workers do."""

from registry.selectors.repository.revision import revision_get
from registry.services.results.build import builds_publish
from registry.services.results.record import record_add
from registry.services.work.attempt import job_claim, job_succeed
from registry.states import JobKind
from registry.tables import Build, Graph, MLModel, User
from tests.factories import make_mlmodel, tiny_onnx
from tests.registry import shopfloor


def publish(
    floor: shopfloor.Floor, *, result: dict[str, object] | None = None, **builds: dict[str, object]
) -> list[Build]:
    """Builds on the target of ``floor``: the default, and one for each of ``builds``; ``result`` is
    that of the search."""
    floor.tune()
    held = job_claim(device_name=floor.device.name, kinds=[JobKind.TUNE], target=floor.target.slug)
    assert held is not None
    handle = {"job_uuid": held.job_uuid, "fence": held.fence}
    columns = []
    defaults = {"is_baseline": True, "ratio": 1.0, "verdict": "same", "p50_ns": 17_300}
    for threads, more in {"all": defaults, **builds}.items():
        document = shopfloor.document(floor.revision, threads, job=held.job_uuid)
        document["target"]["slug"] = floor.target.slug
        record = record_add(**handle, document=document)
        columns.append(shopfloor.build(record.pk, threads, **more))
    made = builds_publish(**handle, builds=columns)
    job_succeed(**handle, result=result or {})
    return made


def publish_queries(
    floor: shopfloor.Floor, *, scenario: str = "offline", **builds: dict[str, object]
) -> list[Build]:
    """Builds in a scenario of queries, beside those of :func:`publish`."""
    samples = 8 if scenario == "multi-stream" else 64
    floor.tune()
    held = job_claim(device_name=floor.device.name, kinds=[JobKind.TUNE], target=floor.target.slug)
    assert held is not None
    handle = {"job_uuid": held.job_uuid, "fence": held.fence}
    columns = []
    defaults: dict[str, object] = {"is_baseline": True, "ratio": 1.0, "verdict": "same"}
    for threads, more in {"all": defaults, **builds}.items():
        document = shopfloor.document(floor.revision, threads, job=held.job_uuid)
        document = shopfloor.offline(document, scenario=scenario, samples=samples)
        document["target"]["slug"] = floor.target.slug
        record = record_add(**handle, document=document)
        execution = {"batch": 16, "streams": "cores"}
        columns.append(
            shopfloor.build(
                record.pk, threads, execution=execution, throughput_per_s=1240.0, **more
            )
        )
    made = builds_publish(**handle, builds=columns, scenario=scenario)
    job_succeed(**handle, result={})
    return made


def floor_of(mlmodel: MLModel, slug: str = shopfloor.SLUG, rank: int = 30) -> shopfloor.Floor:
    """The newest revision of a model with a network, and a device of a target."""
    revision = revision_get(mlmodel)
    target, device = shopfloor.make_machine(slug, name=f"on {slug}", rank=rank)
    graph = Graph.objects.filter(revision=revision).first() or shopfloor.make_graph(revision)
    return shopfloor.Floor(User.objects.get(username="alice"), revision, graph, target, device)


def make_digits(alice: User) -> MLModel:
    """``alice/digits``: no card, a network, its inspection done."""
    mlmodel = make_mlmodel("alice/digits", actor=alice, files={"model.onnx": tiny_onnx()})
    end_inspection()
    return mlmodel


def end_inspection() -> None:
    """Let the oldest inspection that waits succeed."""
    ticket = shopfloor.claim_inspect()
    job_succeed(job_uuid=ticket.job_uuid, fence=ticket.fence, result={"summary": "plain-cnn"})


def publish_digits(digits: MLModel) -> list[Build]:
    """The default, a faster exact build, a slower one, and one of class int8."""
    return publish(
        floor_of(digits),
        half={"ratio": 0.8, "p50_ns": 13_840, "deviation": {"relative_l2": 1e-7}},
        one={"ratio": 1.2, "p50_ns": 20_000, "tolerance": "fp16", "verdict": "slower"},
        two={
            "ratio": 1 / 2.08,
            "p50_ns": 8_300,
            "tolerance": "int8",
            "deviation": {"relative_l2": 0.014},
            "accuracy": 0.986,
            "accuracy_reference": 0.986,
            "runtime": "openvino",
        },
    )
