"""Model bundles: written from a hub, run without it, refused when changed."""

import hashlib
import io
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from hpcfair import cli, machine
from hpcfair.bundle import BundledBlob, pieces
from hpcfair.client import Client
from hpcfair.config import Config
from hpcfair.errors import BadInput, Corrupt, NoModelFile, NotFound, Untrusted
from hpcfair.modelbundle.manifest import envelope_of
from hpcfair.modelbundle.reader import ModelBundle
from hpcfair.record import record_id
from hpcfair.trust.pins import read_pin

X = np.arange(8, dtype=np.float32).reshape(2, 4)
Y = np.repeat(X.sum(axis=1, keepdims=True) * 0.5, 3, axis=1)
MODEL = "/api/v1/models/lab/tiny"
URL = "https://hub.test"


@pytest.fixture
def offer(hub: Any, resolution: dict[str, Any], keys: Any) -> dict[str, Any]:
    """Everything that the hub has of a signed model; its answer with the build."""
    record = {"schema": "hpcfair.bench/1", "identity": {"mlmodel": "lab/tiny"}}
    record["record_id"] = resolution["record_id"] = record_id(record)
    build = resolution["build"]
    build |= {"record_id": record["record_id"], "reproduced": True}
    resolution["attestation"] = keys.sign(keys.statement(resolution))
    plain = {**resolution, "build": None, "attestation": None, "record_id": None}
    plain["files"] = [hub.keep(b"published network", "model.onnx")]
    answers = {True: resolution, False: plain}
    hub.on("POST", f"{MODEL}/resolve", lambda r: answers[bool(json.loads(r.content)["runtimes"])])
    oid = resolution["revision"]
    refs = [{"kind": "branch", "name": "main", "revision": oid}]
    files = [hub.keep(b"# Tiny", "README.md"), *plain["files"]]
    model = {"name": "lab/tiny", "revision": oid, "refs": refs, "files": files}
    hub.on("GET", MODEL, {**model, "default_branch": "main"})
    hub.on("GET", f"{MODEL}/revisions/main", {"oid": oid, "files": files, "jobs": []})
    hub.on("GET", f"{MODEL}/tests", {"revision": oid, "sets": []})
    hub.on("GET", f"{MODEL}/identifiers", {"items": [], "next": None})
    hub.on("GET", f"/api/v1/records/{record['record_id']}", record)
    hub.on("GET", "/lab/tiny/metadata/jsonld", b'{"@id": "lab/tiny"}')
    here = machine.target_of(machine.describe())
    target = {"slug": here.slug, "architecture": here.architecture, "rank": here.rank}
    hub.on("GET", f"/api/v1/targets/{here.slug}", {**target, "features": list(here.features)})
    return resolution


@pytest.fixture
def packed(client: Client, offer: dict[str, Any], tmp_path: Path) -> Path:
    """A bundle of the model, and an empty cache."""
    path = tmp_path / "tiny.hpcfair"
    client.bundle("lab/tiny", path)
    shutil.rmtree(tmp_path / "cache")
    return path


@pytest.fixture
def away(tmp_path: Path, hub: Any) -> Client:
    """A client on a machine without a network."""
    config = Config("https://elsewhere.test", None, tmp_path / "cache", offline=True)
    return Client(config=config)


def test_a_bundle_runs_without_the_hub(
    packed: Path, away: Client, offer: dict[str, Any], tmp_path: Path
) -> None:
    with away.load(str(packed)) as model:
        np.testing.assert_allclose(model(X), Y)
        assert model.name == "lab/tiny"
        assert model.record is not None
        assert model.record.id == offer["record_id"]
        assert model.signed_by is not None
        text = model.explain()
    assert "chosen from the 1 build in tiny.hpcfair" in text
    assert "0.84 ms median" in text
    assert "signed     by the hub's key" in text
    assert read_pin(Config(URL)) is None
    # A bundle's answers are not those of the hub.
    assert not (tmp_path / "cache" / "answers").exists()


def test_equal_models_give_equal_bundles(client: Client, packed: Path, tmp_path: Path) -> None:
    client.bundle("lab/tiny", tmp_path / "again.hpcfair")
    manifests = [
        ModelBundle(tmp_path / name).manifest for name in ("tiny.hpcfair", "again.hpcfair")
    ]
    # Each list of keys has a signature of its own.
    assert all(manifest.pop("keys") for manifest in manifests)
    assert manifests[0] == manifests[1]


def test_any_changed_byte_is_refused(packed: Path, tmp_path: Path) -> None:
    whole = packed.read_bytes()
    path = tmp_path / "changed.hpcfair"

    @given(st.integers(0, len(whole) - 1), st.integers(1, 255))
    @settings(max_examples=100, deadline=None)
    def check(place: int, bits: int) -> None:
        changed = bytearray(whole)
        changed[place] ^= bits
        path.write_bytes(changed)
        with pytest.raises(Corrupt, match=r"changed.hpcfair is refused"):
            ModelBundle(path)

    check()


def changed(path: Path, old: bytes, new: bytes) -> Path:
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new))
    return path


def test_the_refusal_says_what_differs(packed: Path, away: Client) -> None:
    changed(packed, b"published network", b"published netw0rk")
    with pytest.raises(Corrupt, match=r"refused: files/model.onnx differs"):
        away.load(str(packed))


@pytest.fixture
def repack(packed: Path) -> Callable[..., Path]:
    """Writes the bundle anew with a changed manifest, as somebody would who forges one."""

    def write(change: Callable[[dict[str, Any]], Any]) -> Path:
        bundle = ModelBundle(packed)
        contents = {digest: bundle.content_of(digest) for digest in bundle.blobs}
        change(bundle.manifest)
        blobs = [BundledBlob(digest, len(content)) for digest, content in contents.items()]
        envelope = envelope_of(bundle.manifest)
        packed.write_bytes(b"".join(pieces(envelope, blobs, lambda d: io.BytesIO(contents[d]))))
        return packed

    return write


def test_a_forged_build_is_refused_by_its_signature(
    repack: Callable[..., Path], away: Client
) -> None:
    path = repack(lambda manifest: manifest["builds"][0].update(runtime_options={"threads": "all"}))
    with pytest.raises(Untrusted, match="options of the runtime differ"):
        away.load(str(path))


def test_a_required_signature_needs_a_key_that_the_user_trusts(
    packed: Path, away: Client, keys: Any
) -> None:
    with pytest.raises(Untrusted, match=r"trust no key of https://hub.test"):
        away.load(str(packed), signed=True)
    trust = ["trust", keys.current.id, "--bundle", str(packed)]
    assert CliRunner().invoke(cli.app, trust, obj=away).exit_code == 0
    pin = read_pin(Config(URL))
    assert pin is not None
    assert pin.checked_at == 0
    with away.load(str(packed), signed=True) as model:
        assert model.signed_by is not None


def test_a_bundle_by_the_keys_of_another_hub_is_refused(
    packed: Path, away: Client, keys: Any, repack: Callable[..., Path]
) -> None:
    CliRunner().invoke(cli.app, ["trust", keys.current.id, "--bundle", str(packed)], obj=away)
    forged = type(keys)()
    path = repack(lambda manifest: manifest.update(keys=forged.list()))
    with pytest.raises(Untrusted) as caught:
        away.load(str(path))
    assert caught.value.code == "key_changed"


def test_a_newer_list_of_the_user_overrules_that_of_the_bundle(
    packed: Path, away: Client, client: Client, keys: Any
) -> None:
    keys.rotate()
    keys.revoke(keys.line[0])
    runner = CliRunner()
    assert runner.invoke(cli.app, ["trust", keys.current.id], obj=client).exit_code == 0
    with pytest.raises(Untrusted) as caught:
        away.load(str(packed))
    assert caught.value.code == "key_revoked"


def test_without_weights_only_the_targets_run_it(
    client: Client, offer: dict[str, Any], away: Client, tmp_path: Path
) -> None:
    summary = client.bundle("lab/tiny", tmp_path / "light.hpcfair", weights=False)
    assert summary.missing == ("model.onnx",)
    shutil.rmtree(tmp_path / "cache")
    path = str(tmp_path / "light.hpcfair")
    np.testing.assert_allclose(away.load(path)(X), Y)
    with pytest.raises(NotFound, match=r"was made without model.onnx"):
        away.load(path, target=None)
    offer["build"] = None
    with pytest.raises(BadInput, match="no build for these targets"):
        client.bundle("lab/tiny", tmp_path / "none.hpcfair", weights=False)


def test_other_revisions_and_missing_files_are_refused(packed: Path, away: Client) -> None:
    assert away.load(str(packed), revision="main").revision
    with pytest.raises(NotFound, match="no revision 'v2'"):
        away.load(str(packed), revision="v2")
    with pytest.raises(NoModelFile, match="no file"):
        away.load("none.hpcfair")


def test_the_commands(client: Client, offer: dict[str, Any], away: Client, tmp_path: Path) -> None:
    runner, path = CliRunner(), tmp_path / "tiny.hpcfair"
    made = runner.invoke(cli.app, ["bundle", "lab/tiny", "-o", str(path), "--json"], obj=client)
    assert json.loads(made.stdout)["revision"] == offer["revision"]
    loaded = runner.invoke(cli.app, ["load", str(path)], obj=away)
    assert "chosen from the 1 build in tiny.hpcfair" in loaded.stdout
    shown = runner.invoke(cli.app, ["info", str(path), "--json"], obj=away)
    assert len(json.loads(shown.stdout)["builds"]) == 1
    copied = runner.invoke(cli.app, ["pull", str(path), str(tmp_path / "files")], obj=away)
    assert (copied.exit_code, (tmp_path / "files/README.md").exists()) == (0, True)
    changed(path, b"# Tiny", b"# Tinz")
    assert runner.invoke(cli.app, ["load", str(path)], obj=away).exit_code == 1
    wrong = runner.invoke(cli.app, ["bundle", "lab/tiny", "-o", "x.zip"], obj=client)
    assert (wrong.exit_code, ".hpcfair" in wrong.stderr) == (2, True)


@pytest.fixture
def layout(client: Client, offer: dict[str, Any], tmp_path: Path) -> Path:
    """The model as an OCI image layout, and an empty cache."""
    path = tmp_path / "tiny.oci"
    client.bundle("lab/tiny", path)
    shutil.rmtree(tmp_path / "cache")
    return path


def test_an_oci_layout_is_an_artifact_and_runs_as_a_bundle(layout: Path, away: Client) -> None:
    index = json.loads((layout / "index.json").read_bytes())
    (entry,) = index["manifests"]
    image = json.loads((layout / "blobs" / entry["digest"].replace(":", "/")).read_bytes())
    titles = {each["annotations"]["org.opencontainers.image.title"] for each in image["layers"]}
    assert {"files/model.onnx", "files/README.md", "metadata/jsonld"} <= titles
    for each in (entry, image["config"], *image["layers"]):
        content = (layout / "blobs" / each["digest"].replace(":", "/")).read_bytes()
        assert each["digest"] == f"sha256:{hashlib.sha256(content).hexdigest()}"
        assert each["size"] == len(content)
    np.testing.assert_allclose(away.load(str(layout))(X), Y)


def test_a_changed_byte_of_any_file_of_a_layout_is_refused(layout: Path) -> None:
    for path in [path for path in layout.rglob("*") if path.is_file()]:
        content = path.read_bytes()
        path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        with pytest.raises(Corrupt, match="refused"):
            ModelBundle(layout)
        path.write_bytes(content)
    assert ModelBundle(layout).name == "lab/tiny"


def test_a_layout_is_not_written_over_another(client: Client, layout: Path) -> None:
    with pytest.raises(BadInput, match="a folder"):
        client.bundle("lab/tiny", layout)


def test_sites_get_a_module_file_and_a_container(
    client: Client, offer: dict[str, Any], tmp_path: Path
) -> None:
    words = ["bundle", "lab/tiny", "-o", str(tmp_path / "tiny.hpcfair")]
    words += ["--lmod", str(tmp_path / "tiny/1.lua"), "--apptainer", str(tmp_path / "tiny.def")]
    assert CliRunner().invoke(cli.app, words, obj=client).exit_code == 0
    module = (tmp_path / "tiny/1.lua").read_text()
    assert f'setenv("HPCFAIR_BUNDLE", "{tmp_path / "tiny.hpcfair"}")' in module
    # Every line but the comment is one call with strings.
    calls = module.splitlines()[1:]
    assert all(re.fullmatch(r'\w+\(("[^"]*")(, "[^"]*")?\)', call) for call in calls)
    definition = (tmp_path / "tiny.def").read_text()
    assert f"{tmp_path / 'tiny.hpcfair'} /opt/model.hpcfair" in definition
    assert "'hpcfair[run]" in definition
