"""Who the client thinks it is."""

import pytest
from huggingface_hub.errors import HfHubHTTPError

from registry.states import Scope
from registry.tables import Namespace, User
from tests.factories import make_token
from tests.hub.hf.conftest import ApiOf

pytestmark = pytest.mark.django_db(transaction=True)


def test_whoami_names_the_person_their_organisations_and_the_token(
    api_of: ApiOf, charlie: User, lab: Namespace
) -> None:
    me = api_of(charlie, Scope.READ).whoami()

    assert (me["name"], me["fullname"]) == ("charlie", "Charlie Clark")
    assert [(org["name"], org["roleInOrg"]) for org in me["orgs"]] == [("lab", "admin")]
    assert me["auth"]["accessToken"]["role"] == "read"


def test_a_token_that_is_none_is_called_invalid(api_of: ApiOf, alice: User) -> None:
    with pytest.raises(HfHubHTTPError, match="Invalid user token"):
        api_of(alice).whoami(token=make_token(alice)[:-1] + "!")
