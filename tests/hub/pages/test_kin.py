"""The lineage beyond models made of models: data sets, builds, and what was done."""

import re

import pytest
from django.test import Client

from hub.pages import kin
from registry.services.repository.mlmodel import mlmodel_update
from registry.states import RepositoryKind
from registry.tables import Build, Job, MLModel, User
from tests.factories import make_mlmodel, readme
from tests.hub.pages.test_lineage import words
from tests.hub.pages.test_reading import text
from tests.registry.searched import search, searched_floor

pytestmark = pytest.mark.django_db

HOSTILE = "javascript:alert(1)"


@pytest.fixture
def data(alice: User) -> MLModel:
    return make_mlmodel("alice/sky", actor=alice, kind=RepositoryKind.DATASET)


@pytest.fixture
def net(data: MLModel, alice: User) -> MLModel:
    """Trained on a data set of this hub, one elsewhere, and one that leads nowhere."""
    card = readme(datasets=["alice/sky", "https://example.org/dusk", HOSTILE])
    return make_mlmodel("alice/net", actor=alice, files={"README.md": card})


def done(page: str) -> str:
    """The table of what was done, without markup."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.partition("Activities</h2>")[2]))


def test_data_sets_are_origins_that_lead_on(client: Client, net: MLModel) -> None:
    page = text(client, "/alice/net/lineage")
    assert "alice/net was trained on alice/sky" in words(page)
    assert 'href="/datasets/alice/sky/lineage"' in page
    assert 'href="https://example.org/dusk"' in page
    assert f'href="{HOSTILE}' not in page
    assert "data set, not on this hub" in page


def test_a_data_set_leads_to_the_models_trained_on_it(
    client: Client, net: MLModel, alice: User
) -> None:
    address = readme(datasets=["http://127.0.0.1:8000/datasets/alice/sky"])
    hidden = make_mlmodel("alice/hidden", actor=alice, files={"README.md": address})
    mlmodel_update(actor=alice, mlmodel=hidden, visibility="private")
    page = text(client, "/datasets/alice/sky/lineage")
    assert "alice/net was trained on alice/sky" in words(page)
    assert 'href="/alice/net/lineage"' in page
    assert "alice/hidden" not in page
    client.force_login(alice)
    page = text(client, "/datasets/alice/sky/lineage")
    assert "alice/hidden was trained on alice/sky" in words(page)
    assert "model, private" in page


def test_a_hidden_data_set_is_named_as_the_card_names_it_and_leads_nowhere(
    client: Client, net: MLModel, data: MLModel, alice: User
) -> None:
    mlmodel_update(actor=alice, mlmodel=data, visibility="private")
    page = text(client, "/alice/net/lineage")
    assert "alice/net was trained on alice/sky" in words(page)
    assert "/datasets/alice/sky" not in page


def test_builds_are_made_of_the_version_and_lead_to_their_pages(client: Client) -> None:
    searched_floor()
    page = text(client, "/alice/squeezenet/lineage")
    for build in Build.objects.all():
        assert f'href="/builds/{build.uuid}"' in page
    said = words(page)
    assert "The build onnxruntime, int8 for x86-64-avx512 was quantised from" in said
    assert "The build onnxruntime, exact for x86-64-avx512 is the default of" in said


def test_what_was_done_is_listed_newest_first_with_who_where_and_with_what(
    client: Client, charlie: User
) -> None:
    searched_floor()
    Job.objects.update(requested_by=charlie)
    page = text(client, "/alice/squeezenet/lineage")
    said = done(page)
    order = [said.index(one) for one in ("Quantise for", "Publish ")]
    assert order == sorted(order)
    assert f"Tune for x86-64-avx512 {charlie.full_name or charlie.username}" in said
    assert "onnxruntime 1.31.1" in said
    (job,) = Job.objects.values_list("uuid", flat=True)
    assert f'href="/jobs/{job}"' in page
    assert 'href="/targets/x86-64-avx512"' in page


def test_a_long_past_is_cut_and_says_so(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    floor = searched_floor()
    search(floor, "quarter")
    monkeypatch.setattr(kin, "_MOST_ACTS", 3)
    monkeypatch.setattr(kin, "_MOST_BUILDS", 1)
    page = text(client, "/alice/squeezenet/lineage")
    assert "The graph is truncated" in page
    # Two searches, two builds made, four measurements and the publication, less the three shown.
    assert "And 6 earlier ones." in page
