"""Which requests have which limit."""

import pytest
from django.test import RequestFactory

from hub.throttling.limits import limit_of

MODEL = "/lab/galaxy-cnn"
SHA = "0" * 64


@pytest.mark.parametrize(
    ("method", "address", "name"),
    [
        ("POST", "/login", "signin"),
        ("POST", "/login/reset", "reset"),
        ("POST", "/settings/password", "signin"),
        ("POST", "/signup", "signup"),
        ("POST", "/oauth/device", "device"),
        ("GET", f"{MODEL}/crate?revision=main", "archive"),
        ("GET", "/datasets/lab/sky/crate", "archive"),
        ("GET", "/catalog/records.jsonl.gz", "archive"),
        ("POST", f"{MODEL}.git/git-upload-pack", "archive"),
        ("POST", f"/datasets{MODEL}/git-upload-pack", "archive"),
        ("GET", "/models?q=x", "search"),
        ("HEAD", "/models", "search"),
        ("GET", "/datasets", "search"),
        ("GET", "/api/v1/models?similar_to=a/b", "search"),
        ("GET", "/api/models?search=x", "search"),
        ("GET", "/api/models-tags-by-type", "search"),
        ("GET", "/api/quicksearch?q=x", "search"),
        ("GET", "/oai?verb=ListRecords", "search"),
        ("POST", "/oai", "search"),
        ("GET", "/catalog", "search"),
        ("GET", "/sitemap.xml", "search"),
        ("GET", f"{MODEL}/commit/{'0' * 40}", "search"),
        ("GET", f"{MODEL}/discussions/1/changes", "search"),
        ("GET", f"{MODEL}/metadata/jsonld", "search"),
        ("POST", "/api/validate-yaml", "validate"),
        ("POST", f"/api/models{MODEL}/paths-info/main", "search"),
        ("POST", "/api/v1/blobs/missing", "search"),
        ("PUT", f"/api/v1/blobs/{SHA}", "upload"),
        ("POST", f"/api/models{MODEL}/commit/main", "write"),
        ("DELETE", f"/api/v1{MODEL}", "write"),
        ("POST", f"{MODEL}/discussions/1/comment", "write"),
        ("GET", "/", None),
        ("GET", MODEL, None),
        ("GET", f"{MODEL}/resolve/main/a/crate", None),
        ("GET", f"{MODEL}/resolve/main/crate", None),
        ("GET", f"{MODEL}/blob/main/history", None),
        ("HEAD", f"{MODEL}/resolve/main/model.onnx", None),
        ("GET", f"/api/models{MODEL}/revision/main", None),
        ("GET", f"/api/v1/models{MODEL}", None),
        ("GET", f"{MODEL}.git/info/refs?service=git-upload-pack", None),
        ("POST", "/xet/0/1/v1/xorbs/default/0", None),
        ("PUT", "/api/lfs/upload/signed", None),
        ("POST", "/oauth/token", None),
        ("GET", "/healthz", None),
        ("GET", "/static/hub/hub.css", None),
        ("OPTIONS", "/api/v1/models/a/b", None),
    ],
)
def test_what_is_costly_is_limited_and_what_nodes_read_is_not(
    method: str, address: str, name: str | None
) -> None:
    limit = limit_of(RequestFactory().generic(method, address))
    assert (limit.name if limit else None) == name
