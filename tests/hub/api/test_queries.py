"""No address asks the database without bound."""

from django.db import connection
from django.test.utils import CaptureQueriesContext

from registry.tables import User
from tests.hub.api.client import Api
from tests.hub.api.scene import Scene
from tests.hub.api.test_access import ABOUT, READS

#: Two find the person and their token.
MOST = 14


def queries(api: Api, path: str) -> int:
    with CaptureQueriesContext(connection) as asked:
        api.get(path).ok()
        return len(asked)


def test_every_read_takes_few_queries(charlie: User, scene: Scene) -> None:
    api = Api(charlie)
    api.get("models")  # lets the index catch up
    paths = [ABOUT[operation](scene) for operation in READS]
    paths += ["models", "jobs", "records", "targets", "devices", "tokens", "whoami"]
    counted = {path: queries(api, path) for path in paths}
    assert {path: count for path, count in counted.items() if count > MOST} == {}
