"""Mirrors of a live hub: files, identifiers, signatures and measurements of the other one."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import CliRunner

from hpcfair import cli
from hpcfair.client import Client
from hpcfair.errors import BadInput, Conflict, Invalid, NotFound
from hpcfair.mirror import MirroredModel
from hpcfair.trust.origin import origin_signature
from registry.fair import datacite
from registry.selectors.fair.description import describe
from registry.selectors.fair.identifier import ark_of
from registry.selectors.repository.mlmodel import mlmodel_get
from registry.selectors.repository.revision import revision_get
from registry.services.trust.attestation import sign_pending
from registry.services.trust.key import key_rotate
from registry.services.trust.trustedhub import hub_distrust, hub_trust
from registry.tables import Build, ForeignEvidence, HubKey, Identifier, MLModel, User
from tests.hub.api.scene import Scene, tuned
from tests.programs import needs

pytestmark = [
    needs("cryptography"),
    pytest.mark.filterwarnings("ignore::hpcfair.trust.hubkeys.NewKeyWarning"),
]
MIRROR = "bob/galaxy-cnn"


@pytest.fixture
def scene(data_dir: object, galaxy: MLModel) -> Scene:
    return tuned(galaxy)


@pytest.fixture
def source(live_server: Any) -> str:
    """The same hub by another address, which stands for the other hub."""
    address: str = live_server.url
    return address.replace("localhost", "127.0.0.1")


@pytest.fixture
def as_bob(client_of: Callable[..., Client], bob: User) -> Client:
    return client_of(bob)


def states(done: list[MirroredModel]) -> dict[str, str]:
    return {one.name: one.state for one in done}


def test_a_mirror_has_files_measurements_and_signatures_of_its_origin(
    as_bob: Client, bob: User, scene: Scene, source: str, client: Any
) -> None:
    assert states(list(as_bob.mirror(source, scene.name, to="bob", dry_run=True))) == {
        MIRROR: "new"
    }
    with pytest.raises(NotFound):
        as_bob.info(MIRROR)

    assert states(list(as_bob.mirror(source, scene.name, to="bob"))) == {MIRROR: "new"}

    model = as_bob.info(MIRROR)
    assert model.origin is not None
    assert (model.origin["url"], model.origin["commit"]) == (
        f"{source}/{scene.name}",
        scene.revision.oid,
    )
    assert {file.sha256 for file in model.files} == {
        file.sha256 for file in as_bob.info(scene.name).files
    }
    # What another hub measured is none of this hub's measurements.
    assert as_bob.builds(MIRROR) == []
    client.force_login(bob)
    page = client.get(f"/{MIRROR}/builds").content.decode()
    assert "Measured by 127.0.0.1" in page
    assert "Key not trusted" in page
    assert scene.fast.record_id[:10] in page
    keyid = HubKey.objects.get().keyid
    hub_trust(url=source, keyid=keyid)
    assert "Signature verified" in client.get(f"/{MIRROR}/builds").content.decode()
    signature = origin_signature(as_bob.http, MIRROR, str(model.revision))
    assert signature is not None
    assert (signature.keyid, signature.is_trusted, signature.builds) == (keyid, True, 2)


def test_only_what_is_new_is_brought_again(as_bob: Client, scene: Scene, source: str) -> None:
    list(as_bob.mirror(source, scene.name, to="bob"))
    first = as_bob.info(MIRROR).revision
    assert states(list(as_bob.mirror(source, "lab/*", to="bob"))) == {MIRROR: "unchanged"}
    key_rotate()
    Build.objects.update(envelope=None, signed_by=None, signed_at=None)
    sign_pending()

    again = list(as_bob.mirror(source, "lab/*", to="bob", dry_run=True))
    assert states(again) == {MIRROR: "evidence"}
    assert states(list(as_bob.mirror(source, "lab/*", to="bob"))) == {MIRROR: "evidence"}

    assert as_bob.info(MIRROR).revision == first
    document = ForeignEvidence.objects.get().document
    keyids = {each["attestation"]["signatures"][0]["keyid"] for each in document["builds"]}
    assert keyids == {HubKey.objects.get(valid_until=None).keyid}


def test_an_identifier_of_the_origin_leads_to_a_mirror_that_is_signed_by_a_trusted_key(
    as_bob: Client, bob: User, scene: Scene, source: str
) -> None:
    rows = Identifier.objects.filter(mlmodel=scene.mlmodel)
    version = ark_of(rows.get(revision=scene.revision).name)
    whole = ark_of(rows.get(kind="concept").name)
    list(as_bob.mirror(source, scene.name, to="bob"))
    mirrored = revision_get(mlmodel_get(bob, MIRROR))
    mirrored.mlmodel = mlmodel_get(bob, MIRROR)
    description = describe(mirrored)
    assert description.alternates == (f"{source}/{version}",)
    related = datacite.document.document(description)["relatedIdentifiers"]
    assert f"{source}/{version}" in {
        one["relatedIdentifier"] for one in related if one["relationType"] == "IsIdenticalTo"
    }
    # From here on they are identifiers that this hub did not mint.
    for number, row in enumerate(rows):
        rows.filter(pk=row.pk).update(name=f"h2other{number}")

    with pytest.raises(NotFound):
        as_bob.locate(version)
    hub_trust(url=source, keyid="0" * 64)
    with pytest.raises(NotFound):
        as_bob.locate(version)
    hub_trust(url=source, keyid=HubKey.objects.get().keyid)

    assert as_bob.locate(version) == (MIRROR, mirrored.oid)
    assert as_bob.locate(whole) == (MIRROR, None)
    # A search finds the copy as well, by any way of writing them, as long as the key is trusted.
    addresses = (version, whole, f"{source}/{version}", f"{MIRROR} {version}")
    assert {hit.name for query in addresses for hit in as_bob.search(query)} == {MIRROR}
    as_bob.import_model(f"hf:{source}/{scene.name}", MIRROR)
    hub_distrust(url=source)
    with pytest.raises(NotFound):
        as_bob.locate(version)
    hits = as_bob.search(version)
    assert list(hits) == []
    assert version in hits.hints[0]


def test_evidence_that_was_changed_or_is_of_another_revision_is_refused(
    as_bob: Client, scene: Scene, source: str
) -> None:
    list(as_bob.mirror(source, scene.name, to="bob"))
    path = f"/api/v1/models/{MIRROR}/evidence"
    document = as_bob.http.get(path)["document"]

    def put(**changes: Any) -> None:
        as_bob.http.json("PUT", path, body={"document": {**document, **changes}})

    (first, *rest) = document["builds"]
    record = document["records"][first["record_id"]]
    with pytest.raises(Invalid, match="another build"):
        put(builds=[{**first, "runtime_options": {"threads": "many"}}, *rest])
    with pytest.raises(Invalid, match="differs from its id"):
        put(records={first["record_id"]: {**record, "document": {"target": {}}}})
    with pytest.raises(Invalid):
        put(keys=None)
    with pytest.raises(Invalid):
        put(builds="none")
    with pytest.raises(Conflict, match="is no import of"):
        put(revision="1" * 40, builds=[], signature=None)
    put()


def test_the_command_says_what_is_gone_and_what_was_refused(
    as_alice: Client, as_bob: Client, scene: Scene, source: str, charlie: User
) -> None:
    list(as_bob.mirror(source, "lab/*", to="bob"))
    scene.mlmodel.delete()

    gone = CliRunner().invoke(
        cli.app, ["mirror", source, "lab/*", "--to", "bob", "--json"], obj=as_bob
    )

    assert gone.exit_code == 0, gone.output
    (one,) = json.loads(gone.stdout)
    assert (one["state"], one["name"]) == ("gone", MIRROR)
    assert "deleted there" in one["reason"]
    assert as_bob.info(MIRROR).files
    refused = CliRunner().invoke(cli.app, ["mirror", source, "lab/none", MIRROR], obj=as_bob)
    assert refused.exit_code == 3
    assert refused.stdout.splitlines()[0].startswith("refused\tlab/none\t")
    assert "2 refused" in refused.stderr
    with pytest.raises(BadInput, match="itself"):
        list(as_bob.mirror(as_bob.config.url, "lab/*"))
