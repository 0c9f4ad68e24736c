"""Croissant 1.1, judged by its own library."""

import csv
import io
import json
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.fair.crate import croissant
from registry.fair.crate.graph import NO_LICENSE
from registry.fair.crate.measurements import (
    SAMPLES,
    TABLES,
    TRIALS,
    SampleRow,
    TrialRow,
    options_cell,
    samples_of,
    table_csv,
)
from registry.fair.parts import License
from tests.registry.fair.samples import DATASET, EVERY, LEAST, MOST, file_of
from tests.validators.environments import run

_JUDGE = """
import json, sys
import mlcroissant
found = {}
for path in sys.argv[1:]:
    dataset = mlcroissant.Dataset(path)
    issues = dataset.metadata.ctx.issues
    records = {one.id: [] for one in dataset.metadata.record_sets}
    for name in ("builds", "trials", "samples"):
        if name in records and (name == "builds" or "local" in path):
            records[name] = [dict(row) for row in dataset.records(name)]
    found[path] = {"errors": list(issues.errors), "warnings": list(issues.warnings),
                   "records": records}
print(json.dumps(found, default=str))
"""
_TRIAL = TrialRow(
    trial="t1",
    job="j1",
    number=0,
    target="x86-64-avx512vnni",
    backend="openvino",
    options=options_cell({"b": 1, "a": 'say "<b>", ü'}),
    proposed_by="learned",
    outcome="measured",
    tolerance="int8",
    ratio=0.5,
    p50_ns=1000,
    duration_s=2.5,
    created=datetime(2026, 3, 1, tzinfo=UTC),
)
_MEASUREMENT = {"blocks": [{"candidate_ns": [5, 6], "baseline_ns": [9]}, {"baseline_ns": [8]}]}


def _judge(folder: Path, documents: dict[str, bytes]) -> dict[str, Any]:
    paths = {name: folder / f"{name}.json" for name in documents}
    for name, data in documents.items():
        paths[name].write_bytes(data)
    said = run("croissant", "python", "-c", _JUDGE, *map(str, paths.values()), HOME=str(folder))
    found = json.loads(said.splitlines()[-1])
    return {name: found[str(path)] for name, path in paths.items()}


def _read(data: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(data.decode(), newline="")))


def _local(folder: Path) -> bytes:
    """The log of MOST with its tables beside it."""
    document = croissant.document(MOST)
    tables = {
        "trials.csv": b"".join(table_csv(TRIALS, [_TRIAL])),
        "samples.csv": b"".join(table_csv(SAMPLES, samples_of("t1", _MEASUREMENT))),
    }
    for file in document["distribution"]:
        (folder / file["@id"]).write_bytes(tables[file["@id"]])
        file["contentUrl"] = file["@id"]
    return json.dumps(document).encode()


@pytest.mark.slow
def test_the_official_library_accepts_every_sample_and_reads_its_records(tmp_path: Path) -> None:
    documents = {name: croissant.render(one) for name, one in EVERY.items()}
    odd = file_of("a folder/ünï 𝒳#1?.txt", "text/plain", "other")
    documents["odd"] = croissant.render(replace(DATASET, files=(*MOST.files, odd)))
    found = _judge(tmp_path, documents | {"local": _local(tmp_path)})
    for name, said in found.items():
        assert said["errors"] == [], name
        # Versions here are tags or commits; semantic versioning is only recommended.
        assert all("MAJOR.MINOR.PATCH" in one for one in said["warnings"]), said["warnings"]
    assert list(found["least"]["records"]) == ["trials", "samples"]
    assert found["dataset"]["records"] == {}
    (build,) = found["most"]["records"]["builds"]
    assert build["builds/p50_ns"] == 1_234_567
    (trial,) = found["local"]["records"]["trials"]
    assert trial["trials/p50_ns"] == 1000
    assert len(found["local"]["records"]["samples"]) == 4


@pytest.mark.parametrize("name", EVERY)
def test_shared_fields_agree_with_the_description(name: str) -> None:
    one = EVERY[name]
    document = croissant.document(one)
    assert document["url"] == one.landing
    assert document["version"] == one.version
    assert document["datePublished"] == one.published.isoformat()
    assert document["conformsTo"] == croissant.PROFILE
    assert one.pid in (document["@id"], document.get("isBasedOn", {}).get("@id"))


def test_a_data_set_lists_its_files_with_size_and_checksum() -> None:
    (file,) = croissant.document(DATASET)["distribution"]
    (given_file,) = DATASET.files
    assert file["sha256"] == given_file.sha256
    assert file["contentSize"] == "10000 B"
    assert file["contentUrl"] == given_file.url
    assert croissant.document(DATASET)["license"] == "https://spdx.org/licenses/CC-BY-4.0"


def test_a_licence_without_an_address_is_named() -> None:
    own = replace(LEAST, license=License(expression="LicenseRef-lab", uris=(), name="The lab's"))
    assert croissant.document(own)["license"] == "LicenseRef-lab"


def test_what_is_absent_stays_absent_and_no_licence_is_said_in_the_standards_word() -> None:
    document = croissant.document(LEAST)
    assert document["license"] == NO_LICENSE
    assert document.keys().isdisjoint({"creator", "keywords", "inLanguage"})
    assert [one["@id"] for one in document["recordSet"]] == ["trials", "samples"]


def test_a_log_is_live_and_so_its_tables_have_no_checksum() -> None:
    document = croissant.document(MOST)
    assert document["isLiveDataset"] is True
    for file, table in zip(document["distribution"], TABLES, strict=True):
        assert file["contentUrl"] == croissant.table_url(MOST, table)
        assert "sha256" not in file


def test_a_ratio_that_is_not_known_is_null() -> None:
    (build,) = MOST.builds
    plain = replace(build, benchmark=replace(build.benchmark, ratio=None))
    document = croissant.document(replace(MOST, builds=(plain,)))
    assert document["recordSet"][-1]["data"][0]["builds/ratio"] is None


def test_fields_name_the_columns_of_the_file() -> None:
    sets = {one["@id"]: one for one in croissant.document(MOST)["recordSet"]}
    for table in TABLES:
        (header,) = _read(b"".join(table_csv(table, [])))
        columns = [one["source"]["extract"]["column"] for one in sets[table.name]["field"]]
        assert columns == header == [one.name for one in fields(table.row)]
    (reference,) = [one for one in sets["samples"]["field"] if "references" in one]
    assert reference["references"] == {"field": {"@id": "trials/trial"}}


def test_a_row_comes_back_from_its_file() -> None:
    header, row = _read(b"".join(table_csv(TRIALS, [_TRIAL])))
    values = dict(zip(header, row, strict=True))
    assert json.loads(values["options"]) == {"a": 'say "<b>", ü', "b": 1}
    assert values["predicted_ratio"] == ""
    assert values["ratio"] == "0.5"
    assert values["created"] == "2026-03-01T00:00:00+00:00"


def test_samples_keep_the_order_they_were_taken_in() -> None:
    rows = list(samples_of("t1", _MEASUREMENT))
    assert [(one.block, one.side, one.run, one.latency_ns) for one in rows] == [
        (0, "candidate", 0, 5),
        (0, "candidate", 1, 6),
        (0, "baseline", 0, 9),
        (1, "baseline", 0, 8),
    ]
    assert list(samples_of("t1", {})) == []
    assert all(isinstance(one, SampleRow) for one in rows)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_text_of_strangers_survives(text: str) -> None:
    said = croissant.render(replace(DATASET, title=text or "-", description=text or None))
    document = json.loads(said)
    assert document["name"] == (text or "-")
    assert document["description"] == text or not text


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_text_of_strangers_survives_in_a_table(text: str) -> None:
    _, row = _read(b"".join(table_csv(TRIALS, [replace(_TRIAL, backend=text)])))
    assert row[4] == text
