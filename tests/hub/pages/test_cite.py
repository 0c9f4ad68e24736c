"""The panel by which a version is cited and its record is fetched."""

import html
import json
import re

import pytest
from django.test import Client

from registry.fair.formats import formats_of
from registry.selectors.fair.identifier import ark_of, identifier_of, pid_url
from registry.selectors.repository.revision import revision_get
from registry.services.fair.identifier import identifiers_mint
from registry.services.repository.ref import ref_create
from registry.states import RefKind
from registry.tables import FileSeries, MLModel, Revision, User
from tests.factories import commit_files, make_mlmodel, readme
from tests.hub.fair.records import DATA, make_data_record, make_record

pytestmark = pytest.mark.django_db
PAGE = "/lab/galaxy-net"
CITE = f"{PAGE}/cite"


@pytest.fixture
def record(charlie: User, lab: object) -> MLModel:
    return make_record(charlie)


def shown(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return answer.content.decode()


def test_a_card_says_how_to_cite_the_version_that_it_shows(client: Client, record: MLModel) -> None:
    revision = revision_get(record)
    identifier = identifier_of(revision)
    assert identifier is not None
    pid = pid_url(identifier.name)
    page = shown(client, CITE)
    assert f'<a href="{pid}">{ark_of(identifier.name)}</a>' in page
    assert "Josiah Carberry; Ada Beispiel (20" in page
    assert "Galaxy CNN: morphology (version 2.1.0). HPCFair. Model. " + pid in page
    assert "@misc{lab-galaxy-net-2.1.0," in page
    assert "cff-version: " in page
    assert f"swh:1:dir:{revision.directory_oid}" in page
    for form in formats_of("model"):
        assert f"{PAGE}/metadata/{form.name}?revision={revision.oid}" in page
    assert f"{PAGE}/crate?revision={revision.oid}" in page
    assert "not assessed" in page


def test_the_record_in_the_page_can_be_read_by_programs(client: Client, record: MLModel) -> None:
    page = shown(client, PAGE)
    written = re.search(r'<script type="application/ld\+json"[^>]*>(.*?)</script>', page, re.DOTALL)
    assert written
    assert json.loads(written[1])["name"] == "Galaxy CNN: morphology"


def test_a_card_without_files_or_people_is_cited_by_its_title(
    client: Client, charlie: User, lab: object
) -> None:
    make_mlmodel("lab/bare", actor=charlie)
    page = shown(client, "/lab/bare/cite")
    assert re.search(r"bare \(20\d\d\) \(version ", page)
    assert not re.search(r"(The Laboratory|lab) \(20", page)


def test_data_sets_are_cited_as_what_they_are(client: Client, charlie: User, lab: object) -> None:
    make_data_record(charlie)
    page = shown(client, f"/{DATA}/cite")
    assert ". Data set. " in page
    assert "Metadata in 13 formats" in page


def test_a_card_marks_the_test_authority_and_the_licence_of_its_record(
    client: Client, record: MLModel
) -> None:
    page = shown(client, CITE)
    assert "test authority" in page
    assert 'href="https://creativecommons.org/publicdomain/zero/1.0/"' in page


def test_a_card_shows_people_dates_publisher_and_versions(client: Client, record: MLModel) -> None:
    page = shown(client, CITE)
    about = page[page.index('aria-label="About this record"') :]
    assert '<a href="https://orcid.org/0000-0002-1825-0097">Josiah Carberry</a>' in about
    for heading in ("Authors", "Published", "Modified", "Publisher"):
        assert f"<dt>{heading}</dt>" in about, heading


def test_versions_are_listed_by_name_date_and_identifier(
    client: Client, record: MLModel, charlie: User
) -> None:
    first = revision_get(record)
    tagged = commit_files(record, {"a.txt": "a"}, actor=charlie)
    ref_create(actor=charlie, mlmodel=record, kind=RefKind.TAG, name="v3", revision=tagged)
    newest = commit_files(
        record, {"README.md": readme("# Galaxy CNN\n"), "a.txt": "b"}, actor=charlie
    )
    names = [(newest, newest.oid[:10]), (tagged, "v3"), (first, "2.1.0")]
    page = shown(client, CITE)
    rest = page[page.index('<ol class="versions">') : page.index("</ol>", page.index("versions"))]
    for revision, name in names:
        row = identifier_of(revision)
        assert row is not None
        current = ' aria-current="true"' if revision == newest else ""
        entry = f'<a href="{pid_url(row.name)}"{current}>{name}</a>'
        assert entry in rest, "newest first"
        rest = rest.partition(entry)[2]
        assert f"{revision.created_at:%Y}</time>" in rest
        assert ark_of(row.name) in rest


def test_many_versions_have_pages(client: Client, record: MLModel) -> None:
    author, revision = record.created_by, revision_get(record)
    series = FileSeries.objects.create(mlmodel=record)
    rows = [
        Revision(
            mlmodel=record,
            series=series,
            position=number,
            parent=revision,
            oid=f"{number:040x}",
            tree_oid=revision.tree_oid,
            author=author,
            author_line=revision.author_line,
            message="More",
            created_at=revision.created_at,
            card=revision.card,
        )
        for number in range(120)
    ]
    identifiers_mint(record, Revision.objects.bulk_create(rows))
    total, path, seen = record.identifiers.filter(kind="version").count(), CITE, []
    while path:
        page = shown(client, path)
        assert ('<details id="versions" open>' in page) == (path != CITE)
        listed = page[page.index('<ol class="versions">') :]
        seen += re.findall(r'<span class="small mono">(ark:[^<]+)</span>', listed)
        older = re.search(r'href="([^"]+)" rel="next">Older versions', listed)
        path = f"{CITE}{html.unescape(older[1]).partition('#')[0]}" if older else ""
    assert len(seen) == len(set(seen)) == total > 120


def test_a_card_without_authors_names_nobody(client: Client, charlie: User, lab: object) -> None:
    make_mlmodel("lab/plain", actor=charlie)
    page = shown(client, "/lab/plain/cite")
    about = page[page.index('aria-label="About this record"') :]
    assert '<dt>Authors</dt><dd><span class="muted">not stated</span></dd>' in about
