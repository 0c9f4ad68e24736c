"""Pages everybody may read."""

import re

import pytest
from django.test import Client

from registry.services.repository.mlmodel import mlmodel_create
from registry.tables import Build, MLModel, User
from tests.hub.pages.conftest import Tuned, fail_inspection

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("kept_tuned")]


def text(client: Client, path: str, status: int = 200) -> str:
    answer = client.get(path)
    assert answer.status_code == status, answer.content[:500]
    return answer.content.decode()


def status(client: Client, path: str) -> int:
    answer = client.get(path)
    if answer.streaming:
        # Read to its end, the answer closes its file.
        assert b"".join(answer)
    return answer.status_code


def test_a_stranger_learns_on_the_front_page_what_the_hub_is(client: Client, tuned: Tuned) -> None:
    page = text(client, "/")
    assert "Publish a model once" in page
    assert "hpcfair.load" in page
    assert "alice/stars" in page
    assert "1.25 times as fast" in page


def test_the_catalogue_finds_by_words_and_facets(client: Client, tuned: Tuned) -> None:
    assert "alice/stars" in text(client, "/models?q=stars")
    assert "alice/stars" in text(client, "/models?task=image-classification")
    nothing = text(client, "/models?q=nebula")
    assert "No model matches" in nothing
    assert 'href="/models">Show all models' in nothing


def test_a_wrong_query_says_what_was_meant(client: Client, tuned: Tuned) -> None:
    assert "license" in text(client, "/models?q=lizense:mit", 400)


def test_the_model_page_shows_card_signature_builds_and_how_to_load(
    client: Client, tuned: Tuned
) -> None:
    page = text(client, tuned.path)
    assert "hpcfair.load(&quot;alice/stars&quot;)" in page
    assert "It counts stars" in page
    assert "float32[N,3]" in page
    assert "1.25 times as fast" in page


def test_a_card_cannot_run_scripts(client: Client, tuned: Tuned) -> None:
    page = text(client, tuned.path)
    assert "<script>alert" not in page
    assert "<b>boldly" not in page


def test_builds_show_interval_error_and_proof(client: Client, tuned: Tuned) -> None:
    page = text(client, f"{tuned.path}/builds")
    assert "threads=half" in page
    assert f"/records/{tuned.record.pk}" in page
    assert "&lt; 0.01 %" in page
    assert "<svg" in page


def test_files_can_be_listed_looked_at_and_fetched(client: Client, tuned: Tuned) -> None:
    assert "notes.txt" in text(client, f"{tuned.path}/tree/main")
    assert "by hand" in text(client, f"{tuned.path}/blob/main/notes.txt")
    answer = client.get(f"{tuned.path}/raw/main/notes.txt")
    assert b"".join(answer) == b"by hand\n"


def test_history_and_jobs_of_a_model(client: Client, tuned: Tuned) -> None:
    assert "Change files" in text(client, f"{tuned.path}/history")
    assert f"/jobs/{tuned.job.uuid}" in text(client, f"{tuned.path}/jobs")


def test_a_job_shows_its_trials_and_their_course(client: Client, tuned: Tuned) -> None:
    page = text(client, f"/jobs/{tuned.job.uuid}")
    assert "it fell over" in page
    assert "Course of the search" in page
    assert "threads=half" in page


def test_jobs_can_be_narrowed(client: Client, tuned: Tuned) -> None:
    assert str(tuned.job.uuid) in text(client, "/jobs?kind=tune&state=succeeded")
    assert str(tuned.job.uuid) not in text(client, "/jobs?kind=inspect")


def test_polling_stops_when_the_job_has_ended(client: Client, tuned: Tuned) -> None:
    answer = client.get(f"/jobs/{tuned.job.uuid}", headers={"HX-Request": "true"})
    assert b"<html" not in answer.content
    assert b"hx-get" not in answer.content
    assert b"1.25x" in answer.content
    assert client.get("/jobs", headers={"HX-Request": "true"}).status_code == 286


def test_targets_show_their_devices(client: Client, tuned: Tuned) -> None:
    assert "floor-1" in text(client, "/targets")
    page = text(client, "/targets/x86-64-avx512")
    assert "floor-1" in page
    assert "alice/stars" in page


def test_a_record_shows_its_samples_and_how_to_repeat_it(client: Client, tuned: Tuned) -> None:
    assert tuned.record.pk[:10] in text(client, "/records")
    page = text(client, f"/records/{tuned.record.pk}")
    assert f"hpcfair bench reproduce {tuned.record.pk}" in page
    assert "Latencies of all samples" in page
    assert "Median of this build" in page


def test_a_build_shows_where_its_time_goes(client: Client, tuned: Tuned) -> None:
    baseline, faster = Build.objects.order_by("-is_baseline")
    assert f"/builds/{faster.uuid}" in text(client, "/alice/stars/builds")
    page = text(client, f"/builds/{faster.uuid}")
    assert "do not add up" in page
    address = f"/alice/stars/perf?build={faster.uuid}"
    assert f'href="{address}"' in page
    times = text(client, address)
    rows = re.findall(r'<tr id="row-\d+">.*?</tr>', times, re.DOTALL)
    # Longest first, with the share of the run, the precision and the nodes.
    for row, columns in zip(
        rows,
        [
            (">stem<", "30.0 %", "bfloat16", ">0, 1 <"),
            (">head<", "15.0 %", "bfloat16", ">2, 3 <"),
            (">reorder<", "2.5 %", "float32", ">0 <"),
        ],
        strict=True,
    ):
        for column in columns:
            assert column in row
    # The calls take 95 of the 200 ns of the run: linked to nodes, not linked, between them.
    parts = re.search(r'class="reconcile-keys">(.*?)</ul>', times, re.DOTALL)
    assert parts is not None
    assert re.findall(r"<strong>(.*?)</strong>", parts[1]) == ["47.5 %", "0.0 %", "52.5 %"]
    assert "The calls take 95 ns together, the run 200 ns" in times
    assert f'href="/api/v1/builds/{faster.uuid}/files/model.ort" download' in page
    assert "No profile" in text(client, f"/builds/{baseline.uuid}")


def test_the_layers_of_a_build_of_mixed_precision_are_listed(client: Client, tuned: Tuned) -> None:
    _, faster = Build.objects.order_by("-is_baseline")
    pages = (f"/builds/{faster.uuid}", f"/alice/stars/perf?build={faster.uuid}")
    assert all("Precision of each layer" not in text(client, page) for page in pages)
    rows = [("stem", "float32", 0.0, 0.0), ("<i>head", "int8", 0.0042, 1.5e-5)]
    faster.candidate["options"]["precision"] = "mixed"
    faster.provenance["mixed_precision"] = {
        "limit": 0.01,
        "error": 0.0084,
        "layers": [
            {"nodes": [node], "precision": precision, "error": error, "saved_s": saved}
            for node, precision, error, saved in rows
        ],
    }
    faster.save(update_fields=["candidate", "provenance"])
    for page in pages:
        assert "Weights of" not in text(client, page)
    faster.provenance["weight_rounding"] = {"source": "samples", "runs": 8, "layers": 1}
    faster.save(update_fields=["provenance"])
    for page in pages:
        panel = text(client, page).partition('id="precisions"')[2].partition("</section>")[0]
        assert "at most 1 %; 0.84 % is expected" in panel
        for cell in (">stem<", ">&lt;i&gt;head<", ">int8 1<", ">0.42 %<", ">+15.0 µs<"):
            assert cell in panel
        assert "Weights of 1 layer are rounded" in panel
        assert "8 runs with the model's samples" in panel
    faster.provenance["weight_rounding"]["source"] = "random"
    faster.save(update_fields=["provenance"])
    assert all("8 runs with random inputs" in text(client, page) for page in pages)
    faster.provenance["weight_rounding"]["layers"] = "inf"
    faster.save(update_fields=["provenance"])
    assert all("Precision of each layer" not in text(client, page) for page in pages)
    faster.provenance["weight_rounding"]["layers"] = 1
    faster.provenance["mixed_precision"]["layers"][0]["error"] = "nan"
    faster.save(update_fields=["provenance"])
    assert all("Precision of each layer" not in text(client, page) for page in pages)


def test_a_broken_file_is_explained_on_the_model_page(client: Client, galaxy: MLModel) -> None:
    fail_inspection(galaxy)
    page = text(client, "/lab/galaxy-cnn")
    assert "onnx_truncated" in page
    assert "Upload it again" in page


@pytest.mark.parametrize("tab", ["", "/builds", "/jobs", "/tree/main", "/history", "/lineage"])
def test_a_model_that_cannot_be_run_says_so_on_every_tab_and_offers_no_loading(
    client: Client, galaxy: MLModel, tab: str
) -> None:
    fail_inspection(galaxy)
    page = text(client, f"/lab/galaxy-cnn{tab}")
    assert "cannot be run" in page
    assert "publish it again" in page
    assert "hpcfair.load(" not in page


def test_a_held_model_says_when_it_will_be_public(client: Client, alice: User) -> None:
    mlmodel_create(actor=alice, namespace="alice", name="new", hold=True)
    assert status(client, "/alice/new") == 404
    client.force_login(alice)
    page = text(client, "/alice/new")
    assert "until its files have passed their checks" in page
    assert "Export the network to ONNX" in page


@pytest.mark.parametrize(
    "path",
    ["/nobody", "/alice/none", "/targets/none", "/records/none", "/a/b/c/d/e",
     "/jobs/00000000-0000-0000-0000-000000000000", "/jobs?before=x", "/alice/stars/tree/none",
     "/records?before=x"],
)  # fmt: skip
def test_what_is_not_there_is_a_page_that_says_so(client: Client, tuned: Tuned, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code in {400, 404}
    assert b"masthead" in answer.content


def test_a_private_model_is_not_there_for_strangers(
    client: Client, secret: MLModel, alice: User, charlie: User
) -> None:
    tails = ("", "/tree/main", "/blob/main/README.md", "/raw/main/README.md", "/builds",
             "/history", "/jobs", "/upload")  # fmt: skip
    for user, expected in ((None, 404), (alice, 404), (charlie, 200)):
        if user:
            client.force_login(user)
        found = {tail: status(client, f"/lab/secret{tail}") for tail in tails}
        assert found == dict.fromkeys(tails, expected)
