"""URLs of records and identifiers; they precede those of namespaces."""

from collections.abc import Sequence

from django.urls import URLPattern, path, re_path

from hub.fair import (
    api_catalog,
    ark,
    catalog,
    crate,
    dump,
    feeds,
    keys,
    linkset,
    measurements,
    metadata,
    modelsignature,
    oai,
    policy,
    robots,
    shapes,
    sitemap,
    terms,
    testtensor,
)
from hub.fair.subject import View
from registry.ids import OID_PATTERN, SHA256_PATTERN
from registry.states import RepositoryKind

_NAMES = r"(?P<namespace>[^/]+)/(?P<name>[^/]+)"
# The name of a data set may equal that of a view of models.
_ROOTS = {
    RepositoryKind.DATASET: rf"^datasets/{_NAMES}",
    RepositoryKind.MODEL: rf"^(?!datasets/){_NAMES}",
}
#: Name, path after ``namespace/name``, and view, for models and data sets.
_SHARED: list[tuple[str, str, View]] = [
    ("metadata", r"/metadata/(?P<format_name>[^/]+)", metadata.metadata),
    ("linkset", "/linkset", linkset.linkset),
    ("crate", "/crate", crate.crate),
    ("feed", "/feed", feeds.versions),
]
#: For models only.
_MEASURED: list[tuple[str, str, View]] = [
    ("measurements", r"/measurements/(?P<file_name>[^/]+)", measurements.measurements),
    ("signature", r"/model\.sig", modelsignature.model_signature),
]


def _repository(kind: RepositoryKind, table: Sequence[tuple[str, str, View]]) -> list[URLPattern]:
    """URLs of one kind, named ``<kind>-<view>``."""
    return [
        re_path(rf"{_ROOTS[kind]}{tail}$", view, {"kind": kind}, name=f"{kind}-{name}")
        for name, tail, view in table
    ]


urlpatterns = [
    path("robots.txt", robots.robots, name="robots"),
    path("sitemap.xml", sitemap.sitemap, name="sitemap"),
    path(".well-known/api-catalog", api_catalog.api_catalog, name="api-catalog"),
    path(".well-known/hpcfair-keys.json", keys.keys, name="keys"),
    re_path(rf"^\.well-known/hpcfair-keys/(?P<keyid>{SHA256_PATTERN})\.pem$", keys.pem, name="key"),
    path("oai", oai.oai, name="oai"),
    path("catalog", catalog.catalog, name="catalog"),
    path("catalog/records.jsonl.gz", dump.dump, name="dump"),
    path("feeds/changes", feeds.changes, name="feed-changes"),
    path("feeds/new", feeds.new, name="feed-new"),
    path("feeds/by/<str:namespace>", feeds.of_namespace, name="feed-namespace"),
    path("terms", terms.terms, name="terms"),
    path("shapes/record", shapes.record, name="shape-record"),
    path("shapes/core", shapes.core, name="shape-core"),
    path("policy", policy.policy, name="policy"),
    re_path(
        rf"^(?P<namespace>[^/]+)/(?P<name>[^/]+)/tests/(?P<oid>{OID_PATTERN})/(?P<path>.+)$",
        testtensor.tensor,
        name="test-tensor",
    ),
    re_path(r"^(?P<text>[Aa][Rr][Kk]:.+)$", ark.resolve, name="ark"),
    *_repository(RepositoryKind.DATASET, _SHARED),
    *_repository(RepositoryKind.MODEL, _SHARED + _MEASURED),
]
