"""What is to be mended in a card, over HTTP."""

import pytest

from registry.selectors.repository.revision import revision_get
from registry.tables import MLModel, User
from tests.factories import commit_files, readme
from tests.hub.api.client import Api

pytestmark = pytest.mark.django_db

TEXT = "# A\n\nSorts galaxies by their shapes, for surveys of the whole sky.\n"
ADDRESS = "models/lab/galaxy-cnn/findings"


def test_findings_are_of_the_revision_that_was_asked_for(
    anonymous: Api, galaxy: MLModel, charlie: User
) -> None:
    card = readme(TEXT, authors=[{"name": "A", "orcid": "0000-0002-1825-0098"}])
    bad = commit_files(galaxy, {"README.md": card}, actor=charlie)
    commit_files(galaxy, {"README.md": readme(TEXT)}, actor=charlie)
    assert anonymous.get(ADDRESS).ok() == {"revision": revision_get(galaxy).oid, "items": []}
    found = anonymous.get(f"{ADDRESS}?revision={bad.oid}").ok()
    assert found["revision"] == bad.oid
    (finding,) = found["items"]
    assert finding == {
        "line": 4,
        "field": "authors[0].orcid",
        "code": "orcid_invalid",
        "message": "The check digit of the ORCID iD 0000-0002-1825-0098 is wrong.",
        "fix": "If the other digits are correct, the iD is 0000-0002-1825-0097.",
        "severity": "error",
    }


def test_a_private_model_has_none_for_strangers(
    as_alice: Api, as_charlie: Api, secret: MLModel
) -> None:
    assert as_alice.get("models/lab/secret/findings").code == "model_not_found"
    assert as_charlie.get("models/lab/secret/findings").status == 200
    missing = as_charlie.get("models/lab/secret/findings?revision=none")
    assert missing.code == "revision_not_found"
