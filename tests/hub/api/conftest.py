"""The API as a program sees it, and a model with everything that can hang on one."""

import pytest

from registry.tables import MLModel, User
from tests.hub.api.client import Api
from tests.hub.api.scene import Scene, tuned


@pytest.fixture
def anonymous(db: None) -> Api:
    """Somebody without a token."""
    return Api()


@pytest.fixture
def as_alice(alice: User) -> Api:
    """alice, with a token that may write."""
    return Api(alice)


@pytest.fixture
def as_charlie(charlie: User) -> Api:
    """charlie, with a token that may write."""
    return Api(charlie)


@pytest.fixture
def scene(galaxy: MLModel) -> Scene:
    """The public ``lab/galaxy-cnn``, tuned."""
    return tuned(galaxy)


@pytest.fixture
def secret_scene(secret: MLModel) -> Scene:
    """The private ``lab/secret``, tuned."""
    return tuned(secret)
