"""Record sets of a public data set: read by the official library from a running hub."""

import json
from typing import Any

import pytest
from django.test import Client
from pytest_django.live_server_helper import LiveServer

from registry.services.repository.mlmodel import mlmodel_update
from registry.states import Gate, JobKind, RepositoryKind
from registry.tables import DataTable, Job, MLModel, User
from tests.factories import commit_files, make_mlmodel, readme
from tests.validators.environments import run as run_validator
from workers.jobs import run

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

_READER = """
import json, sys
import mlcroissant
dataset = mlcroissant.Dataset(sys.argv[1])
issues = dataset.metadata.ctx.issues
names = [one.id for one in dataset.metadata.record_sets]
print(json.dumps({"errors": list(issues.errors),
                  "rows": {name: list(dataset.records(name)) for name in names}}, default=str))
"""
_FILES: dict[str, bytes | str] = {
    "README.md": readme(),
    "train.csv": "id,label,weight,a b\n1,x,0.5,true\n2,,1,false\n",
    "data/test.jsonl": '{"id": 1, "tags": ["p", "q"]}\n{"id": 2, "tags": []}\n',
    "odd.csv": "1,2\n3,4\n",
}


def publish(alice: User) -> MLModel:
    row = make_mlmodel("alice/rows", actor=alice, files=_FILES, kind=RepositoryKind.DATASET)
    run.drain([JobKind.TABLES], here=None)
    return row


def test_the_official_library_yields_the_rows_of_a_public_data_set(
    live_server: LiveServer, alice: User, settings: Any, tmp_path: Any
) -> None:
    settings.HUB_URL = live_server.url
    publish(alice)
    url = f"{live_server.url}/datasets/alice/rows/metadata/croissant"
    answer = json.loads(
        run_validator("croissant", "python", "-c", _READER, url, HOME=str(tmp_path)).splitlines()[
            -1
        ]
    )
    assert answer["errors"] == []
    rows = answer["rows"]
    assert list(rows) == ["data-test", "train"]
    # The library has bytes for text.
    first, second = rows["train"]
    assert (first["train/id"], first["train/label"], first["train/weight"]) == (1, "b'x'", 0.5)
    assert (second["train/id"], second["train/label"]) == (2, None)
    assert True in first.values()
    assert rows["data-test"][0] == {"data-test/id": 1, "data-test/tags": ["b'p'", "b'q'"]}


def test_the_page_shows_columns_and_files_are_read_once(alice: User, client: Client) -> None:
    mlmodel = publish(alice)
    page = client.get("/datasets/alice/rows").content.decode()
    assert "2 rows, 4 columns" in page
    count = DataTable.objects.count()
    commit_files(mlmodel, {"more.csv": "n\n1\n"}, actor=alice)
    run.drain([JobKind.TABLES], here=None)
    newest = Job.objects.filter(kind=JobKind.TABLES).latest("id")
    assert newest.result["summary"] == "1 files read"
    assert DataTable.objects.count() == count + 1


def test_columns_of_a_gated_data_set_are_not_shown(alice: User, client: Client) -> None:
    mlmodel = publish(alice)
    mlmodel_update(actor=alice, mlmodel=mlmodel, gate=Gate.MANUAL)
    page = client.get("/datasets/alice/rows").content.decode()
    assert "columns</p>" not in page
    document = client.get("/datasets/alice/rows/metadata/croissant").json()
    assert "recordSet" not in document
