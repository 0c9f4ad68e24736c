"""The cast every test may ask for by name. See :mod:`tests.factories` for what they are made of."""

import functools
import gc
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import httpx2
import hypothesis
import pytest
from django.contrib.contenttypes.management import create_contenttypes
from django.core.cache import cache
from django.core.servers.basehttp import ServerHandler
from django.db import connection
from django.db.models.signals import post_migrate
from pytest_django.live_server_helper import LiveServer

from hub.garbage import collect_rarely
from registry.search import counts
from registry.services.people.account import organisation_create
from registry.tables import MLModel, Namespace, User
from tests.durations import Durations, report_durations
from tests.factories import make_mlmodel, make_user, readme, tiny_onnx
from tests.hub.throttling.buckets import forget_local
from tests.live import RequestsInProgress
from tests.programs import check_required, skip_without_programs
from tests.skips import report_skips

_OUR_LOGGERS = ("hpcfair", "hub", "registry", "workers")

# Contract suites live beside the ports they test; what they assert is explained like any test's.
pytest.register_assert_rewrite("workers.testing")

# The processes of the suite share the processors, where OpenMP's threads wait for each other by
# spinning: PyTorch trains a small network in a third of the processor time with one.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# How long an example takes says more about what else the machine does than about the hub. A third
# of the usual examples: each run draws others.
hypothesis.settings.register_profile(
    "hub",
    deadline=None,
    max_examples=33,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("hub")
# Modules and tests live as long as the process: looking for garbage among them again and again
# takes a third of the time of importing them. See pytest_collection_finish.
gc.disable()


def pytest_configure(config: pytest.Config) -> None:
    """Refuse to start without what ``HPCFAIR_REQUIRED_PROGRAMS`` lists."""
    # Registered, so that it sees the tests of the client as well.
    config.pluginmanager.register(Durations())
    # Processes of pytest-xdist run where this one does.
    if not hasattr(config, "workerinput"):
        check_required()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print which files took longest, and why tests were skipped."""
    report_durations(terminalreporter)
    report_skips(terminalreporter)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Files of slow tests come first: a file of minutes must not be the last that is begun."""
    if connection.vendor == "postgresql":
        # The others run on SQLite, where all do.
        without = [item for item in items if _DATABASE.isdisjoint(_names_of(item))]
        config.hook.pytest_deselected(items=without)
        items[:] = [item for item in items if not _DATABASE.isdisjoint(_names_of(item))]
    skip_without_programs(items)
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


def pytest_collection_finish() -> None:
    """Let the garbage collector leave alone what exists now, and look for more as rarely as a hub.

    By Python's own thresholds it takes a fifth of the processor time of tests of long texts, and a
    fiftieth of that of tests of the API.
    """
    gc.enable()
    gc.freeze()
    collect_rarely()


#: Markers and fixtures of tests that use the database.
_DATABASE = {"django_db", "db", "transactional_db", "django_db_setup"}


def _names_of(item: pytest.Item) -> set[str]:
    """Names of a test's markers and of all its fixtures."""
    return {mark.name for mark in item.iter_markers()} | set(getattr(item, "fixturenames", ()))


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None) -> None:
    """The tables, which are emptied after each test that commits: most of such a test's time.

    Django fills in permissions anew each time, which nothing here asks for. PostgreSQL truncates
    sixty tables in half a second; constraints are deferred, so that rows go in any order.
    """
    post_migrate.disconnect(dispatch_uid="django.contrib.auth.management.create_permissions")
    post_migrate.disconnect(create_contenttypes)
    if connection.vendor == "postgresql":
        name = connection.ops.quote_name
        connection.ops.sql_flush = lambda _style, tables, **_: [
            f"DELETE FROM {name(table)};"  # noqa: S608 (our own tables)
            for table in tables
        ]


@pytest.fixture(scope="session", autouse=True)
def certificates_are_read_once() -> Iterator[None]:
    """Else each client reads all of the machine's, which takes longer than most tests do."""
    with pytest.MonkeyPatch.context() as patch:
        for library in (httpx, httpx2):
            target = f"{library.__name__}._transports.default.create_ssl_context"
            patch.setattr(target, functools.cache(library.create_ssl_context))
        yield


@pytest.fixture(scope="session", autouse=True)
def nothing_reaches_the_disk() -> Iterator[None]:
    """The data are temporary: no test waits for the disk. Those that show what is flushed, and in
    which order, put their own functions in place of this one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _descriptor: None)
        yield


@pytest.fixture(scope="session")
def requests_in_progress() -> Iterator[RequestsInProgress]:
    """The requests that live servers of this process are answering."""
    requests, run = RequestsInProgress(), ServerHandler.run

    def counted(handler: ServerHandler, application: Any) -> None:
        with requests.one():
            run(handler, application)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ServerHandler, "run", counted)
        yield requests


@pytest.fixture
def live_server(
    live_server: LiveServer, transactional_db: None, requests_in_progress: RequestsInProgress
) -> Iterator[LiveServer]:
    """A hub at an address of its own. A test that asks it ends when all its requests have ended.

    A client has its answer before the hub counts the download, closes the file and gives the
    connection to the database back: at the end of a test that would fall into the next one.
    """
    yield live_server
    requests_in_progress.wait()


@pytest.fixture(autouse=True)
def nothing_cached() -> None:
    """No test is answered with what another one's hub had, or limited by its requests."""
    cache.clear()
    forget_local()
    counts._overviews.clear()


@pytest.fixture(autouse=True)
def loggers() -> None:
    """Ours write warnings: quantisers raise the level of the root, and libraries that configure
    logging disable loggers that exist."""
    logging.getLogger().setLevel(logging.WARNING)
    for name, logger in logging.root.manager.loggerDict.items():
        if isinstance(logger, logging.Logger) and name.partition(".")[0] in _OUR_LOGGERS:
            logger.disabled = False


@pytest.fixture
def alice(db: None) -> User:
    """A person who shares nothing with bob."""
    return make_user("alice", full_name="Alice Adams")


@pytest.fixture
def bob(db: None) -> User:
    """A person who shares nothing with alice."""
    return make_user("bob", full_name="Bob Brown")


@pytest.fixture
def charlie(db: None) -> User:
    """The admin of ``lab``."""
    return make_user("charlie", full_name="Charlie Clark")


@pytest.fixture
def lab(charlie: User) -> Namespace:
    """An organisation whose only member is its admin, charlie."""
    return organisation_create(actor=charlie, name="lab", title="The Laboratory")


@pytest.fixture
def galaxy(lab: Namespace, charlie: User) -> MLModel:
    """The public ``lab/galaxy-cnn``: a card, a small network, two revisions."""
    card = readme(pipeline_tag="image-classification", library_name="onnx", tags=["astronomy"])
    return make_mlmodel(
        "lab/galaxy-cnn", actor=charlie, files={"README.md": card, "model.onnx": tiny_onnx()}
    )


@pytest.fixture
def secret(lab: Namespace, charlie: User) -> MLModel:
    """The private ``lab/secret``, made like ``galaxy`` but of another network."""
    return make_mlmodel(
        "lab/secret",
        actor=charlie,
        visibility="private",
        files={"README.md": readme(tags=["hidden"]), "model.onnx": tiny_onnx(features=5)},
    )


@pytest.fixture
def data_dir(settings: Any, tmp_path: Path) -> Path:
    """A data folder of this test's own, empty at its start."""
    settings.DATA_DIR = tmp_path / "data"
    return tmp_path / "data"
