"""Measured speed in templates."""

from django import template

from hub.pages import speedwords
from hub.templatetags.figures import latency
from registry.selectors.search.speeds import Speed
from registry.tables import Build

register = template.Library()


@register.filter
def as_fast(gain: float) -> str:
    """A gain -> ``2.1 times as fast``."""
    return speedwords.speed(1 / gain)


@register.filter
def share(gain: float) -> str:
    """A gain -> the latency in percent of the default's, for a bar."""
    return speedwords.share(1 / gain)


@register.filter
def build_share(build: Build) -> str:
    """A build -> its latency in percent of the default's, for a bar."""
    return speedwords.share(build.ratio)


@register.filter
def default_latency(build: Build) -> str:
    """A build -> the latency of the default in the same run."""
    return latency(build.p50_ns / build.ratio)


@register.filter
def accuracy(speed: Speed) -> str:
    """The accuracy of a best build -> ``accuracy 98.6 of 98.6 %``."""
    return speedwords.accuracy(speed.accuracy, speed.accuracy_reference)


register.filter("cost", speedwords.cost)
register.filter("per_second", speedwords.per_second)
register.filter("samples_per_second", speedwords.samples_per_second)
register.filter("execution", speedwords.execution)
