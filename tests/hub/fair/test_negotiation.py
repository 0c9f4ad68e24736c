"""A record's page answers in the form that ``Accept`` prefers; nobody is refused."""

import json

import pytest
from django.conf import settings
from django.http import HttpResponse
from django.test import Client, RequestFactory
from hypothesis import given
from hypothesis import strategies as st

from hub.fair.negotiation import preferred
from registry.fair.formats import FORMATS
from registry.fair.score.served import links_in, page_in
from registry.fair.signposting import LINKSET_TEXT_TYPE, LINKSET_TYPE, negotiated
from registry.selectors.fair.identifier import identifier_of, pid_url
from registry.selectors.repository.revision import revision_get
from registry.services.repository.ref import ref_create
from registry.states import RefKind
from registry.tables import MLModel, User
from tests.factories import make_mlmodel, readme
from tests.hub.fair.records import DATA, make_data_record, make_record

PAGE = "/lab/galaxy-net"
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"
CRATE = "https://w3id.org/ro/crate"
PROV = "http://www.w3.org/Submission/2013/SUBM-prov-json-20130424/"
#: Who asks so sees the page.
FOR_PEOPLE = [
    BROWSER, "*/*", "", "text/*", "application/foo", "application/json", "nonsense", ";;;,,,",
    "text/html, application/ld+json", "application/ld+json;q=0.1, text/html;q=0.2",
    "application/ld+json;q=0", "text/html; q*=bogus''x", "application/ld+json; x*=bogus''x",
]  # fmt: skip
#: Who asks so reads what begins so.
FOR_PROGRAMS = [
    *((one, one) for one in negotiated("model")),
    (LINKSET_TEXT_TYPE, LINKSET_TEXT_TYPE),
    ("application/ld+json, */*", "application/ld+json"),
    ("application/vnd.schemaorg.ld+json, application/ld+json", "application/ld+json"),
    ("text/html;q=0.5, text/turtle", "text/turtle"),
    ("text/turtle;q=0.4, application/ld+json;q=0.5, text/html;q=0.1", "application/ld+json"),
    ("APPLICATION/LD+JSON", "application/ld+json"),
    ("application/*", "application/ld+json"),
    ("application/linkset+json, application/json, application/linkset", LINKSET_TYPE),
    ("text/turtle; charset=utf-8, text/html;q=0.5", "text/turtle; charset=utf-8"),
    (f'application/ld+json; profile="{CRATE}"', f'application/ld+json; profile="{CRATE}"'),
    (f'application/json; profile="{PROV}"', f'application/json; profile="{PROV}"'),
    ("application/json, application/rdf+xml;q=0.5", "application/rdf+xml"),
    (f"application/ld+json;profile={CRATE}", f'application/ld+json; profile="{CRATE}"'),
]


@pytest.fixture
def record(charlie: User, lab: object) -> MLModel:
    return make_record(charlie)


def asked(client: Client, path: str, accept: str | None) -> HttpResponse:
    answer = client.get(path, headers={} if accept is None else {"Accept": accept})
    assert isinstance(answer, HttpResponse)
    return answer


@pytest.mark.django_db
def test_people_see_the_page(client: Client, record: MLModel) -> None:
    for accept in (*FOR_PEOPLE, None):
        answer = asked(client, PAGE, accept)
        assert answer.status_code == 200, accept
        assert answer.headers["Content-Type"] == "text/html; charset=utf-8", accept


@pytest.mark.django_db
def test_no_script_of_strangers_runs_on_a_page(client: Client, record: MLModel) -> None:
    for path in (PAGE, "/", "/login", "/nothing/here"):
        policy = client.get(path).headers["Content-Security-Policy"]
        assert "default-src 'self'" in policy
        assert "script-src" not in policy
    assert client.get("/api/docs").headers["Content-Security-Policy"] == policy


@pytest.mark.django_db
def test_a_page_has_no_summary_where_the_card_has_none(
    client: Client, charlie: User, lab: object
) -> None:
    make_mlmodel("lab/plain", actor=charlie, files={"README.md": readme("")})
    make_mlmodel("lab/told", actor=charlie, files={"README.md": readme("It counts stars.\n")})
    assert 'name="description"' not in asked(client, "/lab/plain", None).content.decode()
    told = '<meta name="description" content="It counts stars.">'
    assert told in asked(client, "/lab/told", None).content.decode()


@pytest.mark.django_db
def test_programs_read_what_they_ask_for(client: Client, record: MLModel) -> None:
    for accept, wanted in FOR_PROGRAMS:
        answer = asked(client, PAGE, accept)
        assert answer.status_code == 200, accept
        assert answer.headers["Content-Type"].startswith(wanted), accept
    plain = 'application/ld+json;profile="http://www.w3.org/ns/json-ld#compacted"'
    assert asked(client, PAGE, plain).headers["Content-Type"] == "application/ld+json"


@given(st.text(alphabet="abcdlhtmx/+*;=,'\"%. q019ü\\()<>@", max_size=80))
def test_no_header_is_too_odd_to_be_answered(accept: str) -> None:
    request = RequestFactory().get("/", headers={"Accept": accept})
    assert preferred(request, FORMATS) in {None, *FORMATS}


@pytest.mark.django_db
def test_every_answer_at_the_page_is_linked_and_says_that_others_exist(
    client: Client, record: MLModel
) -> None:
    for accept in (BROWSER, "text/turtle", "application/ld+json"):
        answer = asked(client, PAGE, accept)
        assert "Accept" in answer.headers["Vary"].split(", ")
        assert len(answer.headers["Link"]) < 4096
        rels = [link.rel for link in links_in(answer.headers["Link"], PAGE)]
        assert rels.count("cite-as") == rels.count("linkset") == rels.count("license") == 1
        assert rels.count("describedby") == 10
        head = client.head(PAGE, headers={"Accept": accept})
        assert head.headers["Link"] == answer.headers["Link"]
        assert head.headers["Content-Type"] == answer.headers["Content-Type"]


@pytest.mark.django_db
def test_the_page_and_the_identifier_lead_to_one_resource(client: Client, record: MLModel) -> None:
    """Whichever address was requested: the same location, citation and identifiers."""
    revision = revision_get(record)
    identifier = identifier_of(revision)
    assert identifier is not None
    pid = pid_url(identifier.name)
    version = f"{settings.HUB_URL}{PAGE}?revision={revision.oid}"
    own = f"{settings.HUB_URL}{PAGE}"
    for address in (PAGE, pid.removeprefix(settings.HUB_URL)):
        page = client.get(address, follow=True)
        assert page["Content-Location"] == version, address
        cited = [one.target for one in links_in(page["Link"], PAGE) if one.rel == "cite-as"]
        assert cited == [pid], address
        document = client.get(address, headers={"Accept": "application/ld+json"}, follow=True)
        metadata = f"{own}/metadata/jsonld?revision={revision.oid}"
        assert document["Content-Location"] == metadata, address
        assert (document.json()["@id"], document.json()["identifier"][:3]) == (
            pid,
            [pid, version, own],
        )
    older = record.revisions.earliest("pk")
    assert older != revision
    document = client.get(f"{PAGE}?revision={older.oid}", headers={"Accept": "application/ld+json"})
    assert own not in document.json()["identifier"], "its page shows another version"


@pytest.mark.django_db
def test_the_page_holds_the_very_record_that_programs_are_given(
    client: Client, record: MLModel
) -> None:
    page = page_in(asked(client, PAGE, BROWSER).content.decode())
    given_out = json.loads(asked(client, PAGE, "application/ld+json").content)
    assert page.embedded == given_out
    assert given_out["name"] == "Galaxy CNN: morphology"
    assert isinstance(given_out["@context"], dict)
    assert len(page.text) > 150


@pytest.mark.django_db
def test_a_tag_an_id_and_the_newest_are_versions_of_one_model(
    client: Client, record: MLModel, charlie: User
) -> None:
    newest = revision_get(record)
    first = newest.parent
    assert first is not None
    ref_create(actor=charlie, mlmodel=record, kind=RefKind.TAG, name="v0", revision=first)
    told = {
        rev: json.loads(asked(client, f"{PAGE}{rev}", "application/ld+json").content)
        for rev in ("", "?revision=main", "?revision=v0", f"?revision={first.oid}")
    }
    assert told[""]["@id"] == told["?revision=main"]["@id"]
    assert told["?revision=v0"]["@id"] == told[f"?revision={first.oid}"]["@id"]
    assert told["?revision=v0"]["@id"] != told[""]["@id"]
    concepts = {one["dct:isVersionOf"]["@id"] for one in told.values()}
    assert len(concepts) == 1
    assert told["?revision=v0"]["version"] == "v0"


@pytest.mark.django_db
def test_what_a_data_set_is_not_written_as_is_its_page(
    client: Client, charlie: User, lab: object
) -> None:
    make_data_record(charlie)
    bill = asked(client, f"/{DATA}", "application/vnd.cyclonedx+json")
    assert bill.headers["Content-Type"].startswith("text/html")
    assert json.loads(asked(client, f"/{DATA}", "application/ld+json").content)["@type"][0] == (
        "Dataset"
    )


@pytest.mark.django_db
def test_who_has_a_form_already_is_told_so(client: Client, record: MLModel) -> None:
    first = asked(client, PAGE, "text/turtle")
    headers = {"Accept": "text/turtle", "If-None-Match": first.headers["ETag"]}
    again = client.get(PAGE, headers=headers)
    assert (again.status_code, again.content) == (304, b"")
    headers["Accept"] = "application/ld+json"
    assert client.get(PAGE, headers=headers).status_code == 200


@pytest.mark.django_db
def test_of_what_is_private_strangers_read_nothing(
    client: Client, secret: MLModel, charlie: User
) -> None:
    member = Client()
    member.force_login(charlie)
    for accept in (BROWSER, "application/ld+json", LINKSET_TYPE):
        answer = asked(client, "/lab/secret", accept)
        assert answer.status_code == 404, accept
        assert "Link" not in answer.headers, accept
        known = asked(member, "/lab/secret", accept)
        assert known.status_code == 200, accept
        assert "public" not in known.headers.get("Cache-Control", ""), accept


@pytest.mark.django_db
def test_the_headers_of_a_page_fit_into_what_proxies_reserve_for_them(
    client: Client, lab: object, charlie: User
) -> None:
    files = {f"weights/part-{number:05}-of-00060.safetensors": b"w" for number in range(60)}
    make_mlmodel("lab/many", actor=charlie, files=files | {"README.md": readme()})
    client.force_login(charlie)
    for accept in (BROWSER, "application/ld+json"):
        answer = asked(client, "/lab/many", accept)
        lines = [f"{name}: {value}\r\n" for name, value in answer.headers.items()]
        cookies = [f"{cookie}\r\n" for cookie in answer.cookies.values()]
        # With what a server adds: the first line, date, name, length.
        assert sum(map(len, (*lines, *cookies))) + 150 < 4096
        rels = [link.rel for link in links_in(answer.headers["Link"], "/lab/many")]
        assert {"cite-as", "linkset", "license", "describedby", "item"} <= set(rels)
