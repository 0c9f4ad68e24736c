"""A request to load a model tells the hub which target its machine belongs to."""

from registry.selectors.people.usertarget import usertargets_of
from registry.tables import User, UserTarget
from tests.hub.api.client import Api
from tests.hub.api.scene import Scene
from tests.hub.api.test_resolve import PATH, question


def test_the_target_of_a_persons_machine_is_stored(
    as_alice: Api, alice: User, scene: Scene
) -> None:
    as_alice.post(PATH, question()).ok()
    assert usertargets_of(alice) == [scene.target.slug]


def test_nothing_is_stored_of_strangers(anonymous: Api, scene: Scene) -> None:
    anonymous.post(PATH, question()).ok()
    assert not UserTarget.objects.exists()
