"""Who reads and who fetches what: every actor against every repository, and whatever happens.

What must be true is said once more here, from the outside in: by person, not by row.
"""

from contextlib import suppress
from dataclasses import dataclass
from itertools import count, product

import pytest
from django.contrib.auth.models import AnonymousUser
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from registry.errors import Forbidden, NotFound, RegistryError, Unauthenticated
from registry.selectors.access import Actor, readable_mlmodels, readable_repositories
from registry.selectors.people.account import user_of_token
from registry.selectors.repository.gate import fetchable_repositories, require_fetch
from registry.selectors.repository.mlmodel import repository_get
from registry.selectors.storage.blob import blob_missing
from registry.services.people.account import member_remove, member_set
from registry.services.repository.gate import access_grant, access_handle, access_request
from registry.services.repository.mlmodel import mlmodel_create, mlmodel_update
from registry.states import Gate, RepositoryKind, RequestState, Role, Scope, Visibility
from registry.tables import AccessRequest, MLModel, Namespace, User
from tests.factories import commit_files, make_token, make_user, member, store

KINDS, SHOWN, GATES = list(RepositoryKind), list(Visibility), list(Gate)


@dataclass
class Person:
    """Somebody as seen from ``lab``: a role there, what became of their requests, and whether
    their account is in use."""

    user: User
    role: Role | None = None
    request: RequestState | None = None
    active: bool = True


@dataclass(frozen=True)
class Way:
    """How a person comes: by session (no scope), or by a token and what it is limited to."""

    scope: Scope | None = None
    limit: str = ""

    def actor(self, person: Person) -> User:
        if self.scope is None:
            return member(person.user.username)
        names = {"here": "lab", "elsewhere": person.user.username}
        namespace = Namespace.objects.get(name=names[self.limit]) if self.limit else None
        actor = user_of_token(make_token(person.user, self.scope, namespace=namespace))
        # As a request that was authenticated a moment ago.
        actor.is_active = person.active
        return actor


WAYS = [Way(), *(Way(scope, limit) for scope, limit in product(Scope, ["", "here", "elsewhere"]))]


def reads(person: Person, way: Way, mlmodel: MLModel) -> bool:
    belongs = person.active and person.role is not None and way.limit != "elsewhere"
    return mlmodel.visibility == Visibility.PUBLIC or belongs


def fetches(person: Person, way: Way, mlmodel: MLModel) -> bool:
    belongs = person.active and person.role is not None and way.limit != "elsewhere"
    let_in = person.active and person.request == RequestState.ACCEPTED and way.limit != "elsewhere"
    return reads(person, way, mlmodel) and (mlmodel.gate == Gate.OPEN or belongs or let_in)


def check(
    actor: Actor, wanted: tuple[set[int], set[int]], digests: dict[int, str], turn: int = 0
) -> int:
    """Compare every way of asking with what ``wanted`` says is readable and fetchable.

    Rows are asked for one by one in turns: every fourth, from ``turn`` on.
    """
    readable, fetchable = wanted
    rows = {row.pk: row for row in MLModel.objects.select_related("namespace")}
    models = {pk for pk, row in rows.items() if row.kind == RepositoryKind.MODEL}
    assert {row.pk for row in readable_repositories(actor)} == readable
    assert {row.pk for row in readable_mlmodels(actor)} == readable & models
    assert {row.pk for row in fetchable_repositories(actor)} == fetchable
    hidden = set(blob_missing(actor, digests.values()))
    assert hidden == {digest for pk, digest in digests.items() if pk not in fetchable}
    singly = list(rows.items())[turn % min(4, len(rows)) :: 4]
    for pk, row in singly:
        found = fetched = True
        try:
            repository_get(actor, RepositoryKind(row.kind), row.full_name)
        except NotFound:
            found = False
        try:
            require_fetch(actor, row)
        except (Forbidden, Unauthenticated):
            fetched = False
        assert (found, found and fetched) == (pk in readable, pk in fetchable), row.full_name
    return len(singly)


@pytest.fixture
def world(lab: Namespace) -> dict[int, str]:
    """In ``lab`` one of every kind, visibility and gate; the digest of a file only it has."""
    digests = {}
    for kind, shown, gate in product(KINDS, SHOWN, GATES):
        name = f"{kind}-{shown}-{gate}"
        made = mlmodel_create(actor=None, namespace="lab", name=name, visibility=shown, kind=kind)
        mlmodel_update(actor=None, mlmodel=made, gate=gate)
        commit_files(made, {"file.bin": name.encode()})
        digests[made.pk] = store(name.encode()).sha256
    return digests


def test_nobody_reads_or_fetches_more_or_less_than_they_may(
    world: dict[int, str], lab: Namespace, charlie: User
) -> None:
    people = [Person(make_user(f"member-{role}"), role=role) for role in Role]
    people += [Person(make_user(f"asker-{state}"), request=state) for state in RequestState]
    people += [
        Person(make_user("stranger")),
        Person(make_user("left"), role=Role.ADMIN, active=False),
        Person(make_user("let-in-and-left"), request=RequestState.ACCEPTED, active=False),
    ]
    for person in people:
        if person.role is not None:
            member_set(actor=charlie, namespace=lab, user=person.user, role=person.role)
        if person.request is not None:
            for pk in world:
                AccessRequest.objects.create(mlmodel_id=pk, user=person.user, state=person.request)
    rows = list(MLModel.objects.all())
    decisions = check(None, (set(world), set(world)), world)
    nobody = Person(User(), active=False)
    everybody = [(nobody, Way(), AnonymousUser())]
    for person, way in product(people, WAYS):
        if way.limit == "here" and person.role is None:
            continue  # Nobody can limit a token to a namespace they do not belong to.
        everybody.append((person, way, way.actor(person)))
    for turn, (person, way, actor) in enumerate(everybody):
        if isinstance(actor, User) and not person.active:
            actor.is_active = False
        readable = {row.pk for row in rows if reads(person, way, row)}
        fetchable = {row.pk for row in rows if fetches(person, way, row)}
        decisions += check(actor, (readable, fetchable), world, turn)
    assert decisions == 3 * (1 + len(everybody)) > 200


ANSWERS = {
    "accept": RequestState.ACCEPTED,
    "reject": RequestState.REJECTED,
    "cancel": RequestState.PENDING,
}
ACTS = ["ask", *ANSWERS, "grant", "join", "leave", "hide", "show", *GATES]
numbers = count()


@dataclass
class Model:
    """What should be so after the acts that were not refused."""

    person: Person
    mlmodel: MLModel

    def act(self, name: str, lab: Namespace) -> None:
        """Do it, and only if it was done, take note of it."""
        user, mlmodel, person = member(self.person.user.username), self.mlmodel, self.person
        match name:
            case "ask":
                request = access_request(actor=user, mlmodel=mlmodel)
                person.request = RequestState(request.state)
                assert (person.request == RequestState.ACCEPTED) == (mlmodel.gate == Gate.AUTO)
            case "accept" | "reject" | "cancel":
                state = ANSWERS[name]
                asked = mlmodel.access_requests.filter(user=user).first()
                if asked is not None:
                    access_handle(actor=None, request=asked, state=state)
                    assert person.request != state
                    person.request = state
            case "grant":
                access_grant(actor=None, mlmodel=mlmodel, user=user)
                person.request = RequestState.ACCEPTED
            case "join":
                member_set(actor=None, namespace=lab, user=user, role=Role.READ)
                person.role = Role.READ
            case "leave":
                member_remove(actor=None, namespace=lab, user=user)
                person.role = None
            case "hide" | "show":
                shown = Visibility.PRIVATE if name == "hide" else Visibility.PUBLIC
                mlmodel_update(actor=None, mlmodel=mlmodel, visibility=shown)
            case gate:
                mlmodel_update(actor=None, mlmodel=mlmodel, gate=gate)


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.sampled_from(ACTS), min_size=3, max_size=10))
def test_whatever_happens_in_whatever_order_the_gate_knows(lab: Namespace, acts: list[str]) -> None:
    number = next(numbers)
    MLModel.objects.all().delete()
    made = mlmodel_create(actor=None, namespace="lab", name=f"net-{number}")
    commit_files(made, {"file.bin": f"bytes {number}".encode()})
    digests = {made.pk: store(f"bytes {number}".encode()).sha256}
    model = Model(Person(make_user(f"person-{number}")), made)
    for name in acts:
        with suppress(RegistryError):
            model.act(name, lab)
        row = MLModel.objects.get(pk=made.pk)
        readable = {row.pk} if reads(model.person, Way(), row) else set()
        fetchable = {row.pk} if fetches(model.person, Way(), row) else set()
        actor = member(model.person.user.username)
        check(actor, (readable, fetchable), digests)
