"""The real client verifies what the real hub signs."""

from collections.abc import Callable

import pytest

from hpcfair.client import Client
from hpcfair.errors import NotFound, Untrusted
from hpcfair.trust.check import ValidSignature, check_build, check_model
from hpcfair.trust.hubkeys import NewKeyWarning, trust
from hpcfair.trust.statements import OfferedBuild
from registry.services.trust.attestation import sign_pending
from registry.services.trust.key import key_revoke, key_rotate
from registry.tables import Build as BuildRow
from registry.tables import HubKey, MLModel
from tests.hub.api.scene import Scene, tuned
from tests.programs import needs

pytestmark = needs("cryptography")


@pytest.fixture
def scene(data_dir: object, galaxy: MLModel) -> Scene:
    return tuned(galaxy)


def check(client: Client, scene: Scene) -> ValidSignature | None:
    """Verify the fast build as a load does."""
    build = next(b for b in client.builds(scene.name) if b.uuid == str(scene.fast.uuid))
    envelope = client.http.get(f"/api/v1/builds/{build.uuid}/attestation")
    claim = OfferedBuild(
        scene.name, scene.revision.oid, build, build.files, build.entry_point, build.record_id
    )
    return check_build(client.http, claim, envelope, required=True)


def test_a_build_is_verified_through_rotation_and_revocation(
    as_alice: Client, client_of: Callable[..., Client], scene: Scene
) -> None:
    with pytest.warns(NewKeyWarning):
        first = check(as_alice, scene)
    assert first is not None
    assert first.keyid == HubKey.objects.get().keyid
    new = key_rotate()
    BuildRow.objects.update(envelope=None, signed_by=None, signed_at=None)
    with pytest.raises(NotFound, match="not signed yet"):
        check(as_alice, scene)
    sign_pending()
    second = check(as_alice, scene)
    assert second is not None
    assert second.keyid == new.keyid
    key_revoke(keyid=new.keyid, reason="stolen")
    sign_pending()
    with pytest.raises(Untrusted) as caught:
        check(as_alice, scene)
    assert caught.value.code == "key_revoked"
    assert trust(as_alice.http, HubKey.objects.get(valid_until=None).keyid)
    assert check(as_alice, scene) is not None


def test_the_files_of_a_revision_are_verified(as_alice: Client, scene: Scene) -> None:
    files = [f for f in as_alice.info(scene.name).files if f.path != ".gitattributes"]
    assert len(files) == 2
    with pytest.warns(NewKeyWarning):
        signature = check_model(
            as_alice.http, as_alice.cache, scene.name, scene.revision.oid, files
        )
    assert signature.keyid == HubKey.objects.get().keyid
