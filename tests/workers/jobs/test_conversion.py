"""Conversions by inspection jobs, in a real confined child process."""

from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from hpcfair.choice import LoadRequest
from registry.selectors.results.resolution import companions_of, resolve
from registry.selectors.results.runnable import not_runnable
from registry.selectors.storage.blob import blobs_unreferenced
from registry.selectors.work.job import job_ticket
from registry.states import JobKind, JobState
from registry.tables import Conversion, Graph, Job, User
from tests.factories import make_mlmodel
from tests.programs import needs
from tests.registry import shopfloor
from tests.workers.conversion.folders import bert_folder, files_of, stated_weights
from workers.jobs import conversion, run

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

_CONFIG = '{"model_type": "bert", "architectures": ["BertModel"]}'


def inspect(alice: User, files: dict[str, bytes | str]) -> Job:
    """Publish the files and do the inspection as a worker does; the job afterwards."""
    make_mlmodel("alice/net", actor=alice, files=files)
    run.drain([JobKind.INSPECT], here=None)
    return Job.objects.filter(kind=JobKind.INSPECT).latest("id")


@needs("transformers")
def test_weights_and_their_configuration_become_a_network_that_is_tuned_and_loaded(
    alice: User, tmp_path: Path, client: Client
) -> None:
    shopfloor.make_machine()
    job = inspect(alice, files_of(bert_folder(tmp_path / "bert")))
    assert job.state == JobState.SUCCEEDED, job.failure_detail
    graph = Graph.objects.get()
    assert graph.path == "converted/model.onnx"
    shapes = {spec["name"]: spec["shape"] for spec in graph.signature["inputs"]}
    words = ["batch", "sequence"]
    assert shapes == {"input_ids": words, "attention_mask": words, "token_type_ids": words}
    assert [spec["name"] for spec in graph.signature["outputs"]] == ["logits"]
    provenance = Conversion.objects.get().provenance
    assert provenance["architecture"] == "BertForSequenceClassification"
    assert 0 <= provenance["deviation"] < 1e-5
    assert {"config.json", "model.safetensors"} == set(provenance["sources"])
    assert {"torch", "transformers", "onnx"} <= set(provenance["tools"])
    search = Job.objects.get(kind=JobKind.TUNE)
    assert graph.path in {file.path for file in job_ticket(search).files}
    assert not blobs_unreferenced().exists()
    request = LoadRequest(architecture="x86-64", features=[], runtimes={}, tolerance="exact")
    answer = resolve(job.revision, request)
    assert [file.path for file in answer.files] == [graph.path]
    companions = {file.path for file in companions_of(job.revision)}
    assert companions == {"config.json", "tokenizer.json"}
    address = f"/api/v1/models/alice/net/files/{graph.path}?revision={job.revision.oid}"
    response = client.get(address)
    assert b"".join(response.streaming_content)[:1] == b"\x08"  # type: ignore[attr-defined]


def test_weights_larger_than_the_memory_are_refused_from_their_headers(
    alice: User, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversion, "_TOOLS", ())
    settings.CHILD_MEMORY_BYTES = 2**20
    weights = stated_weights(embedding=[500, 500])
    job = inspect(alice, {"config.json": _CONFIG, "model.safetensors": weights})
    assert (job.state, job.failure_code) == (JobState.FAILED, "weights_too_large")
    assert "Its 250,000 weights need 2.8 MiB of memory" in job.failure_detail
    assert "permit 1 MiB" in job.failure_detail
    fault = not_runnable(job.revision)
    assert fault is not None
    assert "Export the network to ONNX" in fault.remedy


def test_a_header_of_a_hundred_megabytes_is_refused(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversion, "_TOOLS", ())
    weights = (100 * 2**20).to_bytes(8, "little") + b"{}"
    job = inspect(alice, {"config.json": _CONFIG, "model.safetensors": weights})
    assert (job.state, job.failure_code) == (JobState.FAILED, "not_convertible")
    assert "says that its header has 104,857,600 bytes" in job.failure_detail


def test_a_worker_without_the_converter_says_what_it_lacks(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversion, "_TOOLS", ("torch_of_nobody",))
    weights = stated_weights(embedding=[2, 2])
    job = inspect(alice, {"config.json": _CONFIG, "model.safetensors": weights})
    assert (job.state, job.failure_code) == (JobState.FAILED, "converter_missing")
    fault = not_runnable(job.revision)
    assert fault is not None
    assert "lacks torch_of_nobody. Operators install hpcfair-hub[convert]" in fault.reason
    assert "export the network to ONNX" in fault.remedy


def test_weights_without_a_type_of_model_are_files(alice: User) -> None:
    weights = stated_weights(embedding=[2, 2])
    make_mlmodel("alice/net", actor=alice, files={"config.json": "{}", "w.safetensors": weights})
    assert not Job.objects.exists()
