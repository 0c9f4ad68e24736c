"""One predicate: who reads and does what, over every role, token and visibility."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet

from registry import schemas
from registry.errors import Forbidden, NotFound, Unauthenticated
from registry.selectors import access
from registry.selectors.access import Actor, may, require, require_scope
from registry.selectors.people.account import user_of_token
from registry.selectors.repository.mlmodel import mlmodel_get
from registry.selectors.storage.blob import blob_get, blob_missing
from registry.services.people.account import member_set, organisation_create
from registry.services.results.build import builds_publish
from registry.services.results.profile import profile_store
from registry.services.results.record import record_add
from registry.services.results.trial import trial_add
from registry.states import Role, Scope
from registry.tables import (
    Assessment,
    Build,
    Derivation,
    Graph,
    Job,
    MLModel,
    Namespace,
    PassTrial,
    Record,
    Reproduction,
    Revision,
    TestTensor,
    Trial,
    User,
)
from tests.factories import make_mlmodel, make_token, make_user, member, store
from tests.registry import shopfloor

ROLES: list[Role | None] = [None, *Role]
SCOPES: list[Scope | None] = [None, *Scope]
# Where a token is limited to: nowhere, the namespace asked about, or another one.
LIMITS = ["", "here", "elsewhere"]


def full_floor(name: str, *, private: bool) -> shopfloor.Floor:
    """A floor with one of everything that hangs on a model."""
    made = shopfloor.floor(name, private=private)
    job = made.tune()
    ticket = made.claim()
    assert ticket.job_uuid == str(job.uuid)
    held: dict[str, Any] = {"job_uuid": ticket.job_uuid, "fence": ticket.fence}
    trial_add(**held, trial=shopfloor.trial())
    record = record_add(**held, document=shopfloor.document(made.revision, job=ticket.job_uuid))
    (build,) = builds_publish(**held, builds=[shopfloor.build(record.id, is_baseline=True)])
    profile_store(
        **held,
        config_sha256=schemas.sha256_of(shopfloor.candidate()),
        profile=shopfloor.profile(),
    )
    PassTrial.objects.create(
        job=Job.objects.get(uuid=job.uuid),
        target=job.target,
        backend="tvm",
        architecture_class="mlp",
        graph_hash="0" * 64,
        number=0,
        passes="FuseOps",
        outcome="measured",
    )
    _prove(made, build)
    return made


def _prove(made: shopfloor.Floor, build: Build) -> None:
    """Where it came from, how FAIR it is, and that its build gives what it gave."""
    Derivation.objects.create(revision=made.revision, relation="derived", source="a/b")
    Assessment.objects.create(revision=made.revision, document={}, tool="t", points=1, most=2)
    tensor = {"number": 0, "side": "input", "index": 0, "name": "x", "is_made": True}
    blob = shopfloor.make_blob(b"tensor")
    TestTensor.objects.create(graph=made.graph, blob=blob, **tensor)
    Reproduction.objects.create(build=build, toolchain="0" * 64, outcome="reproduced")


#: Per kind of row, how to read it and how its rows lead to their model.
READS: dict[str, tuple[Callable[[Actor], QuerySet[Any]], str]] = {
    "mlmodels": (access.readable_mlmodels, "pk"),
    "repositories": (access.readable_repositories, "pk"),
    "revisions": (access.readable_revisions, "mlmodel"),
    "jobs": (access.readable_jobs, "revision__mlmodel"),
    "trials": (access.readable_trials, "job__revision__mlmodel"),
    "builds": (access.readable_builds, "graph__revision__mlmodel"),
    "records": (access.readable_records, "revision__mlmodel"),
}


def what_is_read(actor: Actor) -> dict[str, set[str]]:
    """Per kind of row, the models the rows readable for ``actor`` hang on."""
    seen = {}
    for kind, (read, path) in READS.items():
        mlmodels = MLModel.objects.filter(pk__in=read(actor).values_list(path, flat=True))
        seen[kind] = {mlmodel.full_name for mlmodel in mlmodels}
    return seen


@pytest.fixture
def floors(db: None) -> None:
    full_floor("owner/open", private=False)
    full_floor("owner/closed", private=True)


def test_everything_private_is_hidden_from_strangers_and_everything_public_is_not(
    floors: None, bob: User
) -> None:
    for actor in (AnonymousUser(), bob):
        for kind, names in what_is_read(actor).items():
            assert names == {"owner/open"}, kind


def test_members_and_the_hub_itself_read_all(floors: None) -> None:
    for actor in (None, User.objects.get(username="owner")):
        for kind, names in what_is_read(actor).items():
            assert names == {"owner/open", "owner/closed"}, kind


def test_every_predicate_is_tried_and_every_kind_of_row_was_there(floors: None) -> None:
    predicates = {name for name in vars(access) if name.startswith("readable_")}
    # Workloads lead to models by graph hashes: tests/registry/analysis/test_workload_access.py. The
    # last is of two rows, and of no actor.
    others = {"readable_workloads", "readable_with"}
    assert predicates == {f"readable_{kind}" for kind in READS} | others
    for table in (MLModel, Revision, Graph, Job, Trial, Build, Record):
        assert table.objects.count() == 2


def test_one_names_another_to_all_who_read_it_where_all_of_them_may(
    galaxy: MLModel, secret: MLModel, alice: User
) -> None:
    elsewhere = make_mlmodel("alice/hidden", actor=alice, visibility="private")
    assert access.readable_with(galaxy, secret)
    assert access.readable_with(secret, secret)
    assert not access.readable_with(secret, galaxy)
    assert not access.readable_with(secret, elsewhere)


@pytest.fixture
def dora(lab: Namespace, charlie: User) -> User:
    """A person with an organisation of her own, and no role in ``lab`` yet."""
    user = make_user("dora")
    organisation_create(actor=user, name="elsewhere")
    make_mlmodel("lab/open", actor=charlie)
    make_mlmodel("lab/closed", actor=charlie, visibility="private")
    return user


def acting(user: User, scope: Scope | None, limit: str) -> User:
    """``user`` as authentication hands them over: by session, or by a token."""
    if scope is None:
        return member(user.username)
    name = {"here": "lab", "elsewhere": "elsewhere"}.get(limit)
    namespace = Namespace.objects.get(name=name) if name else None
    return user_of_token(make_token(user, scope, namespace=namespace))


@pytest.mark.parametrize("role", ROLES)
def test_a_role_and_a_token_together_decide(role: Role | None, dora: User, lab: Namespace) -> None:
    charlie = member("charlie")
    if role is not None:
        member_set(actor=charlie, namespace=lab, user=dora, role=role)
    roles, scopes = list(Role), list(Scope)
    for scope, limit in itertools.product(SCOPES, LIMITS):
        if limit == "here" and role is None:
            continue  # Nobody can limit a token to a namespace they do not belong to.
        if scope is None and limit:
            continue
        actor = acting(dora, scope, limit)
        reaches = role is not None and limit != "elsewhere"
        case = f"role {role}, scope {scope}, limit {limit!r}"
        for asked in roles:
            allowed = (
                reaches
                and role is not None
                and roles.index(role) >= roles.index(asked)
                and (scope is None or scopes.index(scope) >= roles.index(asked))
            )
            assert may(actor, role=asked, namespace=lab) is allowed, f"{case}, asked {asked}"
            if allowed:
                require(actor, role=asked, namespace=lab)
            else:
                with pytest.raises(Forbidden):
                    require(actor, role=asked, namespace=lab)
        seen = {mlmodel.full_name for mlmodel in access.readable_mlmodels(actor)}
        assert seen == {"lab/open", "lab/closed"} if reaches else {"lab/open"}, case


@pytest.mark.parametrize(
    ("name", "limit", "hint"),
    [
        ("lab", "", "Ask an admin of lab for the role 'write'."),
        ("lab", "elsewhere", "Use one that is not, or sign in."),
        ("charlie", "", "Only the account charlie may do this."),
    ],
)
def test_the_refusal_names_who_can_help(
    name: str, limit: str, hint: str, dora: User, lab: Namespace
) -> None:
    actor = acting(dora, Scope.WRITE if limit else None, limit)
    with pytest.raises(Forbidden) as refusal:
        require(actor, role=Role.WRITE, namespace=Namespace.objects.get(name=name))
    assert hint in refusal.value.hint


def test_nobody_may_do_anything_unnamed_and_the_hub_may_everything(lab: Namespace) -> None:
    for role in Role:
        assert not may(AnonymousUser(), role=role, namespace=lab)
        with pytest.raises(Unauthenticated):
            require(AnonymousUser(), role=role, namespace=lab)
        assert may(None, role=role, namespace=lab)
        require(None, role=role, namespace=lab)
    assert require_scope(None, Scope.ADMIN) is None


def test_a_deactivated_person_is_nobody(secret: MLModel, charlie: User, lab: Namespace) -> None:
    token = make_token(charlie)
    charlie.is_active = False
    charlie.save()
    assert not access.readable_mlmodels(charlie).exists()
    assert not may(charlie, role=Role.READ, namespace=lab)
    with pytest.raises(Unauthenticated):
        user_of_token(token)


def test_a_private_model_answers_like_one_that_is_not_there(secret: MLModel, bob: User) -> None:
    def answer(name: str) -> str:
        with pytest.raises(NotFound) as caught:
            mlmodel_get(bob, name)
        return f"{caught.value.code} {caught.value}".replace(name, "NAME")

    assert answer("lab/secret") == answer("lab/nothing") == answer("nobody/nothing")


def test_bytes_of_a_private_model_look_as_if_they_were_not_there(
    secret: MLModel, galaxy: MLModel, alice: User, bob: User, charlie: User
) -> None:
    private = store(b"only charlie has these", charlie).sha256
    hidden = secret.refs.get().revision.files.get(path="model.onnx").blob_id
    public = galaxy.refs.get().revision.files.get(path="model.onnx").blob_id
    nothing = "0" * 64
    asked = [private, hidden, public, nothing, public, "not a digest"]
    assert blob_missing(bob, asked) == [private, hidden, nothing, "not a digest"]
    assert blob_missing(charlie, asked) == [nothing, "not a digest"]
    # Whoever shows the bytes may name them, without seeing where else they are.
    store(b"only charlie has these", alice)
    assert blob_missing(alice, asked) == [hidden, nothing, "not a digest"]
    assert blob_get(bob, public).sha256 == public
    with pytest.raises(NotFound):
        blob_get(bob, hidden)


def test_builds_make_their_bytes_readable_with_their_model(floors: None, bob: User) -> None:
    made = shopfloor.artefact()["model.ort"]
    assert blob_missing(bob, [made]) == []
    MLModel.objects.update(visibility="private")
    assert blob_missing(bob, [made]) == [made]
