"""Metrics of the fleet for Prometheus, read from the tables at each request."""

from collections.abc import Iterable

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from hub.refusals import refusing
from registry.errors import NotFound, Unauthenticated
from registry.selectors.work.metrics import FleetFigures, fleet_figures
from registry.services.work.device import device_check


class FleetCollector(Collector):
    """The figures of the fleet as metric families of Prometheus."""

    def collect(self) -> Iterable[Metric]:
        """All families with their samples."""
        figures = fleet_figures()
        yield _gauge("devices", "Devices.", ("target", "state", "health"), figures.devices.items())
        yield from _queues(figures)
        yield _gauge(
            "queue_wait_seconds",
            "Waiting times in seconds of jobs that were claimed in the last hour.",
            ("level", "quantile"),
            (
                ((level, quantile), value)
                for level, values in figures.waits_s.items()
                for quantile, value in zip(("0.5", "0.95"), values, strict=True)
            ),
        )
        yield _plain(
            "queue_starvation_seconds",
            "Longest time in seconds that a queued job has waited.",
            figures.starvation_s,
        )
        if figures.fairness is not None:
            yield _plain(
                "owner_fairness",
                "Jain's index of the seconds of work that accounts got in the last hour.",
                figures.fairness,
            )
        yield _gauge(
            "attempts_ended_last_hour",
            "Attempts at jobs that ended in the last hour; end=lost: lost leases.",
            ("end", "failure_class"),
            figures.ends.items(),
        )
        yield _gauge(
            "device_utilisation_ratio",
            "Busy share of the devices' time in the last hour.",
            ("target",),
            (((target,), share) for target, share in figures.utilisation.items()),
        )


@never_cache
@require_safe
@refusing
def metrics(request: HttpRequest) -> HttpResponseBase:
    """The metrics in the format that the request accepts.

    Raises ``NotFound`` ``page_not_found`` if HPCFAIR_METRICS_TOKEN is empty; ``Unauthenticated``
    ``not_authenticated`` without that token.
    """
    if not settings.METRICS_TOKEN:
        raise NotFound("page_not_found", "This hub reports no metrics.")
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not constant_time_compare(token, settings.METRICS_TOKEN):
        raise Unauthenticated(
            "not_authenticated", "Metrics need the token of HPCFAIR_METRICS_TOKEN."
        )
    device_check()
    registry = CollectorRegistry(auto_describe=False)
    registry.register(FleetCollector())
    encode, content_type = choose_encoder(request.headers.get("Accept", ""))
    return HttpResponse(encode(registry), content_type=content_type)


def _queues(figures: FleetFigures) -> Iterable[Metric]:
    queues = figures.queues.items()
    yield _gauge(
        "jobs",
        "Jobs of a queue; waiting ones are counted up to 100,000.",
        ("queue", "state"),
        (
            ((name, state), count)
            for name, queue in queues
            for state, count in (("queued", queue.waiting), ("leased", queue.running))
        ),
    )
    yield _gauge(
        "queue_oldest_seconds",
        "Seconds that the first job of a queue has waited.",
        ("queue",),
        (((name,), queue.oldest_s) for name, queue in queues),
    )


def _gauge(
    name: str,
    about: str,
    labels: tuple[str, ...],
    samples: Iterable[tuple[tuple[str, ...], float]],
) -> Metric:
    family = GaugeMetricFamily(f"hpcfair_{name}", about, labels=labels)
    for values, value in samples:
        family.add_metric(values, value)
    return family


def _plain(name: str, about: str, value: float) -> Metric:
    return GaugeMetricFamily(f"hpcfair_{name}", about, value=value)
