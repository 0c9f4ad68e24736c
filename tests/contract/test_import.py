"""Import from other servers, updates, and models loaded straight from there."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from typer.testing import CliRunner

from hpcfair import cli
from hpcfair.client import Client
from hpcfair.config import Config
from hpcfair.errors import (
    BadInput,
    Conflict,
    Corrupt,
    Forbidden,
    LicenseMissing,
    ModelNotFound,
    NoModelFile,
    RevisionNotFound,
    UnsafePath,
    Untrusted,
)
from hpcfair.origin import ModelOrigin, origin_of
from registry.selectors.fair.description import describe
from registry.selectors.repository.mlmodel import mlmodel_get
from registry.selectors.repository.revision import revision_get
from registry.services.repository.mlmodel import mlmodel_update
from registry.tables import User
from tests.contract.origin import NAME, OriginServer, serving
from tests.factories import readme, tiny_onnx

MINE = "alice/net"
CARD = readme(license="apache-2.0").encode()
FILES = {"README.md": CARD, "model.onnx": tiny_onnx(), "notes/a.txt": b"first"}
X = np.ones((2, 4), np.float32)


@pytest.fixture
def far() -> Iterator[OriginServer]:
    origin = OriginServer()
    origin.commit(FILES)
    with serving(origin):
        yield origin


@pytest.fixture
def at() -> Iterator[Callable[..., Client]]:
    """Makes a client with another server for ``hf:``, and a token for it."""
    made: list[Client] = []

    def make(server: str, client: Client, token: str | None = None, **config: Any) -> Client:
        changed = replace(client.config, hf_endpoint=server, hf_token=token, **config)
        made.append(Client(config=changed))
        return made[-1]

    yield make
    for client in made:
        client.close()


def contents(client: Client, folder: Path) -> dict[str, bytes]:
    client.pull(MINE, folder)
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def test_an_imported_model_has_all_files_and_names_its_origin(
    as_alice: Client,
    far: OriginServer,
    at: Callable[..., Client],
    tmp_path: Path,
    client: Any,
    alice: User,
) -> None:
    done = at(far.url, as_alice).import_model(f"hf:{NAME}")

    assert done.name == MINE
    assert set(done.changed) == set(FILES)
    got = contents(as_alice, tmp_path / "got")
    assert {path: got[path] for path in FILES} == FILES
    model = as_alice.info(MINE)
    assert model.license == "Apache-2.0"
    assert model.origin is not None
    assert (model.origin["url"], model.origin["commit"]) == (f"{far.url}/{NAME}", done.commit)
    (source,) = describe(revision_get(mlmodel_get(alice, MINE))).derived_from
    assert (source.relation, source.oid) == ("import", done.commit)
    assert source.url == f"{far.url}/{NAME}/tree/{done.commit}"
    client.force_login(alice)
    page = client.get(f"/{MINE}/lineage").content.decode()
    assert "was imported from" in page
    assert f'Imported from <a href="{far.url}/{NAME}"' in page
    assert "under the license Apache-2.0" in page


def test_an_unchanged_model_moves_no_bytes_and_a_changed_one_the_changed_file_only(
    as_alice: Client, far: OriginServer, at: Callable[..., Client], tmp_path: Path
) -> None:
    importing = at(far.url, as_alice)
    first = importing.import_model(f"hf:{NAME}")
    far.requests.clear()

    again = importing.import_model(f"hf:{NAME}")

    assert (again.revision.oid, again.changed) == (first.revision.oid, ())
    assert far.fetched() == []
    far.commit({"README.md": CARD, "model.onnx": FILES["model.onnx"], "b.bin": b"second"})
    # Another machine has nothing in its cache.
    elsewhere = at(far.url, as_alice, cache=tmp_path / "other")
    changed = elsewhere.import_model(f"hf:{NAME}")
    assert (changed.changed, changed.deleted) == (("b.bin",), ("notes/a.txt",))
    assert far.fetched() == ["b.bin"]
    assert changed.revision.parent == first.revision.oid
    assert set(contents(as_alice, tmp_path / "got")) >= {"README.md", "model.onnx", "b.bin"}


def test_files_that_were_changed_here_are_kept_unless_one_says_otherwise(
    as_alice: Client, far: OriginServer, at: Callable[..., Client], tmp_path: Path
) -> None:
    importing = at(far.url, as_alice)
    importing.import_model(f"hf:{NAME}")
    ours = tmp_path / "ours"
    ours.mkdir()
    (ours / "own.txt").write_bytes(b"ours")
    as_alice.save(ours, MINE, card={"title": "Ours"}, wait=False)
    far.commit({**FILES, "notes/a.txt": b"second"})

    importing.import_model(f"hf:{NAME}")

    model = as_alice.info(MINE)
    assert (model.title, model.files[-1].path) == ("Ours", "own.txt")
    far.commit({**FILES, "README.md": readme("# Theirs\n", license="mit").encode()})
    with pytest.raises(Conflict, match=r"README\.md"):
        importing.import_model(f"hf:{NAME}")
    importing.import_model(f"hf:{NAME}", overwrite=True)
    assert as_alice.info(MINE).license == "MIT"


def test_a_hub_is_an_origin_and_its_gate_opens_to_whom_it_let_in(
    as_alice: Client, client_of: Callable[..., Client], alice: User, bob: User
) -> None:
    as_alice.save(tiny_onnx(), "alice/tiny", card={"license": "mit"}, wait=False)
    mlmodel = mlmodel_get(alice, "alice/tiny")
    mlmodel_update(actor=alice, mlmodel=mlmodel, visibility="public", gate="manual")
    hub = as_alice.config.url
    with pytest.raises(Forbidden, match="HF_TOKEN"):
        client_of().load(f"hf:{hub}/alice/tiny")
    with pytest.raises(Forbidden, match="granted on request"):
        client_of(bob).import_model(f"hf:{hub}/alice/tiny")

    done = as_alice.import_model(f"hf:{hub}/alice/tiny", "alice/again")

    assert "model.onnx" in done.changed
    # Whoever got through a gate may not open it for everybody.
    assert as_alice.info("alice/again").visibility == "private"
    assert not as_alice.info("alice/again").is_held


def test_a_gated_model_needs_the_token_of_its_server(
    as_alice: Client, far: OriginServer, at: Callable[..., Client]
) -> None:
    far.token = "hf_secret"
    with pytest.raises(Forbidden, match="HF_TOKEN"):
        at(far.url, as_alice).import_model(f"hf:{NAME}")

    done = at(far.url, as_alice, "hf_secret").import_model(f"hf:{NAME}")

    assert set(done.changed) == set(FILES)
    assert as_alice.config.token not in {token for _, token in far.requests}
    contents = [path.read_bytes() for path in as_alice.config.cache.rglob("*") if path.is_file()]
    assert not any(b"hf_secret" in data for data in contents)


def test_a_token_does_not_follow_to_another_server(
    as_alice: Client, far: OriginServer, at: Callable[..., Client]
) -> None:
    far.token = "hf_secret"
    with serving(OriginServer(far.versions)) as bucket:
        far.elsewhere = bucket.url
        done = at(far.url, as_alice, "hf_secret").import_model(f"hf:{NAME}")
    assert set(done.changed) == set(FILES)
    assert {token for _, token in bucket.requests} == {""}


@pytest.mark.parametrize("path", ["model.onnx", "notes/a.txt"])
def test_other_bytes_than_stated_are_refused(
    as_alice: Client, far: OriginServer, at: Callable[..., Client], path: str
) -> None:
    far.corrupt = frozenset({path})
    with pytest.raises(Corrupt, match=path):
        at(far.url, as_alice).import_model(f"hf:{NAME}")
    with pytest.raises(ModelNotFound):
        as_alice.info(MINE)


def test_what_is_wrong_is_said_before_bytes_move(
    as_alice: Client, far: OriginServer, at: Callable[..., Client]
) -> None:
    importing = at(far.url, as_alice)
    with pytest.raises(RevisionNotFound):
        importing.import_model(f"hf:{NAME}@v9")
    with pytest.raises(ModelNotFound, match="has no model"):
        importing.import_model("hf:far/nothing")
    with pytest.raises(BadInput, match="hf:org/name"):
        importing.import_model("hf:far")
    as_alice.save(tiny_onnx(), "alice/own", card={"license": "mit"}, wait=False)
    with pytest.raises(Conflict, match="published here"):
        importing.import_model(f"hf:{NAME}", "alice/own")
    far.license = ""
    with pytest.raises(LicenseMissing):
        importing.import_model(f"hf:{NAME}")
    far.commit({"../escape": b"x"})
    with pytest.raises(UnsafePath):
        importing.import_model(f"hf:{NAME}", license="mit")
    assert far.fetched() == []


def test_a_license_may_be_stated_where_the_card_has_none(
    as_alice: Client, far: OriginServer, at: Callable[..., Client]
) -> None:
    far.license = ""
    far.commit({"README.md": b"# Net\n", "model.onnx": tiny_onnx()})
    importing = at(far.url, as_alice)

    line = f"import hf:{NAME} {MINE} --license mit --json"
    done = CliRunner().invoke(cli.app, line.split(), obj=importing)

    assert done.exit_code == 0, done.output
    assert set(json.loads(done.stdout)["changed"]) == {"README.md", "model.onnx"}
    model = as_alice.info(MINE)
    assert (model.license, model.readme.strip()) == ("MIT", "# Net")
    assert importing.import_model(f"hf:{NAME}").changed == ()


def test_a_model_is_loaded_straight_from_its_server_and_then_without_it(
    as_alice: Client, far: OriginServer, at: Callable[..., Client]
) -> None:
    (commit,) = far.versions
    loading = at(far.url, as_alice)
    with loading.load(f"hf:{NAME}") as model:
        assert (str(model.signature), model.revision) == ("float32[N,4] -> float32[N,3]", commit)
        expected = model(X)
        assert "hpcfair import" in model.explain()
    # The card and the notes are not needed to run it.
    assert far.fetched() == ["model.onnx"]
    far.requests.clear()
    with at(far.url, as_alice, offline=True).load(f"hf:{NAME}", revision=commit) as model:
        np.testing.assert_array_equal(model(X), expected)
    assert far.requests == []
    with pytest.raises(Untrusted, match="hpcfair import"):
        loading.load(f"hf:{NAME}", signed=True)


def test_external_data_of_a_network_are_fetched_with_it(
    as_alice: Client, far: OriginServer, at: Callable[..., Client], tmp_path: Path
) -> None:
    network = onnx.load_from_string(tiny_onnx())
    (weight,) = network.graph.initializer
    # Only bytes can be stored outside.
    weight.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(weight), weight.name))
    onnx.save_model(
        network,
        tmp_path / "net.onnx",
        save_as_external_data=True,
        location="net.weights.bin",
        size_threshold=0,
    )
    files = {f"deep/{path.name}": path.read_bytes() for path in tmp_path.glob("net.*")}
    far.commit({**files, "deep/other.bin": b"other", "README.md": CARD})

    with at(far.url, as_alice).load(f"hf:{NAME}") as model:
        assert model(X).shape == (2, 3)
    assert sorted(far.fetched()) == ["deep/net.onnx", "deep/net.weights.bin"]


def test_weights_without_a_network_are_not_loaded(
    as_alice: Client, far: OriginServer, at: Callable[..., Client]
) -> None:
    far.commit({"README.md": CARD, "weights.bin": b"weights"})
    with pytest.raises(NoModelFile, match="hpcfair import"):
        at(far.url, as_alice).load(f"hf:{NAME}")


def test_names_of_origins() -> None:
    config = Config("https://hub.test", hf_endpoint="https://hf.test")
    assert origin_of("hf:a/b@v1", config) == ModelOrigin("https://hf.test", "a/b", "v1")
    assert origin_of("hf:https://Host/hub/a/b", config) == ModelOrigin("https://host/hub", "a/b")
    for wrong in ("hf:a", "hf:https://host/a", "hf:../b", "hf:a/b/c", "hf:"):
        with pytest.raises(BadInput):
            origin_of(wrong, config)
