"""Entries of lists of models, with the speed that concerns the reader."""

from dataclasses import replace

from django.http import HttpRequest

from hub.pages.targetchoice import NAME
from registry.selectors.people.usertarget import usertargets_of
from registry.selectors.search.catalogue import CataloguePage
from registry.selectors.search.entry import CatalogueEntry, entries_of
from registry.selectors.search.speeds import scenario_of, speeds_of
from registry.states import ToleranceClass

#: Lists show what any tolerance class brings, unless the reader limits it.
ANY_TOLERANCE = ToleranceClass.INT8


def cards_of(request: HttpRequest, page: CataloguePage) -> list[CatalogueEntry]:
    """The models on a page, in order.

    Their speed is that on the target of the query; if it names none, on the reader's target (see
    :func:`hub.pages.targetchoice.target_choice`), else on the target of the lowest latency.
    """
    entries = entries_of(page)
    wishes = [request.COOKIES.get(NAME, ""), *usertargets_of(request.user)]
    slug = next(filter(None, wishes), "")
    if page.query.targets or not slug:
        return entries
    query = page.query
    own = speeds_of(page.items, slug, query.accepted_tolerance, scenario_of(query))
    return [replace(entry, speed=own.get(entry.mlmodel.pk, entry.speed)) for entry in entries]
