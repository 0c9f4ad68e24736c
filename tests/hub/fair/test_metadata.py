"""Metadata documents and link sets at their own addresses."""

import json
from urllib.parse import urlsplit

import pytest
from django.http import HttpResponse
from django.test import Client

from registry.fair.formats import formats_of
from registry.fair.score.served import links_in, linkset_in
from registry.fair.signposting import LINKSET_TEXT_TYPE, LINKSET_TYPE
from registry.selectors.repository.revision import revision_get
from registry.services.repository.mlmodel import mlmodel_delete, mlmodel_move, mlmodel_update
from registry.states import Gate, RepositoryKind, Scope
from registry.tables import MLModel, User
from tests.factories import commit_files, make_mlmodel, make_token
from tests.hub.fair.records import DATA, make_data_record, make_record

pytestmark = pytest.mark.django_db
PAGE = "/lab/galaxy-net"


@pytest.fixture
def record(charlie: User, lab: object) -> MLModel:
    return make_record(charlie)


def get(client: Client, address: str, status: int = 200, **headers: str) -> HttpResponse:
    """``address`` with or without its host."""
    path = address.removeprefix("{0.scheme}://{0.netloc}".format(urlsplit(address)))
    answer = client.get(path, headers=headers)
    assert isinstance(answer, HttpResponse)
    assert answer.status_code == status, answer.content[:300]
    return answer


def test_what_describes_a_page_is_there_and_leads_back(client: Client, record: MLModel) -> None:
    oid = revision_get(record).oid
    page = get(client, PAGE)
    landing = f"http://127.0.0.1:8000{PAGE}?revision={oid}"
    in_header = [one for one in links_in(page.headers["Link"], PAGE) if one.rel == "describedby"]
    every = linkset_in(get(client, f"{PAGE}/linkset").content, PAGE)
    described = [one for one in every if (one.anchor, one.rel) == (landing, "describedby")]
    assert len(described) == len(formats_of("model"))
    for link in (*in_header, *described):
        answer = get(client, link.target)
        assert answer.headers["Content-Type"].partition(";")[0] == link.type
        if link.profile:
            assert link.profile in answer.headers["Content-Type"]
        own = f"http://127.0.0.1:8000{PAGE}"
        back = {(one.rel, one.target) for one in links_in(answer.headers["Link"], link.target)}
        assert back == {
            ("describes", own),
            ("describes", f"{own}?revision={oid}"),
            ("linkset", f"{own}/linkset?revision={oid}"),
        }
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "sandbox" in answer.headers["Content-Security-Policy"]
        assert "galaxy-net-2.1.0" in answer.headers["Content-Disposition"]
        assert answer.headers["Cache-Control"] == "public, no-cache"
        known = get(client, link.target, 304, **{"If-None-Match": answer.headers["ETag"]})
        assert known.content == b""


def test_a_document_is_the_same_at_the_page_and_at_its_own_address(
    client: Client, record: MLModel
) -> None:
    for form in formats_of("model"):
        if form.is_negotiated:
            own = get(client, f"{PAGE}/metadata/{form.name}")
            assert own.content == get(client, PAGE, Accept=form.media_type).content


def test_a_link_set_tells_of_the_page_of_every_file_and_of_every_document(
    client: Client, record: MLModel
) -> None:
    oid = revision_get(record).oid
    answer = get(client, f"{PAGE}/linkset?revision={oid}")
    assert answer.headers["Content-Type"] == LINKSET_TYPE
    assert answer.headers["Vary"].startswith("Accept")
    links = linkset_in(answer.content, PAGE)
    landing = f"http://127.0.0.1:8000{PAGE}?revision={oid}"
    pages = {landing, f"http://127.0.0.1:8000{PAGE}"}
    assert {one.target for one in links if one.rel == "collection"} == pages
    assert sum(one.rel == "describes" for one in links) == 2 * len(formats_of("model"))
    items = [one for one in links if one.rel == "item" and one.anchor == landing]
    for item in items:
        if "/resolve/" in item.target:
            file = client.head(urlsplit(item.target).path)
            assert file.status_code == 200
            assert file.headers["Content-Type"].partition(";")[0] == item.type
            (told,) = [
                one
                for one in links_in(file.headers["Link"], item.target)
                if one.rel == "describedby"
            ]
            metadata = get(client, told.target)
            assert metadata.headers["Content-Type"].startswith(told.type or "")
            assert item.target in metadata.content.decode()
    assert len(items) == 1 + len(record.revisions.get(oid=oid).files.all())
    text = get(client, f"{PAGE}/linkset", Accept=LINKSET_TEXT_TYPE)
    assert text.headers["Content-Type"] == LINKSET_TEXT_TYPE
    assert links_in(text.content.decode(), PAGE)[0].rel == "cite-as"


def test_data_sets_have_documents_too_even_one_that_is_called_like_a_view(
    client: Client, charlie: User, lab: object
) -> None:
    make_data_record(charlie)
    answer = get(client, f"/{DATA}/metadata/datacite-json")
    assert json.loads(answer.content)["types"]["resourceTypeGeneral"] == "Dataset"
    get(client, f"/{DATA}/linkset")
    get(client, f"/{DATA}/metadata/cyclonedx", 404)
    for name in ("crate", "linkset", "metadata"):
        make_mlmodel(f"lab/{name}", kind=RepositoryKind.DATASET)
        assert f"lab/{name}" in get(client, f"/datasets/lab/{name}").content.decode()
    get(client, "/datasets/lab/metadata/history")


def test_what_is_not_there_is_said_not_to_be(client: Client, record: MLModel) -> None:
    for tail in (
        "/metadata/html",
        "/metadata/jsonld?revision=v9",
        "/linkset?revision=nothing",
        "/metadata/%00",
        "/metadata/jsonld?revision=%00",
        "-none/metadata/jsonld",
    ):
        get(client, f"{PAGE}{tail}", 404)


def test_documents_are_only_read(client: Client, record: MLModel) -> None:
    assert client.post(f"{PAGE}/metadata/jsonld").status_code == 405
    assert client.delete(f"{PAGE}/linkset").status_code == 405


def test_scripts_of_other_sites_read_what_anybody_gets(
    client: Client, record: MLModel, secret: MLModel, charlie: User
) -> None:
    def is_shared(path: str, **headers: str) -> bool:
        answer = client.head(path, headers={"Origin": "https://elsewhere.example", **headers})
        assert answer.status_code in {200, 410}, path
        assert "Access-Control-Allow-Credentials" not in answer.headers
        found = answer.headers.get("Access-Control-Allow-Origin")
        assert answer.headers.get("Access-Control-Expose-Headers") == found
        assert found in {"*", None}
        return found == "*"

    records = ("/metadata/jsonld", "/linkset", "?revision=main")
    files = ("/resolve/main/README.md", "/resolve/main/model.onnx", "/crate")
    kinds = {"?revision=main": "text/turtle"}
    tables = ("/measurements/trials.csv",)
    for tail in (*records, *files, *tables):
        assert is_shared(f"{PAGE}{tail}", Accept=kinds.get(tail, "*/*"))
    # A page is another one for whoever is signed in.
    assert not is_shared(PAGE, Accept="text/html")
    mlmodel_update(actor=charlie, mlmodel=record, gate=Gate.MANUAL)
    for tail in records:
        assert is_shared(f"{PAGE}{tail}", Accept=kinds.get(tail, "*/*"))
    client.force_login(charlie)
    assert not any(is_shared(f"{PAGE}{tail}") for tail in (*files[1:], *tables))
    for tail in ("/metadata/jsonld", "/linkset", "/crate", "/resolve/main/README.md"):
        assert not is_shared(f"/lab/secret{tail}")
    assert not is_shared("/lab/secret", Accept="text/turtle")


def test_the_old_name_of_a_record_leads_to_the_new_one(
    client: Client, record: MLModel, charlie: User
) -> None:
    mlmodel_move(actor=charlie, mlmodel=record, namespace="charlie", name="sky")
    answer = client.get(f"{PAGE}/metadata/jsonld?revision=main")
    assert (answer.status_code, answer.headers["Location"]) == (
        302,
        "/charlie/sky/metadata/jsonld?revision=main",
    )
    assert client.get(f"{PAGE}/crate").headers["Location"] == "/charlie/sky/crate"
    data = make_data_record(charlie)
    mlmodel_move(actor=charlie, mlmodel=data, namespace="charlie", name="sky")
    answer = client.get(f"/{DATA}/linkset?revision=a%2Fb")
    assert answer.headers["Location"] == "/datasets/charlie/sky/linkset?revision=a%2Fb"


def test_of_what_is_private_members_read_by_session_or_token(
    client: Client, secret: MLModel, charlie: User, alice: User
) -> None:
    path = "/lab/secret/metadata/jsonld"
    for address in (path, "/lab/secret/linkset"):
        get(client, address, 404)
        get(client, address, 404, Authorization=f"Bearer {make_token(alice, Scope.READ)}")
    answer = get(client, path, Authorization=f"Bearer {make_token(charlie, Scope.READ)}")
    assert answer.headers["Cache-Control"] == "private, no-cache"
    get(client, path, 401, Authorization="Bearer hpf_unknown")
    client.force_login(charlie)
    assert "public" not in get(client, path).headers["Cache-Control"]


def test_what_is_gated_is_described_to_all(client: Client, record: MLModel, charlie: User) -> None:
    mlmodel_update(actor=charlie, mlmodel=record, gate=Gate.MANUAL)
    told = json.loads(get(client, f"{PAGE}/metadata/jsonld").content)
    assert told["dct:accessRights"]["@id"].endswith("c_16ec")
    assert len(told["distribution"]) == revision_get(record).files.count()


def test_of_what_was_withdrawn_all_documents_are_left(
    client: Client, record: MLModel, charlie: User
) -> None:
    oid = revision_get(record).oid
    mlmodel_delete(actor=charlie, mlmodel=record, reason="Found to be wrong.")
    gone = get(client, f"{PAGE}?revision={oid}", 410, Accept="application/ld+json")
    told = json.loads(gone.content)
    assert told["creativeWorkStatus"] == "Withdrawn"
    for form in formats_of("model"):
        left = get(client, f"{PAGE}/metadata/{form.name}?revision={oid}")
        assert left.headers["Content-Type"].partition(";")[0] == form.media_type
    assert get(client, f"{PAGE}/metadata/jsonld").content == gone.content
    assert linkset_in(get(client, f"{PAGE}/linkset?revision={oid}").content, PAGE)
    get(client, f"{PAGE}/measurements/samples.csv", 410)
    get(client, f"{PAGE}/crate?revision={oid}", 410)
    get(client, f"{PAGE}/measurements/trials.csv?revision={oid}", 410)
    # What comes to its name later is something else.
    make_mlmodel("lab/galaxy-net", actor=charlie, files={"README.md": "# Another\n"})
    assert get(client, f"{PAGE}/metadata/jsonld?revision={oid}").content == gone.content
    assert get(client, f"{PAGE}/metadata/jsonld").content != gone.content


def test_scripts_in_a_card_are_text_in_every_document(
    client: Client, charlie: User, lab: object
) -> None:
    evil = "</script><script>alert(1)</script><!--"
    mlmodel = make_mlmodel("lab/evil", actor=charlie)
    card = f"---\nlicense: mit\nmodel_name: {evil!r}\n---\n# {evil}\n\n{evil}\n"
    commit_files(mlmodel, {"README.md": card}, actor=charlie)
    page = get(client, "/lab/evil").content.decode()
    assert "<script>alert" not in page
    for form in formats_of("model"):
        answer = get(client, f"/lab/evil/metadata/{form.name}")
        if form.media_type.endswith("xml"):
            assert b"<script>" not in answer.content
