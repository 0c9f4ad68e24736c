"""Visibility of new repositories whose creator chooses none: the default of an organisation."""

import pytest
from django.test import Client

from registry.errors import Invalid
from registry.services.people.person import organisation_update
from registry.states import Scope, Visibility
from registry.tables import MLModel, Namespace, User
from tests.hub.api.client import Api
from tests.hub.hf.conftest import ApiOf

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def closed(lab: Namespace, charlie: User) -> Namespace:
    """``lab``, whose new repositories are private by default."""
    return organisation_update(actor=charlie, namespace=lab, default_visibility="private")


def test_the_default_applies_where_the_creator_chooses_none(
    api_of: ApiOf, closed: Namespace, charlie: User
) -> None:
    api = api_of(charlie)
    for name, private in (("none", None), ("open", False), ("secret", True)):
        api.create_repo(f"lab/{name}", private=private)
    api.create_repo("lab/data", repo_type="dataset")
    api.create_repo("charlie/own")

    remaining = {row.name: row.visibility for row in MLModel.objects.all()}
    assert remaining == {
        "none": "private",
        "open": "public",
        "secret": "private",
        "data": "private",
        "own": "public",
    }


def test_other_organisations_stay_public(api_of: ApiOf, lab: Namespace, charlie: User) -> None:
    api_of(charlie).create_repo("lab/none")
    assert MLModel.objects.get(name="none").visibility == Visibility.PUBLIC


def test_the_api_reads_and_changes_the_default(lab: Namespace, charlie: User, bob: User) -> None:
    address, body = "organisations/lab", {"default_visibility": "private"}

    assert Api(bob).get(address).ok()["default_visibility"] == "public"
    assert Api(bob, Scope.ADMIN).patch(address, body).code == "permission_denied"
    admin = Api(charlie, Scope.ADMIN)
    assert admin.patch(address, {"default_visibility": "x"}).code == "invalid_request"
    assert admin.patch(address, body).ok()["default_visibility"] == "private"
    new = {"namespace": "lab", "name": "net"}
    assert Api(charlie).post("models", new).ok(201)["visibility"] == "private"
    new = {"namespace": "lab", "name": "open", "visibility": "public"}
    assert Api(charlie).post("models", new).ok(201)["is_held"]


def test_only_organisations_and_real_values_are_accepted(lab: Namespace, charlie: User) -> None:
    own = Namespace.objects.get(name="charlie")
    with pytest.raises(Invalid, match="is a person"):
        organisation_update(actor=charlie, namespace=own, default_visibility="private")
    with pytest.raises(Invalid, match="is no visibility"):
        organisation_update(actor=charlie, namespace=lab, default_visibility="hidden")


def test_the_pages_set_the_default_and_use_it(
    client: Client, lab: Namespace, charlie: User
) -> None:
    client.force_login(charlie)
    client.post(
        "/settings/profile/lab",
        {"lab-title": "Lab", "lab-ror": "", "lab-default_visibility": "private"},
    )
    client.post("/new", {"namespace": "lab", "name": "net", "visibility": ""})
    client.post("/new", {"namespace": "lab", "name": "open", "visibility": "public"})

    # The public one is private until its files have passed their checks.
    remaining = {row.name: (row.visibility, row.is_held) for row in MLModel.objects.all()}
    assert remaining == {"net": ("private", False), "open": ("private", True)}
