"""Metrics for Prometheus: behind a token, in the format that its own parser reads."""

from typing import Any

import pytest
from django.test import Client
from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as parse_openmetrics,
)
from prometheus_client.parser import text_string_to_metric_families as parse_text

from registry.services.work.attempt import job_succeed
from tests.registry import shopfloor

pytestmark = pytest.mark.django_db

TOKEN = "a long random text"


@pytest.fixture
def scrape(client: Client, settings: Any) -> Any:
    """Asks for the metrics with the token."""
    settings.METRICS_TOKEN = TOKEN

    def ask(**headers: str) -> Any:
        return client.get("/metrics", headers={"authorization": f"Bearer {TOKEN}", **headers})

    return ask


def samples(text: str, parse: Any = parse_text) -> dict[tuple[str, frozenset[Any]], float]:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in parse(text)
        for sample in family.samples
    }


def test_a_hub_without_a_token_reports_nothing(client: Client) -> None:
    answer = client.get("/metrics", headers={"authorization": "Bearer "})
    assert answer.status_code == 404


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer wrong", f"Basic {TOKEN}"])
def test_only_the_token_reads_them(client: Client, settings: Any, header: str | None) -> None:
    settings.METRICS_TOKEN = TOKEN
    headers = {} if header is None else {"authorization": header}
    answer = client.get("/metrics", headers=headers)
    assert answer.status_code == 401
    assert "hpcfair_" not in answer.text


def test_all_figures_are_there_after_a_job(scrape: Any) -> None:
    floor = shopfloor.floor()
    floor.tune()
    shopfloor.floor("bob/waits").tune()
    ticket = floor.claim()
    job_succeed(job_uuid=ticket.job_uuid, fence=ticket.fence, result={})
    answer = scrape()
    assert answer.headers["Content-Type"].startswith("text/plain; version=")
    assert "no-cache" in answer.headers["Cache-Control"]
    found = samples(answer.text)
    slug = shopfloor.SLUG

    def value(name: str, **labels: str) -> float:
        return found[f"hpcfair_{name}", frozenset(labels.items())]

    assert value("devices", target=slug, state="active", health="online") == 1
    assert value("jobs", queue=f"target.{slug}", state="queued") == 1
    assert value("jobs", queue=f"target.{slug}", state="leased") == 0
    assert value("queue_oldest_seconds", queue=f"target.{slug}") >= 0
    assert value("queue_oldest_seconds", queue="hub.inspect") == 0
    assert value("queue_wait_seconds", level="interactive", quantile="0.95") >= 0
    assert value("queue_starvation_seconds") >= 0
    assert value("owner_fairness") == pytest.approx(1)
    assert value("attempts_ended_last_hour", end="succeeded", failure_class="") == 1
    assert value("attempts_ended_last_hour", end="lost", failure_class="infrastructure") == 0
    assert 0 <= value("device_utilisation_ratio", target=slug) <= 1


def test_an_empty_hub_has_metrics_in_both_formats(scrape: Any) -> None:
    assert ("hpcfair_queue_starvation_seconds", frozenset()) in samples(scrape().text)
    answer = scrape(accept="application/openmetrics-text; version=1.0.0")
    assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
    assert samples(answer.text, parse_openmetrics)


def test_names_of_targets_are_escaped(scrape: Any) -> None:
    shopfloor.make_machine(name='a "quoted" name\\')
    assert samples(scrape().text)
