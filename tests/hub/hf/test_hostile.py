"""Whatever strangers send, the hub answers, in the protocol's words, and keeps nothing of it."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from typing import Any

import hypothesis
import pytest
from django.conf import settings
from django.db import connection, transaction
from django.test import Client
from django.urls import Resolver404
from hypothesis import HealthCheck, Phase, given
from hypothesis import strategies as st

from hub.git import urls as git
from hub.hf import urls as hf
from hub.hf.lfslink import SignedLink
from hub.pages import urls as pages
from registry.services.discussion.comment import comment_add
from registry.services.discussion.discussion import discussion_open, pull_request_open
from registry.services.repository.gate import access_request
from registry.services.repository.mlmodel import mlmodel_move, mlmodel_update
from registry.services.repository.ref import ref_create
from registry.services.webhook.webhook import webhook_create
from registry.states import Gate, RefKind, Scope
from registry.tables import MLModel, Token, User
from tests.factories import make_mlmodel, make_token
from tests.hub.hf import hostile
from tests.hub.hf.hostile import Route
from tests.hub.hf.odd import TYPES

#: What anybody may have the hub write down: programs that ask to be signed in, and new people.
FOR_ALL = ("/oauth/device", "/signup", "/login", "/device")
#: What a request leaves behind without changing anything: when a token was used, what was fetched.
TRACES = ('UPDATE "registry_token" SET "last_used_at"', 'UPDATE "registry_mlmodel" SET "downloads"')
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS")
#: Made once: for each route anew, it takes as long as to send what comes out.
BODIES, ENVIRONS = hostile.bodies(), hostile.headers()
SETTINGS = hypothesis.settings(
    deadline=None,
    database=None,
    derandomize=True,
    # A request is as short as it gets; making it shorter takes minutes.
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
#: Of the pages, which do not tell.
USUAL = "GET, POST, HEAD"


@dataclass
class Scene:
    """Who asks, how they say so, and what parts of addresses name something."""

    tokens: dict[str, str]
    sessions: dict[str, str]
    known: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def cookies_of(self, actor: str) -> SimpleCookie:
        """Those of a browser that has been here for nothing but signing in."""
        session = self.sessions.get(actor)
        return SimpleCookie({settings.SESSION_COOKIE_NAME: session} if session else {})


@pytest.fixture
def scene(
    galaxy: MLModel, secret: MLModel, charlie: User, bob: User, alice: User, data_dir: Any
) -> Scene:
    revision = galaxy.refs.get(name="main").revision
    ref_create(actor=charlie, mlmodel=galaxy, kind=RefKind.TAG, name="v1", revision=revision)
    pull_request_open(actor=alice, mlmodel=galaxy, title="Change it")
    talk = discussion_open(actor=alice, mlmodel=galaxy, title="Why?")
    comment = comment_add(actor=alice, discussion=talk, text="Because.")
    moved = make_mlmodel("lab/old-name", actor=charlie)
    moved = mlmodel_move(actor=charlie, mlmodel=moved, namespace="lab", name="new-name")
    mlmodel_update(actor=charlie, mlmodel=moved, gate=Gate.MANUAL)
    access_request(actor=alice, mlmodel=moved, message="Please.")
    hook = webhook_create(
        actor=charlie, url="https://example.org/", watched=[{"type": "org", "name": "lab"}]
    )
    writer, reader = make_token(charlie, Scope.ADMIN), make_token(bob, Scope.READ)
    sha256 = galaxy.refs.get(name="main").revision.files.get(path="model.onnx").blob.sha256
    token = Token.objects.get(user=charlie)
    links = [
        SignedLink(str(token.uuid), str(galaxy.uuid), sha256, 3, *parts) for parts in ((), ("x", 2))
    ]
    known = {
        "comment_id": (str(comment.uuid),),
        "uuid": (str(comment.uuid), str(galaxy.uuid), str(hook.uuid), hostile.some_uuid()),
        "webhook_id": (str(hook.uuid), hostile.some_uuid()),
        "delivery_id": (hostile.some_uuid(),),
        "delivery": (hostile.some_uuid(),),
        "oid": (revision.oid, "0" * 40),
        "digest": (sha256,),
        "signed": tuple(
            link.address(purpose).rpartition("/")[2]
            for link in links
            for purpose in ("upload", "download")
        ),
    }
    return Scene(
        {"admin": f"Bearer {writer}", "reader": f"Bearer {reader}"},
        {"session": _session(bob), "member": _session(charlie)},
        known,
    )


def _session(user: User) -> str:
    client = Client()
    client.force_login(user)
    return client.cookies[settings.SESSION_COOKIE_NAME].value


@contextmanager
def writes() -> Iterator[list[str]]:
    """The statements that change rows."""
    found: list[str] = []

    def note(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        if sql.startswith(("INSERT", "UPDATE", "DELETE")) and not sql.startswith(TRACES):
            found.append(sql)
        return execute(sql, *rest)

    with connection.execute_wrapper(note):
        yield found


def methods_of(client: Client, address: str) -> list[str]:
    """Those that the address tells it takes."""
    client.cookies = SimpleCookie()
    return client.options(address).headers.get("Allow", USUAL).split(", ")


def requests_to(
    route: Route, scene: Scene, actors: dict[str, str], methods: list[str]
) -> tuple[st.SearchStrategy[Any], ...]:
    """Who asks, and the method, address, body, type and headers of what they send."""
    return (
        st.sampled_from(sorted(actors)),
        st.sampled_from(methods * 4 + [*METHODS]),
        hostile.addresses(route, scene.known),
        BODIES,
        st.sampled_from(TYPES[:1] * 6 + TYPES),
        ENVIRONS,
    )


def attack(
    scene: Scene,
    routes: list[Route],
    actors: dict[str, str],
    check: Any,
    *,
    tries: int = 6,
    told: bool = True,
) -> None:
    """Send ``tries`` requests to each route, and give each with its answer to ``check``.

    Args:
        told: Whether the routes tell which methods they take.
    """
    faults: list[Exception] = []
    client = Client()
    for route in routes:
        address = route.filled(scene.known)
        methods = methods_of(client, address) if told else USUAL.split(", ")

        @hypothesis.settings(SETTINGS, max_examples=tries)
        @given(*requests_to(route, scene, actors, methods))
        def send(
            actor: str, method: str, address: str, body: bytes, kind: str, environ: dict[str, str]
        ) -> None:
            client.cookies = scene.cookies_of(actor)
            if actor in scene.tokens:
                environ = {"HTTP_AUTHORIZATION": scene.tokens[actor]} | environ
            with transaction.atomic(), writes() as written:
                answer = client.generic(method, address, body, content_type=kind, **environ)  # type: ignore[arg-type]
                content = b"".join(answer)
                assert answer.status_code < 500, content[:2000]
                if actor in actors and actors[actor] == "reads" and not address.startswith(FOR_ALL):
                    assert written == []
                check(method, address, answer, content)
                transaction.set_rollback(True)

        try:
            send()
        except Exception as fault:  # noqa: BLE001 (told below, with those of all routes)
            faults.append(fault)
    if faults:
        raise ExceptionGroup("some routes give way", faults)


def check_wire(method: str, address: str, answer: Any, content: bytes) -> None:
    """The answer names the request and is the protocol's."""
    if not _is_wire(answer):
        return
    assert answer.headers["X-Request-Id"], address
    for name, value in answer.headers.items():
        assert "\n" not in value, name
        assert "\r" not in value, name
    if answer.status_code >= 400 and method != "HEAD" and content:
        plain = answer.headers["Content-Type"] == "text/plain"
        assert plain or {"error", "errors"} & set(json.loads(content)), content
    elif answer.status_code == 307:
        assert answer.headers["Location"].startswith(("/api/", "/lab/", "/datasets/lab/"))


def _is_wire(answer: Any) -> bool:
    """Whether one of the protocol's addresses answered, and no page whose name is as odd."""
    with suppress(Resolver404):
        return str(answer.resolver_match.func.__module__).startswith("hub.hf")
    return False


def check_page(method: str, address: str, answer: Any, content: bytes) -> None:
    """What came in an address comes back as text."""
    if answer.headers.get("Content-Type", "").startswith("text/html"):
        assert b"<script>" not in content, address
    location = answer.headers.get("Location", "/")
    assert location.startswith("/"), location
    assert not location.startswith(("//", "/\\")), location


READS = {"nobody": "reads", "reader": "reads", "session": "reads"}


def test_the_protocol_answers_strangers(scene: Scene) -> None:
    routes = [*hostile.routes_of(hf.api, "/api/"), *hostile.routes_of(hf.top)]
    attack(scene, routes, READS | {"admin": "writes"}, check_wire)


def test_git_answers_strangers(scene: Scene) -> None:
    attack(scene, hostile.routes_of(git.urlpatterns), READS, lambda *_: None)


def test_pages_answer_strangers(scene: Scene) -> None:
    routes = hostile.routes_of(pages.urlpatterns)
    actors = {"nobody": "reads", "session": "writes", "member": "writes"}
    attack(scene, routes, actors, check_page, tries=3, told=False)
