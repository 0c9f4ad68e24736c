"""Looking through the files of a revision, and at what a commit changed."""

import json
import struct

import pytest
from django.test import Client

from registry.services.discussion.discussion import pull_request_open
from registry.services.repository.mlmodel import mlmodel_move
from registry.services.repository.ref import ref_create
from registry.states import RefKind
from registry.tables import MLModel, Revision, User
from tests.factories import commit_files
from tests.hub.pages.test_reading import status, text

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("cast")]

ROOT = "/lab/galaxy-cnn"


@pytest.fixture
def nested(galaxy: MLModel, charlie: User) -> Revision:
    """A revision with folders."""
    files = {"data/a.txt": "one\n", "data/deep/b.txt": "two\n", "data/deep/c.bin": b"\x00\xff" * 9}
    return commit_files(galaxy, files, actor=charlie, message="Add data\n\nFrom the archive.")


def test_a_folder_is_listed_with_sizes_and_last_changes(client: Client, nested: Revision) -> None:
    page = text(client, f"{ROOT}/tree/main")
    assert "3 files" in page
    assert "Add data" in page
    assert "Change files" in page
    assert "b.txt" not in page
    inner = text(client, f"{ROOT}/tree/main/data/deep")
    assert "b.txt" in inner
    assert 'href="/lab/galaxy-cnn/tree/main/data"' in inner
    assert "model.onnx" not in inner


def test_large_files_are_marked_and_all_can_be_downloaded(client: Client, nested: Revision) -> None:
    page = text(client, f"{ROOT}/tree/main")
    assert "LFS" in page
    assert f'href="{ROOT}/resolve/main/model.onnx"' in page
    assert status(client, f"{ROOT}/resolve/main/model.onnx") == 200


def test_a_branch_with_a_slash_in_its_name_is_found_in_addresses(
    client: Client, nested: Revision, galaxy: MLModel, charlie: User
) -> None:
    given = {"actor": charlie, "mlmodel": galaxy, "revision": nested}
    ref_create(**given, kind=RefKind.BRANCH, name="team/idea")
    assert "b.txt" in text(client, f"{ROOT}/tree/team/idea/data/deep")
    assert "two" in text(client, f"{ROOT}/blob/team/idea/data/deep/b.txt")
    download = f"{ROOT}/resolve/team%2Fidea/data/deep/b.txt"
    assert download in text(client, f"{ROOT}/tree/team/idea/data/deep")
    assert status(client, download) == 200


def test_a_pull_requests_files_can_be_chosen(
    client: Client, nested: Revision, galaxy: MLModel, alice: User
) -> None:
    pull = pull_request_open(actor=alice, mlmodel=galaxy, title="Better data")
    commit_files(galaxy, {"new.txt": "new\n"}, actor=alice, branch=f"refs/pr/{pull.num}")
    assert f"{ROOT}/tree/refs/pr/1" in text(client, f"{ROOT}/tree/main")
    assert "new.txt" in text(client, f"{ROOT}/tree/refs/pr/1")


@pytest.mark.parametrize(
    "tail",
    ["/tree/main/none", "/tree/none", "/tree/main/Data", "/blob/main/data", "/blob/main/none",
     "/tree/main?page=2", "/tree/main?page=x", "/commit/0000000", "/tree/main/%00"],
)  # fmt: skip
def test_a_folder_that_is_not_there_is_said_so(client: Client, nested: Revision, tail: str) -> None:
    assert status(client, f"{ROOT}{tail}") in {400, 404}


def test_a_binary_file_is_not_shown_as_text(client: Client, nested: Revision) -> None:
    assert "No preview" in text(client, f"{ROOT}/blob/main/data/deep/c.bin")
    assert "No preview" in text(client, f"{ROOT}/blob/main/model.onnx")


def test_a_folder_of_many_files_comes_in_parts(
    client: Client, galaxy: MLModel, charlie: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("registry.selectors.repository.folder.PAGE", 2)
    commit_files(galaxy, {f"many/{n}.txt": "x\n" for n in range(5)}, actor=charlie)
    assert "0.txt" in text(client, f"{ROOT}/tree/main/many")
    last = text(client, f"{ROOT}/tree/main/many?page=3")
    assert "4.txt" in last
    assert "part 3 of 3" in last


def test_a_commit_shows_who_why_and_what_changed(
    client: Client, nested: Revision, galaxy: MLModel, charlie: User
) -> None:
    changed = {"data/a.txt": "one and a half\n", "data/deep/b.txt": None, "<i>.txt": "<b>\n"}
    revision = commit_files(galaxy, changed, actor=charlie, message="Mend it\n\nIt was wrong.")
    page = text(client, f"{ROOT}/commit/{revision.oid}")
    assert "It was wrong." in page
    assert '<span class="gone">-one</span>' in page
    assert '<span class="put">+one and a half</span>' in page
    assert "deleted" in page
    assert "+&lt;b&gt;" in page
    assert "3 files changed" in page


def test_the_first_commit_and_binary_changes_are_shown(client: Client, nested: Revision) -> None:
    first = Revision.objects.get(mlmodel=nested.mlmodel, parent=None)
    assert "initial commit" in text(client, f"{ROOT}/commit/{first.oid}")
    assert "Not a text file, or too long" in text(client, f"{ROOT}/commit/{nested.oid}")


def test_history_of_a_branch_leads_to_commits(client: Client, nested: Revision) -> None:
    assert f"{ROOT}/commit/{nested.oid}" in text(client, f"{ROOT}/history?revision=main")


def test_the_old_name_of_what_was_moved_leads_to_the_new_one(
    client: Client, nested: Revision, galaxy: MLModel, charlie: User
) -> None:
    mlmodel_move(actor=charlie, mlmodel=galaxy, namespace="charlie", name="stars")
    answer = client.get(f"{ROOT}/tree/main?page=1")
    assert answer.status_code == 302
    assert answer["Location"] == "/charlie/stars/tree/main?page=1"


def test_a_file_of_weights_states_what_it_holds(
    client: Client, galaxy: MLModel, charlie: User
) -> None:
    header = json.dumps(
        {"<w>": {"dtype": "BF16", "shape": [3, 2], "data_offsets": [0, 12]}}
    ).encode()
    files = {
        "model.safetensors": struct.pack("<Q", len(header)) + header + bytes(12),
        "broken.safetensors": struct.pack("<Q", 2**40) + header,
        "model.pkl": b"\x80\x02cos\nsystem\n.",
    }
    commit_files(galaxy, files, actor=charlie)

    page = text(client, f"{ROOT}/blob/main/model.safetensors")
    assert "BF16" in page
    assert "&lt;w&gt;" in page
    assert "3 × 2" in page
    broken = text(client, f"{ROOT}/blob/main/broken.safetensors")
    assert "Not read: " in broken
    assert "its header has 1,099,511,627,776 bytes" in broken
    assert "imports os.system" in text(client, f"{ROOT}/blob/main/model.pkl")


def test_a_model_without_a_network_states_its_weights_on_its_page(
    client: Client, galaxy: MLModel, charlie: User
) -> None:
    header = json.dumps({"w": {"dtype": "BF16", "shape": [3, 2], "data_offsets": [0, 12]}}).encode()
    data = struct.pack("<Q", len(header)) + header + bytes(12)
    names = [f"part-{number}.safetensors" for number in range(5)]
    commit_files(galaxy, dict.fromkeys(names, data) | {"broken.gguf": b"GGUF"}, actor=charlie)

    page = text(client, ROOT)
    assert "BF16 100.0 %" in page
    assert "Not read: It ends within its header." in page
    assert "2 more files of weights" in page
