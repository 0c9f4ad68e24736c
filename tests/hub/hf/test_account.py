"""Who the client thinks it is."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from huggingface_hub.errors import HfHubHTTPError

from registry.services.people.account import member_set
from registry.services.repository.like import like_add
from registry.services.repository.mlmodel import mlmodel_create
from registry.states import RepositoryKind, Role, Scope
from registry.tables import MLModel, Namespace, User
from tests.factories import make_mlmodel, make_token
from tests.hub.hf.conftest import ApiOf
from tests.hub.hf.wire import send, status_of

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


def test_whoami_needs_a_token(hub_url: str, db: None) -> None:
    answer = send(hub_url, None, "api/whoami-v2", method="GET")
    assert (answer.status_code, "Authentication" in answer.json()["error"]) == (401, True)


def test_the_command_logs_in_and_knows_who_it_is(
    hub_url: str, charlie: User, lab: Namespace, tmp_path: Path
) -> None:
    environment = {
        "HF_ENDPOINT": hub_url,
        "HF_HOME": str(tmp_path),
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "PATH": os.environ["PATH"],
    }

    def hf(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(Path(sys.executable).with_name("hf")), *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    logged_in = hf("auth", "login", "--token", make_token(charlie))
    assert logged_in.returncode == 0, logged_in.stderr
    me = hf("auth", "whoami")
    assert "charlie" in me.stdout
    assert "lab" in me.stdout
    refused = hf("auth", "login", "--force", "--token", "hpf_" + "0" * 38)
    assert refused.returncode != 0
    assert "Invalid" in refused.stdout + refused.stderr


def test_a_person_is_shown_as_far_as_the_asker_may_see(
    api_of: ApiOf, galaxy: MLModel, secret: MLModel, lab: Namespace, charlie: User, bob: User
) -> None:
    make_mlmodel("charlie/open", actor=charlie)
    make_mlmodel("charlie/own", actor=charlie, visibility="private")
    mlmodel_create(actor=charlie, namespace="charlie", name="d", kind=RepositoryKind.DATASET)
    like_add(actor=charlie, mlmodel=secret)
    like_add(actor=charlie, mlmodel=galaxy)
    seen = {}
    for name, api in (("anybody", api_of()), ("bob", api_of(bob)), ("charlie", api_of(charlie))):
        him = api.get_user_overview("CHARLIE")
        assert (him.username, him.fullname, him.num_datasets) == ("charlie", "Charlie Clark", 1)
        seen[name] = (him.num_models, him.num_likes, [org.name for org in him.orgs])
    assert seen == {"anybody": (1, 1, []), "bob": (1, 1, []), "charlie": (2, 2, ["lab"])}


def test_an_organisation_is_shown_to_all_and_its_members_to_members(
    api_of: ApiOf, galaxy: MLModel, secret: MLModel, lab: Namespace, charlie: User, bob: User
) -> None:
    shown = api_of(bob).get_organization_overview("LAB")
    assert (shown.name, shown.fullname, shown.num_models) == ("lab", "The Laboratory", 1)
    assert shown.num_users is None
    with pytest.raises(HfHubHTTPError) as caught:
        list(api_of(bob).list_organization_members("lab"))
    assert status_of(caught) == 403
    member_set(actor=charlie, namespace=lab, user=bob, role=Role.READ)
    shown = api_of(bob).get_organization_overview("lab")
    assert (shown.num_users, shown.num_models) == (2, 2)
    names = [user.username for user in api_of(bob).list_organization_members("lab")]
    assert names == ["bob", "charlie"]


def test_nobody_follows_anybody_here(api_of: ApiOf, lab: Namespace, charlie: User) -> None:
    api = api_of()
    assert list(api.list_user_followers("charlie")) == []
    assert list(api.list_user_following("charlie")) == []
    assert list(api.list_organization_followers("lab")) == []


def test_people_and_organisations_are_not_mistaken_for_each_other(
    api_of: ApiOf, lab: Namespace, charlie: User
) -> None:
    api = api_of()
    for ask in (
        lambda: api.get_user_overview("lab"),
        lambda: api.get_user_overview("nobody"),
        lambda: api.get_organization_overview("charlie"),
        lambda: api.get_organization_overview("no such"),
        lambda: list(api.list_organization_members("charlie")),
        lambda: list(api.list_user_followers("nobody")),
    ):
        with pytest.raises(HfHubHTTPError) as caught:
            ask()
        assert status_of(caught) == 404
