"""Every kind of page against axe-core, in light and in dark, and on a phone."""

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from registry.selectors.repository.revision import revision_get
from registry.services.discussion.comment import comment_add
from registry.services.discussion.discussion import discussion_open, pull_request_open
from registry.services.fair.assessment import assessment_add
from registry.services.repository.gate import access_request
from registry.services.repository.mlmodel import mlmodel_create, mlmodel_delete, mlmodel_update
from registry.services.webhook.webhook import webhook_create
from registry.states import Gate, RepositoryKind
from registry.tables import Build, Namespace, User
from tests.factories import commit_files, make_mlmodel, readme
from tests.hub.pages.conftest import Tuned, needs_chromium, sign_in
from tests.registry.assessed import document

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    needs_chromium,
]

#: What a person who cannot see or point meets: WCAG 2.2 A and AA.
_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


@pytest.fixture
def addresses(tuned: Tuned, alice: User, bob: User, lab: Namespace, charlie: User) -> list[str]:
    """A page of every kind, all readable by alice, who owns most of what they show."""
    root, mlmodel = tuned.path, tuned.mlmodel
    for points in (1, 3):
        assessment_add(revision_get(mlmodel), document(points))
    mlmodel_update(actor=alice, mlmodel=mlmodel, gate=Gate.MANUAL)
    access_request(actor=bob, mlmodel=mlmodel, message="For my thesis.")
    talk = discussion_open(actor=bob, mlmodel=mlmodel, title="Which?", description="*Which* one?")
    comment_add(actor=alice, discussion=talk, text="This `one`.")
    pull_request_open(actor=bob, mlmodel=mlmodel, title="A change")
    pull = {"notes.txt": "by hand and foot\n", "deep/er.txt": "new\n"}
    head = commit_files(mlmodel, pull, actor=bob, branch="refs/pr/2")
    sky = mlmodel_create(actor=alice, namespace="alice", name="sky", kind=RepositoryKind.DATASET)
    commit_files(sky, {"README.md": readme("# Sky\n\nImages.\n")}, actor=alice)
    card = readme(base_model="alice/stars")
    shut = make_mlmodel("lab/shut", actor=charlie, files={"README.md": card})
    mlmodel_update(actor=charlie, mlmodel=shut, gate=Gate.MANUAL)
    gone = make_mlmodel("alice/gone", actor=alice, files={"README.md": readme()})
    mlmodel_delete(actor=alice, mlmodel=gone, reason="Superseded.")
    webhook_create(
        actor=alice, url="https://hooks.example.org/in", watched=[{"type": "user", "name": "alice"}]
    )
    return [
        "/", "/models", "/datasets", "/alice", "/new", "/jobs", "/targets", "/records",
        "/catalog", "/terms", "/policy",
        root, f"{root}/builds", f"{root}/jobs", f"{root}/history", f"{root}/upload",
        f"{root}/lineage", f"{root}/describe", f"{root}/fair", "/datasets/alice/sky/fair", "/fair",
        f"{root}/tree/main", f"{root}/tree/refs/pr/2/deep", f"{root}/blob/main/notes.txt",
        f"{root}/commit/{head.oid}", f"{root}/settings", f"{root}/discussions",
        f"{root}/discussions/new", f"{root}/discussions/1", f"{root}/discussions/2",
        f"{root}/discussions/2/changes", "/datasets/alice/sky", "/lab/shut",
        "/lab/shut/raw/main/README.md", f"/jobs/{tuned.job.uuid}", f"/records/{tuned.record.pk}",
        f"/builds/{Build.objects.get(is_baseline=False).uuid}",
        "/settings/profile", "/settings/tokens", "/settings/webhooks", "/settings/access",
        "/alice/gone", "/nobody/nothing",
    ]  # fmt: skip


def faults(page: Page, options: dict[str, Any]) -> list[str]:
    """What axe-core calls serious or critical on the page as it is, one line each."""
    found = page.evaluate("options => axe.run(document, options)", options)
    return [
        f"{page.url}: {fault['id']}: {node['html'][:150]} {node['failureSummary'][:300]}"
        for fault in found["violations"]
        if fault["impact"] in {"serious", "critical"}
        for node in fault["nodes"]
    ]


def test_every_page_can_be_used_by_all_in_light_in_dark_and_on_a_phone(
    loose_page: Page, addresses: list[str]
) -> None:
    rules = {"runOnly": {"type": "tag", "values": _RULES}, "resultTypes": ["violations"]}
    # What else there is to find does not depend on the theme.
    names = ["color-contrast", "link-in-text-block"]
    colours = {"runOnly": {"type": "rule", "values": names}, "resultTypes": ["violations"]}
    found, wide = [], []
    for address in ["/login", *addresses]:
        if address == addresses[0]:
            sign_in(loose_page, "alice")
        loose_page.emulate_media(color_scheme="light")
        loose_page.set_viewport_size({"width": 360, "height": 740})
        loose_page.goto(address)
        if loose_page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            wide.append(address)
        loose_page.set_viewport_size({"width": 1280, "height": 720})
        loose_page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        loose_page.evaluate(Axe().axe_script)
        found += faults(loose_page, rules)
        loose_page.emulate_media(color_scheme="dark")
        found += faults(loose_page, colours)
    assert not found, "\n".join(found)
    assert not wide


def test_axe_would_find_a_fault(loose_page: Page) -> None:
    loose_page.set_content("<html lang=en><title>x</title><main><button></button></main></html>")
    loose_page.evaluate(Axe().axe_script)
    assert "button-name" in faults(loose_page, {})[0]
