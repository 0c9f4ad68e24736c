"""What the hub signed is verified; what is wrong, of another build or by another key is refused."""

import base64
import copy
import dataclasses
import json
import os
import stat
from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import CliRunner

from hpcfair import cli, errors
from hpcfair.client import Client
from hpcfair.config import Config
from hpcfair.errors import MissingPackage, Untrusted
from hpcfair.record import record_id
from hpcfair.resolution import StaleAnswerWarning
from hpcfair.trust import envelope as envelopes
from hpcfair.trust.check import UnverifiedWarning
from hpcfair.trust.hubkeys import PATH, NewKeyWarning, hub_keys, trust
from hpcfair.trust.pins import pin_file, read_pin

URL = "https://hub.test"
IN_TOTO = "application/vnd.in-toto+json"


@pytest.fixture
def offered(resolution: dict[str, Any], keys: Any) -> dict[str, Any]:
    """The hub's answer with a signed build."""
    resolution["attestation"] = keys.sign(keys.statement(resolution))
    return resolution


@pytest.fixture
def pinned(client: Client, offered: dict[str, Any]) -> Client:
    """A client that trusts the hub's key already."""
    with pytest.warns(NewKeyWarning, match="trusted from now on"):
        client.load("lab/tiny")
    return client


def refused(client: Client, code: str, **how: Any) -> Untrusted:
    with pytest.raises(Untrusted) as caught:
        client.load("lab/tiny", **how)
    assert caught.value.code == code
    assert caught.value.hint
    return caught.value


def expire(client: Client) -> None:
    """Let the list of keys be older than a day."""
    stored = json.loads(pin_file(Config(URL)).read_text())
    for pin in stored.values():
        pin["checked_at"] -= 2 * 86_400
    pin_file(Config(URL)).write_text(json.dumps(stored))


def test_the_key_is_pinned_at_first_use_and_kept_for_its_owner_alone(
    hub: Any, pinned: Client, keys: Any
) -> None:
    assert stat.S_IMODE(pin_file(Config(URL)).stat().st_mode) == 0o600
    pin = read_pin(Config(URL))
    assert pin is not None
    assert pin.keyid == keys.current.id
    model = pinned.load("lab/tiny")
    assert model.signed_by is not None
    assert model.signed_by.keyid == keys.current.id
    assert f"by the hub's key {keys.current.id[:16]}, 2026-01-02" in model.explain()
    assert len(hub.calls("GET", PATH)) == 1


def flip(text: str) -> str:
    """Base64 text of which one bit of the bytes has changed."""
    data = bytearray(base64.b64decode(text))
    data[len(data) // 2] ^= 1
    return base64.b64encode(data).decode()


def test_a_changed_byte_of_an_envelope_is_refused(pinned: Client, offered: dict[str, Any]) -> None:
    intact = offered["attestation"]
    for field in ("payload", "sig", "type", "keyid", "form"):
        changed = offered["attestation"] = copy.deepcopy(intact)
        match field:
            case "payload":
                changed["payload"] = flip(changed["payload"])
            case "sig":
                changed["signatures"][0]["sig"] = flip(changed["signatures"][0]["sig"])
            case "type":
                changed["payloadType"] = "application/json"
            case "keyid":
                changed["signatures"][0]["keyid"] = "0" * 64
            case _:
                changed["signatures"] = "none"
        refused(pinned, "signature_invalid")


@pytest.mark.parametrize(
    "change",
    [
        lambda answer: answer["files"][0].update(sha256="0" * 64),
        lambda answer: answer["files"][0].update(path="other.onnx"),
        lambda answer: answer["files"].append({**answer["files"][0], "path": "second.so"}),
        lambda answer: answer.update(revision="0" * 40),
        lambda answer: answer.update(record_id="0" * 64),
        lambda answer: answer.update(entry_point="second.onnx"),
        lambda answer: answer["build"].update(uuid="0" * 8),
        lambda answer: answer["build"].update(runtime="tvm"),
        lambda answer: answer["build"].update(runtime_options={"threads": "all"}),
        lambda answer: answer["build"].update(target="x86-64-avx512-amx"),
        lambda answer: answer["build"].update(tolerance="int8"),
        lambda answer: answer["build"].update(candidate={"backend": "tvm", "options": {}}),
    ],
)
def test_the_envelope_of_another_build_is_refused(
    pinned: Client, offered: dict[str, Any], change: Callable[[dict[str, Any]], None]
) -> None:
    offered["files"] = [dict(file) for file in offered["files"]]
    change(offered)
    refused(pinned, "signature_invalid")


def test_the_envelope_of_another_model_is_refused(
    pinned: Client, offered: dict[str, Any], keys: Any
) -> None:
    offered["attestation"] = keys.sign(keys.statement(offered, "lab/other"))
    assert "model" in str(refused(pinned, "signature_invalid"))


def test_a_statement_of_another_kind_is_refused(
    pinned: Client, offered: dict[str, Any], keys: Any
) -> None:
    for name, value in (("_type", "x"), ("predicateType", "https://x"), ("predicate", [])):
        wrong = {**keys.statement(offered), name: value}
        offered["attestation"] = keys.sign(wrong)
        refused(pinned, "signature_invalid")


def test_a_key_of_somebody_between_is_refused_with_what_to_do(
    pinned: Client, offered: dict[str, Any], hub: Any, keys: Any
) -> None:
    theirs = type(keys)()
    hub.on("GET", PATH, lambda _: theirs.list())
    offered["attestation"] = keys.sign(keys.statement(offered), theirs.current)
    error = refused(pinned, "key_changed")
    assert "hpcfair trust ID" in error.hint
    with pytest.raises(Untrusted):
        trust(pinned.http, "0" * 64)
    assert trust(pinned.http, theirs.current.id).current == theirs.current.id
    assert pinned.load("lab/tiny").signed_by is not None


def test_a_rotation_is_followed_if_the_trusted_key_signed_it(
    pinned: Client, offered: dict[str, Any], keys: Any
) -> None:
    keys.rotate()
    newest = keys.rotate()
    offered["attestation"] = keys.sign(keys.statement(offered), newest)
    model = pinned.load("lab/tiny")
    assert model.signed_by is not None
    assert model.signed_by.keyid == newest.id
    pin = read_pin(Config(URL))
    assert pin is not None
    assert pin.keyid == newest.id
    # A former key's signatures stay valid.
    offered["attestation"] = keys.sign(keys.statement(offered), keys.line[0])
    pinned.load("lab/tiny")


def test_a_rotation_that_the_trusted_key_did_not_sign_is_refused(
    pinned: Client, offered: dict[str, Any], keys: Any
) -> None:
    old, new = keys.current, keys.rotate(named=False)
    offered["attestation"] = keys.sign(keys.statement(offered), new)
    refused(pinned, "key_changed")
    forged = {"from": old.id, "to": new.id, "public": new.pem}
    keys.successions[new.id] = keys.succeed(forged, new)
    keys.successions[new.id]["signatures"][0]["keyid"] = old.id
    refused(pinned, "key_changed")
    keys.successions[new.id] = keys.succeed({**forged, "to": "0" * 64}, old)
    refused(pinned, "key_changed")


def test_what_a_revoked_key_signed_is_refused(
    pinned: Client, offered: dict[str, Any], keys: Any
) -> None:
    old = keys.current
    keys.rotate()
    keys.revoke(old)
    expire(pinned)
    assert "revoked" in str(refused(pinned, "key_revoked"))
    assert trust(pinned.http, keys.current.id)
    refused(pinned, "key_revoked")
    offered["attestation"] = keys.sign(keys.statement(offered))
    assert pinned.load("lab/tiny").signed_by is not None


def test_an_older_list_of_keys_is_refused(
    pinned: Client, offered: dict[str, Any], keys: Any, hub: Any
) -> None:
    newer = keys.make()
    keys.line.insert(0, newer)
    keys.revoke(newer)
    expire(pinned)
    pinned.load("lab/tiny")
    keys.revoked.clear()
    keys.changes = 0
    expire(pinned)
    refused(pinned, "key_list_old")


def test_a_list_that_its_key_did_not_sign_is_refused(client: Client, hub: Any, keys: Any) -> None:
    hub.on("GET", PATH, lambda _: keys.list(keys.make()))
    with pytest.raises(Untrusted):
        hub_keys(client.http)
    assert not pin_file(Config(URL)).exists()


def test_keys_of_other_curves_verify_nothing(keys: Any) -> None:
    weak = keys.make("SECP192R1")
    with pytest.raises(Untrusted):
        envelopes.open_envelope(keys.sign({}, weak), IN_TOTO, {weak.id: weak.pem})


def test_what_is_not_signed_is_refused_if_a_signature_is_required(
    client: Client, resolution: dict[str, Any], config: Config, hub: Any
) -> None:
    assert client.load("lab/tiny").signed_by is None
    refused(client, "not_signed", signed=True)
    strict = Client(config=dataclasses.replace(config, signed=True), transport=hub)
    refused(strict, "not_signed")
    assert strict.load("lab/tiny", signed=False).signed_by is None


def test_a_signature_that_was_removed_is_not_silent(
    pinned: Client, offered: dict[str, Any]
) -> None:
    offered["attestation"] = None
    with pytest.warns(UnverifiedWarning, match="not signed"):
        pinned.load("lab/tiny")


def test_offline_the_cached_envelope_is_verified(
    pinned: Client, offered: dict[str, Any], config: Config, hub: Any
) -> None:
    offline = Client(config=dataclasses.replace(config, offline=True), transport=hub)
    expire(pinned)
    with pytest.warns(StaleAnswerWarning):
        assert offline.load("lab/tiny", signed=True).signed_by is not None


def test_a_tampered_cache_is_refused_offline(
    pinned: Client, offered: dict[str, Any], config: Config, hub: Any, tmp_path: Any
) -> None:
    offline = Client(config=dataclasses.replace(config, offline=True), transport=hub)
    (answer,) = (config.cache / "answers").iterdir()
    intact = answer.read_text()
    stored = json.loads(intact)
    stored["answer"]["files"][0]["sha256"] = "0" * 64
    answer.write_text(json.dumps(stored))
    with pytest.warns(StaleAnswerWarning):
        refused(offline, "signature_invalid")
    answer.write_text(intact)
    # The bytes themselves, with size and time as they were.
    (tree,) = (config.cache / "trees").iterdir()
    file = tree / "files" / "model.onnx"
    status = file.stat()
    file.chmod(0o644)
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.warns(StaleAnswerWarning), pytest.raises(errors.HpcfairError):
        offline.load("lab/tiny", signed=True)


def test_without_the_package_it_is_said_and_refused_if_required(
    client: Client, offered: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hpcfair.trust.check.can_verify", lambda: False)
    with pytest.warns(UnverifiedWarning, match=r"hpcfair\[verify\]"):
        assert client.load("lab/tiny").signed_by is None
    with pytest.raises(MissingPackage, match=r"hpcfair\[verify\]"):
        client.load("lab/tiny", signed=True)


def test_the_plain_model_is_verified_where_a_signature_is_required(
    client: Client, resolution: dict[str, Any], hub: Any, keys: Any
) -> None:
    resolution |= {"build": None, "record_id": None}
    (file,) = resolution["files"]
    subject = f"lab/tiny@{resolution['revision']}"
    good = {
        "subject": [{"name": subject, "digest": {"sha256": "0" * 64}}],
        "predicateType": "https://model_signing/signature/v1.0",
        "predicate": {"resources": [{"name": file["path"], "digest": file["sha256"]}]},
    }
    wrong = [
        {**good, "subject": [{"name": "lab/other@" + resolution["revision"]}]},
        {**good, "predicate": {"resources": [{"name": file["path"], "digest": "0" * 64}]}},
        {**good, "predicateType": "https://slsa.dev/provenance/v1"},
    ]
    with pytest.warns(NewKeyWarning):
        hub_keys(client.http)
    for payload in wrong:
        bundle = {"dsseEnvelope": keys.sign(payload)}
        hub.on("GET", "/lab/tiny/model.sig", bundle)
        refused(client, "signature_invalid", target=None, signed=True)
    hub.on("GET", "/lab/tiny/model.sig", {"dsseEnvelope": keys.sign(good)})
    resolution["files"] = [{**file, "path": "converted/model.onnx"}]
    refused(client, "not_signed", target=None, signed=True)
    resolution["files"] = [file]
    model = client.load("lab/tiny", target=None, signed=True)
    assert model.signed_by is not None
    assert model.build is None


def test_the_command_verifies_signature_files_and_record(
    client: Client, resolution: dict[str, Any], hub: Any, keys: Any
) -> None:
    document: dict[str, Any] = {"schema": "hpcfair.bench/1"}
    document["record_id"] = resolution["record_id"] = record_id(document)
    hub.on("GET", f"/api/v1/records/{document['record_id']}", document)
    resolution["attestation"] = keys.sign(keys.statement(resolution))
    runner = CliRunner()
    done = runner.invoke(cli.app, ["verify", "lab/tiny"], obj=client)
    assert done.exit_code == 0, done.stderr
    assert f"by the hub's key {keys.current.id[:16]}" in done.stdout
    assert f"{document['record_id']} as signed" in done.stdout
    assert f"The key {keys.current.id[:16]} of {URL} is trusted from now on." in done.stderr
    shown = runner.invoke(cli.app, ["trust", "--json"], obj=client)
    assert json.loads(shown.stdout) == {"hub": URL, "keyid": keys.current.id}
    resolution["attestation"] = None
    failed = runner.invoke(cli.app, ["verify", "lab/tiny"], obj=client)
    assert (failed.exit_code, "[not_signed]" in failed.stderr) == (9, True)
    wrong = runner.invoke(cli.app, ["trust", "0" * 64], obj=client)
    assert (wrong.exit_code, "[key_changed]" in wrong.stderr) == (9, True)
    keys.line.append(keys.make())
    resolution["attestation"] = keys.sign(keys.statement(resolution))
    changed = runner.invoke(cli.app, ["run", "lab/tiny", "x.npy"], obj=client)
    assert changed.exit_code == 2
    changed = runner.invoke(cli.app, ["load", "lab/tiny"], obj=client)
    assert (changed.exit_code, "[key_changed]" in changed.stderr) == (9, True)


def test_another_revision_than_the_commit_that_was_asked_for_is_refused(
    client: Client, offered: dict[str, Any]
) -> None:
    """An older revision, validly signed, cannot stand in for a commit."""
    refused(client, "revision_differs", revision="0" * 40)
    with pytest.warns(NewKeyWarning):
        assert client.load("lab/tiny", revision=offered["revision"]).signed_by is not None
