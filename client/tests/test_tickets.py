"""Tickets are read from JSON unchanged, and unknown members are ignored."""

import json
from dataclasses import asdict
from typing import Any

import pytest

from hpcfair.tickets import (
    BuildTicket,
    FileTicket,
    GraphFacts,
    JobTicket,
    TensorTicket,
    parse_test_path,
)

FILE = FileTicket("net/model.onnx", "a" * 64, 12)
GRAPH = GraphFacts(
    path="net/model.onnx",
    graph_hash="b" * 64,
    architecture_class="plain-cnn",
    parameters=10,
    macs=None,
    signature={"inputs": [], "outputs": []},
    operators={"Conv": 1},
    embedding=[0.6, 0.8],
    opsets={"ai.onnx": 21},
    ir_version=10,
    producer="test 1",
    external_data=[],
    weight_bytes=40,
)
JOB = JobTicket(
    job_uuid="0" * 32,
    kind="tune",
    attempt=1,
    fence=2,
    lease_s=60.0,
    mlmodel="alice/net",
    revision_oid="c" * 40,
    target="x86-64",
    device="rack-1",
    parameters={"trials": 3},
    files=(FILE,),
    graph=GRAPH,
    settings={"tune_budget_s": 120.0},
    banned=("d" * 64,),
)
BUILD = BuildTicket(
    uuid="0" * 32,
    backend="onnxruntime",
    runtime="onnxruntime",
    runtime_options={"threads": "all"},
    entry_point="model.onnx",
    tolerance="exact",
    is_baseline=True,
    files=(FILE,),
)
TENSOR = TensorTicket(number=0, side="input", index=0, name="x", is_made=False, file=FILE)
TICKETS = (FILE, GRAPH, JOB, BUILD, TENSOR)


@pytest.mark.parametrize("ticket", TICKETS, ids=lambda one: type(one).__name__)
def test_tickets_are_read_as_they_were_written(ticket: Any) -> None:
    document = json.loads(json.dumps(asdict(ticket)))
    assert type(ticket).from_json({**document, "of_a_newer_hub": [1]}) == ticket


def test_newer_fields_of_a_ticket_have_defaults() -> None:
    document = asdict(JOB)
    for name in ("settings", "banned", "card", "yields"):
        del document[name]
    document["graph"] = None
    ticket = JobTicket.from_json(document)
    assert (ticket.settings, ticket.banned, ticket.graph) == ({}, (), None)


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("test_data_set_0/input_0.pb", (0, "input", 0)),
        ("test_data_set_12/output_3.pb", (12, "output", 3)),
        ("test_data_set_01/input_0.pb", None),
        ("test_data_set_0/input_0.pb\n", None),
        ("test_data_set_\N{ARABIC-INDIC DIGIT ONE}/input_0.pb", None),
        ("test_data_set_1000000/input_0.pb", None),
        ("a/test_data_set_0/input_0.pb", None),
        ("test_data_set_0/label_0.pb", None),
    ],
)
def test_a_test_path_is_parsed_or_rejected(path: str, place: tuple[int, str, int] | None) -> None:
    assert parse_test_path(path) == place
