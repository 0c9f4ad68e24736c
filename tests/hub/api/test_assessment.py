"""FAIR scores over the API: the last look, its history, a look asked for, the report."""

from hub.api.v1.fair.assessment import DOCUMENT_EXAMPLE
from registry.schemas import fair_problems
from registry.services.fair.assessment import assessment_add
from registry.services.repository.mlmodel import mlmodel_update
from registry.states import JobKind
from registry.tables import Job
from tests.factories import commit_files
from tests.hub.api.client import Api
from tests.hub.api.scene import Scene
from tests.registry.assessed import document


def test_the_last_look_is_told_with_its_document(anonymous: Api, scene: Scene) -> None:
    found = anonymous.get(f"models/{scene.name}/assessment").ok()
    assert found["document"] == document()
    assert (found["points"], found["of"], found["percent"]) == (3, 4, 75)
    assert (found["model"], found["revision"]) == (scene.name, scene.revision.oid)
    newest = commit_files(scene.mlmodel, {"notes.txt": "new\n"})
    answer = anonymous.get(f"models/{scene.name}/assessment?revision={newest.oid}")
    assert (answer.status, answer.code) == (404, "assessment_not_found")
    again = anonymous.get(f"models/{scene.name}/assessment?revision={scene.revision.oid}")
    assert again.ok() == found


def test_looks_are_listed_newest_first(anonymous: Api, scene: Scene) -> None:
    for points in (1, 2):
        assessment_add(scene.revision, document(points))
    newest = commit_files(scene.mlmodel, {"notes.txt": "new\n"})
    assessment_add(newest, document(4))
    address = f"models/{scene.name}/assessments"
    assert [one["points"] for one in anonymous.all(address, limit=3)] == [4, 2, 1, 3]
    old = anonymous.all(f"{address}?revision={scene.revision.oid}", limit=2)
    assert [one["points"] for one in old] == [2, 1, 3]
    assert "document" not in old[0]


def test_a_writer_asks_for_a_look(as_charlie: Api, scene: Scene) -> None:
    address = f"models/{scene.name}/assessment"
    job = as_charlie.post(address, {}).ok(202)
    assert (job["kind"], job["state"], job["revision"]) == ("assess", "queued", scene.revision.oid)
    assert as_charlie.post(address, {"revision": "main"}).ok(202)["uuid"] == job["uuid"]
    assert Job.objects.filter(kind=JobKind.ASSESS).count() == 1
    commit_files(scene.mlmodel, {"notes.txt": "new\n"})
    refused = as_charlie.post(address, {"revision": scene.revision.oid})
    assert (refused.status, refused.code) == (400, "invalid_request")
    mlmodel_update(actor=None, mlmodel=scene.mlmodel, visibility="private")
    assert as_charlie.post(address, {}).code == "invalid_request"
    assert as_charlie.post(address, {"colour": "red"}).code == "invalid_request"


def test_the_report_tells_of_what_the_asker_may_read(
    anonymous: Api, as_charlie: Api, scene: Scene, secret_scene: Scene
) -> None:
    found = anonymous.get("fair").ok()
    assert (found["records"], found["mean"], found["percents"]) == (1, 75, {"75": 1})
    assert found["gaps"][0]["id"] == "FsF-R1.1-01M"
    assert [one["model"] for one in found["best"]] == [scene.name]
    assert as_charlie.get("fair").ok()["records"] == 2


def test_an_empty_hub_has_a_report(anonymous: Api) -> None:
    assert anonymous.get("fair").ok()["mean"] is None


def test_the_schema_is_served_and_the_example_is_of_it(anonymous: Api) -> None:
    assert anonymous.get("schemas/hpcfair.fair-1.json").ok()["title"] == "hpcfair.fair/1"
    assert fair_problems(DOCUMENT_EXAMPLE) == {}
