"""The catalogue shows speed, and is narrowed and ordered by it."""

from typing import Any

import pytest
from django.test import Client

from hub.pages.catalogue import SORT_NAMES
from registry.search.vocabulary import FILTERS, SORTS
from registry.tables import Build, MLModel, User
from tests.factories import make_mlmodel
from tests.hub.pages.test_reading import text
from tests.hub.pages.tuning import end_inspection, floor_of, publish

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


@pytest.fixture
def speeds(alice: User) -> dict[str, list[Build]]:
    """``alice/fast``: twice as fast in int8; ``alice/slow``: the default is best."""
    builds = {}
    gains: dict[str, dict[str, dict[str, Any]]] = {
        "fast": {"half": {"ratio": 0.5, "p50_ns": 8_300, "tolerance": "int8"}},
        "slow": {},
    }
    for name, more in gains.items():
        mlmodel = make_mlmodel(f"alice/{name}", actor=alice, files={"model.onnx": name.encode()})
        end_inspection()
        builds[name] = publish(floor_of(mlmodel), **more)
    return builds


def listed(client: Client, query: str) -> list[str]:
    page = client.get(f"/models{query}")
    assert page.status_code == 200, page.content.decode()
    return [card.mlmodel.name for card in page.context["cards"]]


@pytest.mark.usefixtures("speeds")
def test_cards_show_the_best_over_any_tolerance(client: Client) -> None:
    page = text(client, "/models")
    assert "8.30 µs" in page
    assert "2 times as fast" in page
    assert "on x86-64-avx512, default 16.6 µs" in page
    assert "the default: no build is proved faster" in page
    assert "tuned" in page


@pytest.mark.usefixtures("speeds")
def test_a_tolerance_limits_what_cards_show(client: Client) -> None:
    assert "2 times as fast" not in text(client, "/models?tolerance=exact")
    assert "2 times as fast" in text(client, "/models?q=tolerance:int8")


@pytest.mark.usefixtures("speeds")
def test_models_are_ordered_and_limited_by_speed(client: Client) -> None:
    assert listed(client, "?sort=latency") == ["fast", "slow"]
    assert listed(client, "?sort=gain&target=x86-64-avx512")[0] == "fast"
    assert listed(client, "?latency=<9us") == ["fast"]
    assert listed(client, "?gain=>1.5&tolerance=int8") == ["fast"]
    assert listed(client, "?gain=>1.5&tolerance=exact") == []
    assert listed(client, "?q=latency:>10us") == ["slow"]


@pytest.mark.usefixtures("speeds")
def test_the_form_keeps_what_was_chosen(client: Client) -> None:
    page = text(client, "/models?target=x86-64-avx512&tolerance=int8&gain=%3E1&sort=gain&by=alice")
    for part in (
        "<option selected>x86-64-avx512</option>",
        "<option selected>int8</option>",
        '<option value="gain" selected>',
        'value="&gt;1"',
        '<input type="hidden" name="by" value="alice">',
    ):
        assert part in page


def test_the_help_shows_every_filter_and_order(client: Client) -> None:
    page = client.get("/models").content.decode()
    for one in FILTERS.values():
        assert one.name in page
        assert f'name="{one.name}"' in page or one.help.split("`")[0] in page
    assert set(SORT_NAMES) == set(SORTS)


@pytest.mark.usefixtures("speeds")
@pytest.mark.parametrize(
    "query", ["?tolerance=int9", "?latency=fast", "?sort=gains", "?target=x86"]
)
def test_a_wrong_value_is_refused_with_the_valid_ones(client: Client, query: str) -> None:
    page = text(client, f"/models{query}", 400)
    assert 'role="alert"' in page
    assert "Did you mean" in page or "Write it like" in page or "Targets are" in page


@pytest.mark.usefixtures("speeds")
def test_cards_show_the_readers_target(client: Client, galaxy: MLModel) -> None:
    elsewhere = floor_of(MLModel.objects.get(name="slow"), "arm64-generic")
    publish(elsewhere)
    client.cookies["target"] = "arm64-generic"
    page = text(client, "/models")
    assert "on arm64-generic" in page
    # Models without builds there show their best target.
    assert "on x86-64-avx512, default 16.6 µs" in page


def test_states_are_named(client: Client, galaxy: MLModel) -> None:
    assert "waits for tuning" in text(client, "/models")
    end_inspection()
    assert "cannot be run" in text(client, "/models")
