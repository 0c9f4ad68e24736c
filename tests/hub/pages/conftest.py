"""A model that went the whole way: published, inspected, tuned. A real browser to look at it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright
from pytest_django.live_server_helper import LiveServer
from pytest_django.plugin import DjangoDbBlocker

from registry.selectors.people.account import user_find
from registry.selectors.repository.mlmodel import repository_get
from registry.selectors.repository.revision import revision_get
from registry.services.analysis.principle import principles_compute
from registry.services.analysis.roof import roof_of
from registry.services.discussion.comment import comment_add
from registry.services.discussion.discussion import discussion_open, pull_request_open
from registry.services.fair.assessment import assessment_add
from registry.services.people.account import organisation_create
from registry.services.repository.gate import access_request
from registry.services.repository.mlmodel import mlmodel_create, mlmodel_delete, mlmodel_update
from registry.services.results.build import builds_publish
from registry.services.results.profile import profile_store
from registry.services.results.record import record_add
from registry.services.results.trial import trial_add
from registry.services.webhook.webhook import webhook_create
from registry.services.work.attempt import job_fail, job_succeed
from registry.services.work.job import job_submit
from registry.states import FailureClass, Gate, JobKind, JobState, RepositoryKind
from registry.tables import (
    Build,
    CallSite,
    Device,
    Graph,
    Job,
    JobBundle,
    MLModel,
    Namespace,
    Principle,
    Profile,
    Record,
    RoofSet,
    User,
)
from tests.factories import PASSWORD, commit_files, make_mlmodel, make_user, readme, tiny_onnx
from tests.hub.pages.tuning import make_digits, publish_digits
from tests.programs import path_of
from tests.registry import shopfloor
from tests.registry.analysis import roofs
from tests.registry.analysis.planted import search
from tests.registry.analysis.recordedsearches import add_search
from tests.registry.assessed import document
from tests.registry.drawings import EXAMPLE, draw
from tests.registry.work.runs import finished

#: How long a page may take to become what is waited for: a busy machine is no fault of the page.
PATIENCE_MS = 120_000
#: Fixtures that open a page for one test.
_PAGES = ("page", "loose_page", "plain_page")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Pages are opened after a test's other fixtures, and so closed before these are undone.

    A browser asks for icons and the like after all that a test looks at is there. If settings have
    their old values by then, the answer is 404, which is an error of the page.
    """
    for item in items:
        names = getattr(item, "fixturenames", [])
        names.sort(key=lambda name: name in _PAGES)


@pytest.fixture(scope="module")
def kept(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """What a file's fixtures make once: all its tests find it, and each undoes only its own.

    Not for files with tests that commit: those empty the tables after themselves.
    """
    with django_db_blocker.unblock():
        yield
        call_command("flush", interactive=False, verbosity=0)


@pytest.fixture(scope="module")
def cast(kept: None) -> None:
    """The people and ``lab/galaxy-cnn``, as tests/conftest.py has them, made once for a file."""
    make_user("alice", full_name="Alice Adams")
    make_user("bob", full_name="Bob Brown")
    charlie = make_user("charlie", full_name="Charlie Clark")
    organisation_create(actor=charlie, name="lab", title="The Laboratory")
    card = readme(pipeline_tag="image-classification", library_name="onnx", tags=["astronomy"])
    files = {"README.md": card, "model.onnx": tiny_onnx()}
    make_mlmodel("lab/galaxy-cnn", actor=charlie, files=files)


def _kept_or_made(name: str, find: Callable[[], object]) -> Any:
    """The fixture ``name``: what the file keeps, read anew, or else made for this test alone."""

    @pytest.fixture(name=name)
    def found(db: None, request: pytest.FixtureRequest) -> object:
        return find() or request.getfixturevalue(name)

    return found


def _galaxy() -> MLModel | None:
    if not MLModel.objects.filter(namespace__name="lab", name="galaxy-cnn").exists():
        return None
    return repository_get(None, RepositoryKind.MODEL, "lab/galaxy-cnn")


alice, bob, charlie = (
    _kept_or_made(name, partial(user_find, name)) for name in ("alice", "bob", "charlie")
)
lab = _kept_or_made("lab", Namespace.objects.filter(name="lab").first)
galaxy = _kept_or_made("galaxy", _galaxy)


@dataclass(frozen=True)
class Tuned:
    """What hangs on it."""

    mlmodel: MLModel
    inspection: Job
    job: Job
    record: Record

    @property
    def path(self) -> str:
        return f"/{self.mlmodel.full_name}"


@pytest.fixture(scope="module")
def kept_tuned(kept: None) -> Tuned:
    """:func:`tuned`, made once for a file."""
    return _make_tuned(make_user("alice", full_name="Alice Adams"))


@pytest.fixture
def tuned(db: None, request: pytest.FixtureRequest) -> Tuned:
    """``alice/stars``, with a search of three trials and two builds."""
    if "kept_tuned" not in request.fixturenames:
        return _make_tuned(request.getfixturevalue("alice"))
    made = request.getfixturevalue("kept_tuned")
    return Tuned(
        repository_get(None, RepositoryKind.MODEL, made.mlmodel.full_name),
        Job.objects.get(pk=made.inspection.pk),
        Job.objects.get(pk=made.job.pk),
        Record.objects.get(pk=made.record.pk),
    )


def _make_tuned(alice: User) -> Tuned:
    card = readme(
        "# Stars\n\nIt counts stars, <b>boldly</b>.\n\n<script>alert(1)</script>\n",
        pipeline_tag="image-classification",
        tags=["astronomy"],
    )
    files = {"README.md": card, "model.onnx": tiny_onnx(), "notes.txt": "by hand\n"}
    return tune(make_mlmodel("alice/stars", actor=alice, files=files))


def tune(mlmodel: MLModel) -> Tuned:
    """Inspect and tune a model's newest revision, as workers do."""
    revision = mlmodel.refs.get(name="main").revision
    inspection = job_submit(actor=None, kind=JobKind.INSPECT, revision=revision)
    ticket = shopfloor.claim_inspect()
    shopfloor.make_graph(revision)
    job_succeed(job_uuid=ticket.job_uuid, fence=ticket.fence, result={"summary": "plain-cnn"})
    target, device = shopfloor.make_machine()
    job = job_submit(actor=None, kind=JobKind.TUNE, revision=revision, target=target)
    floor = shopfloor.Floor(User.objects.get(), revision, Graph.objects.get(), target, device)
    held = floor.claim()
    handle = {"job_uuid": held.job_uuid, "fence": held.fence}
    trial_add(**handle, trial=shopfloor.trial(0, "all", ratio=1.0, ratio_low=0.98, ratio_high=1.02))
    measured = {"ratio": 0.8, "ratio_low": 0.79, "ratio_high": 0.81}
    trial_add(**handle, trial=shopfloor.trial(1, "half", **measured))
    failed = {"outcome": "crash", "ratio": None, "failure_detail": "it fell over"}
    trial_add(**handle, trial=shopfloor.trial(2, "one", **failed))
    records = [
        record_add(**handle, document=shopfloor.document(revision, threads, job=held.job_uuid))
        for threads in ("all", "half")
    ]
    baseline = shopfloor.build(records[0].pk, "all", is_baseline=True, ratio=1.0, verdict="same")
    deviation = {"max_relative": 1e-6, "relative_l2": 5e-7}
    faster = shopfloor.build(records[1].pk, "half", deviation=deviation)
    builds_publish(**handle, builds=[baseline, faster])
    profile_store(
        **handle, config_sha256=faster["config_sha256"], profile=shopfloor.profile(total_ns=200)
    )
    job_succeed(**handle, result={"summary": "1.25x"})
    job.refresh_from_db()
    inspection.refresh_from_db()
    return Tuned(mlmodel, inspection, job, records[1])


@pytest.fixture
def digits(alice: User) -> MLModel:
    """``alice/digits``, without a card."""
    return make_digits(alice)


@pytest.fixture
def tuned_digits(digits: MLModel) -> list[Build]:
    """Its builds: the default, and of the classes exact, fp16 and int8."""
    return publish_digits(digits)


def fail_inspection(mlmodel: MLModel) -> None:
    """Let the newest inspection fail as a broken file would."""
    ticket = shopfloor.claim_inspect()
    job_fail(
        job_uuid=ticket.job_uuid,
        fence=ticket.fence,
        failure_class=FailureClass.INVALID,
        code="onnx_truncated",
        detail="model.onnx ends in the middle of a tensor. Upload it again.",
    )


@pytest.fixture
def addresses(tuned: Tuned, alice: User, bob: User, lab: Namespace, charlie: User) -> list[str]:
    """A page of every kind, all readable by alice, an operator, who owns most of what they show."""
    User.objects.filter(pk=alice.pk).update(is_staff=True)
    root, mlmodel = tuned.path, tuned.mlmodel
    draw(Graph.objects.get(revision=tuned.job.revision), EXAMPLE)
    best = search(0, name="alice/tiles")
    principles_compute()
    for points in (1, 3):
        assessment_add(revision_get(mlmodel), document(points))
    assert tuned.job.target is not None
    run = finished(alice, mlmodel, tuned.job.target)
    waiting = shopfloor.make_revision("alice/waiting")
    shopfloor.make_graph(waiting)
    job_submit(actor=alice, kind=JobKind.TUNE, revision=waiting, target=tuned.job.target)
    shopfloor.make_revision("alice/copy").jobs.create(
        kind=JobKind.IMPORT,
        state=JobState.FAILED,
        requested_by=alice,
        parameters={"server": "https://hub.test", "origin": "far/net"},
        failure_class=FailureClass.INVALID,
        failure_detail="Access is granted on request.",
    )
    # The default has a profile, too, so that both builds can be compared.
    calls = Profile.objects.create(
        build=Build.objects.get(is_baseline=True), method="profiler", total_ns=300
    )
    CallSite.objects.create(
        profile=calls, sequence=0, name="conv", operator="Conv", median_ns=250, mad_ns=2, runs=5,
        nodes=[{"index": 0, "grade": "exact"}],
    )  # fmt: skip
    roof_set = RoofSet.objects.create(
        device=Device.objects.get(), tools_sha256="d" * 64, took_s=1.0, notes=["No time was left."]
    )
    for measured in (roofs.compute(), roofs.memory()):
        roof = roof_of(measured)
        roof.roof_set = roof_set
        roof.save()
    # With a key, so that jobs can be exported for it.
    Device.objects.update(public_key="PEM")
    JobBundle.objects.create(
        device=Device.objects.get(),
        answers=shopfloor.make_blob(b"answers"),
        claims={str(tuned.job.uuid): 1},
        budget_s=3600.0,
        lease_until=timezone.now(),
        report=[{"job": str(tuned.job.uuid), "outcome": "succeeded", "detail": "1.25x"}],
    )
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
    organisation_create(actor=alice, name="crew", title="The Crew")
    gone = make_mlmodel("alice/gone", actor=alice, files={"README.md": readme()})
    mlmodel_delete(actor=alice, mlmodel=gone, reason="Superseded.")
    webhook_create(
        actor=alice, url="https://hooks.example.org/in", watched=[{"type": "user", "name": "alice"}]
    )
    device, graph = Device.objects.get(), Graph.objects.get(revision=revision_get(mlmodel))
    floor = shopfloor.Floor(alice, revision_get(mlmodel), graph, tuned.job.target, device)
    workload = add_search(floor, "conv-search")
    return [
        "/principles", f"/principles/{Principle.objects.order_by('id')[0].identifier}",
        f"/workloads/{best.task.uuid}",
        "/workloads", f"/workloads/{workload.uuid}",
        "/", "/models", "/datasets", "/alice", "/new", "/jobs", "/targets", "/records",
        "/fleet", "/targets/new", "/settings/bundles", "/new/import",
        "/alice/copy/import",
        f"/targets/{shopfloor.SLUG}", f"/devices/{device.uuid}",
        "/catalog", "/terms", "/policy",
        f"{root}/perf", f"{root}/perf?metric=time&tab=peers", "/tune-next", f"{root}/profiles",
        *(f"{root}/perf/groups/1?tab={tab}" for tab in ("why", "loops", "asm", "schedule")),
        root, f"{root}/builds", f"{root}/compare", f"{root}/graph", f"{root}/cite", f"{root}/jobs",
        f"{root}/history", f"{root}/upload",
        f"{root}/lineage", f"{root}/describe", f"{root}/fair", "/datasets/alice/sky/fair", "/fair",
        f"{root}/tree/main", f"{root}/tree/refs/pr/2/deep", f"{root}/blob/main/notes.txt",
        f"{root}/commit/{head.oid}", f"{root}/settings", f"{root}/discussions",
        f"{root}/discussions/new", f"{root}/discussions/1", f"{root}/discussions/2",
        f"{root}/discussions/2/changes", "/datasets/alice/sky", "/lab/shut",
        "/lab/shut/raw/main/README.md", f"/jobs/{tuned.job.uuid}", f"/jobs/{tuned.job.uuid}/search",
        f"/records/{tuned.record.pk}",
        f"/jobs/{run.job.uuid}",
        f"/builds/{Build.objects.get(is_baseline=False).uuid}",
        "/settings/password", "/settings/organisations", "/settings/organisations/crew",
        "/compare?model=alice/stars&latency_ms=9&accuracy=0.5", "/compare", "/passes",
        "/login/reset", "/login/reset/sent", "/login/reset/MQ/used",
        "/settings/profile", "/settings/tokens", "/settings/webhooks", "/settings/access",
        "/alice/gone", "/nobody/nothing",
    ]  # fmt: skip


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        # Playwright's loop runs in this thread, which Django would take for asynchronous code.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        arguments = ["--no-sandbox", "--disable-quic", "--disable-background-networking"]
        expect.set_options(timeout=PATIENCE_MS)
        launched = playwright.chromium.launch(
            executable_path=path_of("chromium"), args=arguments, timeout=PATIENCE_MS
        )
        yield launched
        launched.close()


@contextmanager
def no_errors(page: Page) -> Iterator[None]:
    """Fail at the end if the page has logged errors, and say which addresses they are about."""
    problems: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type == "error":
            problems.append(f"{message.text} {message.location['url']}")

    def fail(error: object) -> None:
        problems.append(str(error))

    page.on("console", note)
    page.on("pageerror", fail)
    yield
    page.remove_listener("console", note)
    page.remove_listener("pageerror", fail)
    assert not problems


@pytest.fixture
def page(browser: Browser, live_server: LiveServer) -> Iterator[Page]:
    """A page that fails the test if it logs an error."""
    opened = _opened(browser, live_server)
    with no_errors(opened):
        yield opened
        opened.close()


@pytest.fixture
def loose_page(browser: Browser, live_server: LiveServer) -> Iterator[Page]:
    """A page that may log errors, as a browser does for each answer of 403 and 404."""
    opened = _opened(browser, live_server)
    yield opened
    opened.close()


@pytest.fixture
def plain_page(browser: Browser, live_server: LiveServer) -> Iterator[Page]:
    """A page without JavaScript."""
    opened = _opened(browser, live_server, java_script_enabled=False)
    yield opened
    opened.close()


def _opened(browser: Browser, live_server: LiveServer, **options: Any) -> Page:
    page = browser.new_page(base_url=live_server.url, **options)
    page.set_default_timeout(PATIENCE_MS)
    return page


def sign_in(page: Page, username: str) -> None:
    """Sign in by the form."""
    page.goto("/login")
    page.get_by_label("Username").fill(username)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name="Sign out").wait_for()
