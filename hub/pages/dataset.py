"""The list of data sets. A data set's own pages are a model's, without what is built of models."""

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render

from hub.pages.addresses import newest_first
from hub.pages.errors import page
from registry.selectors.repository.dataset import datasets_matching


@page
def datasets(request: HttpRequest) -> HttpResponseBase:
    """Data sets, newest first, narrowed by words."""
    query = request.GET.get("q", "").strip()
    shown, older = newest_first(datasets_matching(request.user, query), request)
    context = {"section": "datasets", "dataset_query": query, "shown": shown, "older": older}
    return render(request, "dataset/list.html", context)
