"""A build: its description, profile and reproductions; the test tensors of a model's builds."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render

from hub.pages import chart
from hub.pages.rooflinepanel import roofline_panel
from hub.pages.views import page
from registry.errors import NotFound
from registry.fair.addresses import RepositoryAddress
from registry.selectors.results.build import build_get
from registry.selectors.results.mixedprecision import mixed_precision
from registry.selectors.results.nodetime import baseline_of, node_times
from registry.selectors.results.profile import profile_of, summary
from registry.selectors.results.reproduction import history
from registry.selectors.results.testtensor import test_path, test_sets
from registry.tables import Build, MLModel, Profile, Revision, TestTensor

_REPRODUCTIONS = 20
#: Test sets on a page; the API has all.
_TEST_SETS = 3


@dataclass(frozen=True, slots=True)
class ShownTestSet:
    """A test set on a page; each tensor with its relative address."""

    number: int
    is_made: bool
    tensors: list[tuple[TestTensor, str]]


@page
def build(request: HttpRequest, uuid: str) -> HttpResponseBase:
    """A build; it may be withdrawn."""
    row = build_get(request.user, str(uuid))
    context: dict[str, Any] = {
        "build": row,
        "mlmodel": row.graph.revision.mlmodel,
        "mixed": mixed_precision(row),
        "reproductions": list(history(row)[:_REPRODUCTIONS]),
    }
    try:
        profile = profile_of(row)
    except NotFound:
        return render(request, "mlmodel/build.html", context)
    totals = summary(profile)
    context |= {
        "profile": profile,
        "totals": totals,
        "gap": totals["gap_ns"] / max(totals["total_ns"], 1),
        "bars": _bars(row, profile),
        "roofline": roofline_panel(request.user, row),
    }
    return render(request, "mlmodel/build.html", context)


def _bars(build: Build, profile: Profile) -> chart.Chart | None:
    """Time by node: in the default and in this build, if the default has a profile as well."""
    baseline = None if build.is_baseline else baseline_of(build)
    before = Profile.objects.filter(build=baseline).first() if baseline else None
    profiles, names = [profile], ["this build"]
    if before:
        profiles, names = [before, profile], ["default", "this build"]
    parts = [chart.Part(each.label, each.times_ns) for each in node_times(profiles)]
    return chart.bars(parts, names)


def shown_sets(mlmodel: MLModel, revision: Revision) -> tuple[list[ShownTestSet], int]:
    """The first test sets of the revision's network, and the number of all."""
    place = RepositoryAddress("", "model", mlmodel.full_name)
    rows_of = test_sets(revision)
    shown = [
        ShownTestSet(
            number,
            rows[0].is_made,
            [(row, place.test(revision.oid, test_path(row))) for row in rows],
        )
        for number, rows in list(rows_of.items())[:_TEST_SETS]
    ]
    return shown, len(rows_of)
