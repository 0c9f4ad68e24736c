"""The operators' pages: who sees them, what they show, and what they change."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from hub.admin.site import MOST_ROWS
from hub.admin.urls import SITE
from registry.services.audit import audit
from registry.services.people.account import staff_set
from registry.tables import AuditEntry, Ban, MLModel, Target, User
from tests.factories import make_token, make_user, member
from tests.hub.pages.test_content_policy import inline_parts
from tests.hub.pages.test_reading import text
from tests.registry import shopfloor

pytestmark = pytest.mark.django_db

NAMES = [model._meta.model_name for model in SITE._registry]


@pytest.fixture
def operator(client: Client, alice: User) -> User:
    """alice, an operator of the hub, signed in."""
    staff_set(actor=None, user=alice, is_staff=True)
    client.force_login(alice)
    return member("alice")


@pytest.fixture
def rows(galaxy: MLModel, secret: MLModel) -> None:
    """At least one row of each table, and two of those that grow."""
    # Both models wait for their inspection.
    target, _ = shopfloor.make_machine()
    for digit in "cd":
        Ban.objects.create(target=target, config_sha256=digit * 64, reason="It took down two.")


def test_strangers_sign_in_by_the_hubs_own_page(client: Client, alice: User) -> None:
    assert client.get("/admin").headers["Location"] == "/admin/"
    answer = client.get("/admin/registry/user/", follow=True)
    assert answer.redirect_chain[-1][0] == "/login?next=/admin/registry/user/"
    # Guesses at the form of Django's own would not be counted.
    posted = client.post("/admin/login/", {"username": "alice", "password": "x"})
    assert posted.headers["Location"].startswith("/login?")


def test_other_people_are_refused(client: Client, alice: User, bob: User) -> None:
    client.force_login(bob)
    page = client.get("/admin/", follow=True)
    assert page.status_code == 403
    assert "Only operators of the hub" in page.content.decode()
    assert "/admin/" not in text(client, "/")
    bearer = {"authorization": f"Bearer {make_token(alice)}"}
    assert Client().get("/admin/", headers=bearer).status_code == 302


def test_every_table_is_shown_and_none_can_be_edited(
    client: Client, operator: User, rows: None
) -> None:
    assert "/admin/" in text(client, "/")
    index = text(client, "/admin/")
    for model in SITE._registry:
        place = f"/admin/registry/{model._meta.model_name}/"
        assert place in index
        assert inline_parts(text(client, place)) == []
        row = model._default_manager.first()
        assert row is not None, model
        page = text(client, f"{place}{row.pk}/change/")
        assert inline_parts(page) == []
        for secret in (operator.password, "_save", "deletelink"):
            assert secret not in page
        for act in ("add/", f"{row.pk}/delete/"):
            assert client.get(f"{place}{act}").status_code == 403
        assert client.post(f"{place}{row.pk}/change/", {"_save": "1"}).status_code == 403
    answer = client.get("/admin/")
    assert "default-src 'self'" in answer.headers["Content-Security-Policy"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("order", ["", "?o=2"])
def test_a_page_of_a_large_table_neither_counts_nor_sorts_all_rows(
    client: Client, operator: User, rows: None, name: str, order: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    for table in SITE._registry.values():
        # What fits a page is read without a limit.
        monkeypatch.setattr(table, "list_per_page", 1)
    with CaptureQueriesContext(connection) as queries:
        page = text(client, f"/admin/registry/{name}/{order}")
    assert "sortable" not in page
    selects = [one["sql"] for one in queries if f'FROM "registry_{name}"' in one["sql"]]
    counts = [sql for sql in selects if "COUNT(" in sql.upper()]
    pages = [sql for sql in selects if f'ORDER BY "registry_{name}"."id" DESC LIMIT 1' in sql]
    assert (len(counts), len(pages)) == (1, 1 if name not in {"target", "device"} else 0)
    assert f"LIMIT {MOST_ROWS}" in counts[0]
    # Others are looked up by their keys.
    assert all(" WHERE " in sql for sql in selects if sql not in counts + pages and pages)


@pytest.mark.parametrize(
    ("table", "word", "expected"),
    [
        ("user", "ALICE", ["alice"]),
        ("user", "charlie@example.org", ["charlie"]),
        ("user", "ali", []),
        ("namespace", "Lab", ["lab"]),
        ("mlmodel", "lab", ["lab/galaxy-cnn"]),
        ("mlmodel", "LAB/Galaxy-CNN", ["lab/galaxy-cnn"]),
        ("mlmodel", "lab/none", []),
        ("auditentry", "lab/galaxy-cnn", ["mlmodel.create"]),
    ],
)
def test_rows_are_found_by_whole_names(
    client: Client, operator: User, rows: None, table: str, word: str, expected: list[str]
) -> None:
    answer = client.get(f"/admin/registry/{table}/", {"q": word})
    shown = {"user": "username", "namespace": "name", "mlmodel": "full_name"}
    names = [
        str(getattr(row, shown.get(table, "action"))) for row in answer.context["cl"].result_list
    ]
    assert set(expected) <= set(names)
    assert bool(names) == bool(expected)


@pytest.mark.parametrize(
    "query",
    [
        "user/?password__startswith=pbkdf2",
        "user/?tokens__digest__startswith=0",
        "auditentry/?detail__contains=x",
        "job/?failure_detail__contains=x",
    ],
)
def test_nothing_is_probed_by_filters_in_the_address(
    client: Client, operator: User, rows: None, query: str
) -> None:
    assert client.get(f"/admin/registry/{query}").status_code == 400
    assert client.get("/admin/registry/job/?state__exact=queued").status_code == 200


def act(client: Client, table: str, action: str, pk: int) -> str:
    """The page after an action on one row."""
    values = {"action": action, "_selected_action": [str(pk)]}
    answer = client.post(f"/admin/registry/{table}/", values, follow=True)
    assert answer.status_code == 200
    return answer.content.decode()


def test_accounts_are_disabled_through_the_service(
    client: Client, operator: User, bob: User
) -> None:
    assert "1 accounts disabled." in act(client, "user", "disable", bob.pk)
    assert not member("bob").is_active
    entry = AuditEntry.objects.get(action="user.disable")
    assert (entry.actor, entry.subject) == (operator, "bob")
    assert "1 accounts enabled." in act(client, "user", "enable", bob.pk)
    assert "your own account" in act(client, "user", "disable", operator.pk)
    assert member("alice").is_active
    assert not LogEntry.objects.exists()


def test_targets_are_disabled_through_the_service(
    client: Client, operator: User, rows: None
) -> None:
    target = Target.objects.get()
    assert "1 targets disabled." in act(client, "target", "disable", target.pk)
    assert not Target.objects.get().enabled
    assert AuditEntry.objects.get(action="target.disable").actor == operator
    act(client, "target", "enable", target.pk)
    assert Target.objects.get().enabled


def test_an_operator_no_longer_is_refused_at_once(client: Client, operator: User) -> None:
    staff_set(actor=None, user=operator, is_staff=False)
    assert client.get("/admin/", follow=True).status_code == 403


def test_the_command_makes_operators_and_prints_links(
    client: Client, bob: User, capsys: Any, settings: Any
) -> None:
    settings.HUB_URL = ""
    call_command("user", "bob", "--staff")
    assert member("bob").is_staff
    call_command("user", "bob", "--no-staff")
    assert not member("bob").is_staff
    capsys.readouterr()
    call_command("user", "bob", "--reset")
    link = capsys.readouterr().out.strip()
    assert "bob" in client.get(link, follow=True).content.decode()
    call_command("user", "carol", "--staff", "--reset")
    assert member("carol").is_staff


def test_hostile_names_are_text(client: Client, operator: User) -> None:
    make_user("mallory", full_name="<script>alert(1)</script>")
    audit(None, "user.test", "<img src=x onerror=alert(1)>")
    for table in ("user", "auditentry"):
        assert "<script>alert" not in text(client, f"/admin/registry/{table}/")
        assert "<img src=x" not in text(client, f"/admin/registry/{table}/")
