"""Every snippet of the pages runs in a new environment, copied as it stands."""

import re
from pathlib import Path

import pytest
from django.test import Client

from hpcfair.commands.exitstatus import NOT_REPRODUCED
from registry.selectors.repository.revision import revision_get, text_of
from registry.states import JobKind, RepositoryKind
from registry.tables import Build, MLModel, User
from tests.factories import make_mlmodel, make_token, readme
from tests.programs import needs
from tests.snippets.blocks import Block, blocks_of_page, run
from tests.snippets.conftest import NAME
from workers.jobs.run import drain

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


def shown(client: Client, path: str) -> dict[str, list[Block]]:
    answer = client.get(path, headers={"accept": "text/html"})
    assert answer.status_code == 200
    return blocks_of_page(answer.content.decode())


@pytest.mark.usefixtures("digits")
def test_the_snippets_of_a_tolerance_load_its_build(client: Client, tmp_path: Path) -> None:
    groups = shown(client, f"/{NAME}")
    for tolerance in ("exact", "int8"):
        for way in ("hpcfair", "command"):
            output = run(groups[f"{way}-{tolerance}"], tmp_path / f"{way}-{tolerance}")
            assert f"{NAME} at revision" in output
            assert re.search(rf"^ +chosen .*\[{tolerance}\]$", output, re.MULTILINE), output


@pytest.mark.usefixtures("digits")
def test_the_snippet_of_an_error_loads_the_build_of_that_error(
    client: Client, tmp_path: Path
) -> None:
    output = run(shown(client, f"/{NAME}")["price-0.014"], tmp_path)
    assert re.search(r"^ +in short .*differ by 1.4 % \(limit 1.4 %\)", output, re.MULTILINE)
    assert re.search(r"^ +chosen .*\[int8\]$", output, re.MULTILINE), output


@pytest.mark.usefixtures("digits")
def test_the_snippet_of_an_accuracy_loads_the_fastest_build_of_it(
    client: Client, tmp_path: Path
) -> None:
    output = run(shown(client, f"/{NAME}")["accuracy-0.971"], tmp_path)
    assert re.search(r"^ +asked for .*, accuracy at least 97.10%$", output, re.MULTILINE), output
    assert re.search(r"^ +chosen .*\[int8\]$", output, re.MULTILINE), output


@pytest.mark.usefixtures("digits")
def test_the_snippet_of_the_throughput_runs_many_samples(client: Client, tmp_path: Path) -> None:
    output = run(shown(client, f"/{NAME}")["offline-exact"], tmp_path)
    assert re.search(r"^ +scenario +offline: 1000 samples/s, batch 4", output, re.MULTILINE)
    # Two batches of two rows each.
    assert output.count("[[") == 2
    output = run(shown(client, f"/{NAME}")["multi-stream-exact"], tmp_path / "queries")
    assert re.search(r"^ +scenario +multi-stream: 1000 samples/s, batch 4", output, re.MULTILINE)
    assert output.count("[[") == 8


@pytest.mark.usefixtures("digits")
@needs("git-lfs")
def test_the_files_are_fetched_by_other_programs(client: Client, tmp_path: Path) -> None:
    groups = shown(client, f"/{NAME}")
    for key in ("library", "hf", "git"):
        run(groups[key], tmp_path / key)
        fetched = [path for path in (tmp_path / key).rglob("model.onnx") if path.stat().st_size]
        assert fetched, key


@pytest.mark.usefixtures("digits")
def test_builds_are_run_on_the_test_tensors(client: Client, tmp_path: Path) -> None:
    assert "Reproduced: " in run(shown(client, f"/{NAME}/builds")["reproduce"], tmp_path)


@pytest.mark.usefixtures("digits")
def test_a_record_is_measured_again(client: Client, tmp_path: Path) -> None:
    baseline = Build.objects.get(is_baseline=True, scenario="single-stream")
    (block,) = shown(client, f"/records/{baseline.record_id}")["measure-again"]
    # The record's figures are made up, so this machine may contradict them.
    tolerant = Block("sh", f"{block.text} || test $? = {NOT_REPRODUCED}")
    output = run([tolerant], tmp_path)
    assert re.search(r"^  here +\S+ \S+ median", output, re.MULTILINE), output


@pytest.mark.usefixtures("digits", "inspector")
def test_a_folder_is_pushed(client: Client, charlie: User, tmp_path: Path) -> None:
    client.force_login(charlie)
    (tmp_path / "files").mkdir()
    (tmp_path / "files/notes.md").write_text("# Notes\n")
    push = shown(client, f"/{NAME}/upload")["push"]
    run(push, tmp_path, typed=f"{make_token(charlie)}\n")
    revision = revision_get(MLModel.objects.get())
    assert text_of(revision, "notes.md", most_bytes=99) == "# Notes\n"


@pytest.mark.usefixtures("digits")
def test_the_sample_of_the_front_page_runs(client: Client, tmp_path: Path) -> None:
    assert NAME in run(shown(client, "/")["sample"], tmp_path)


@pytest.mark.usefixtures("hub")
def test_what_is_private_is_loaded_after_signing_in(
    client: Client, secret: MLModel, charlie: User, tmp_path: Path
) -> None:
    drain([JobKind.INSPECT], here=None)
    client.force_login(charlie)
    groups = shown(client, f"/{secret.full_name}")
    # `hf auth login` of the other snippets opens a browser.
    output = run(groups["hpcfair-exact"], tmp_path, typed=f"{make_token(charlie)}\n")
    assert secret.full_name in output


@pytest.mark.usefixtures("hub")
def test_a_data_set_is_fetched(client: Client, tmp_path: Path, charlie: User, lab: object) -> None:
    files = {"README.md": readme("# Sky\n"), "train.csv": "a,b\n1,2\n"}
    make_mlmodel("lab/sky", actor=charlie, files=files, kind=RepositoryKind.DATASET)
    groups = shown(client, "/datasets/lab/sky")
    for key in ("library", "hf"):
        run(groups[key], tmp_path / key)


@pytest.mark.usefixtures("digits")
def test_no_snippet_is_left_out(client: Client) -> None:
    assert set(shown(client, f"/{NAME}")) == {
        "hpcfair-exact", "hpcfair-int8", "command-exact", "command-int8", "price-0.014",
        "accuracy-0.971", "offline-exact", "multi-stream-exact", "library", "hf", "git",
    }  # fmt: skip
