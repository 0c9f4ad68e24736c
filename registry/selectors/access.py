"""Permissions: what an actor may read and do. Every read and every write goes through here.

- A public MLModel is readable by everybody, a private one by the members of its namespace. Its
  revisions, jobs, builds, records etc. have the same readers.
- A run with a person's inputs is readable only by that person.
- Files behind a gate: see :mod:`registry.selectors.repository.gate`.
- A member may do what their :class:`registry.states.Role` allows.
- A token may do what its owner may, restricted to its scope and, if it names one, to its
  namespace. Authentication stores it in ``user.token``; a browser's session has none.
- ``actor=None`` is the hub itself and may do everything.
"""

from typing import TypeAlias, TypeVar

from django.contrib.auth.models import AnonymousUser
from django.db.models import Exists, Model, OuterRef, Q, QuerySet

from registry.errors import Forbidden, Unauthenticated
from registry.states import JobKind, NamespaceKind, RepositoryKind, Role, Scope, Visibility
from registry.tables import (
    Build,
    Graph,
    Job,
    Membership,
    MLModel,
    Namespace,
    Record,
    Revision,
    ScheduleTask,
    ScheduleUse,
    Token,
    Trial,
    User,
)

Actor: TypeAlias = User | AnonymousUser | None
Row = TypeVar("Row", bound=Model)

_RANK = {Role.READ: 0, Role.WRITE: 1, Role.ADMIN: 2}
_SCOPE_FOR = {Role.READ: Scope.READ, Role.WRITE: Scope.WRITE, Role.ADMIN: Scope.ADMIN}
_SCOPES = list(Scope)


def readable_mlmodels(actor: Actor) -> QuerySet[MLModel]:
    """The models ``actor`` may read, without data sets."""
    return readable_repositories(actor).filter(kind=RepositoryKind.MODEL)


def readable_repositories(actor: Actor) -> QuerySet[MLModel]:
    """The models and data sets ``actor`` may read."""
    if actor is None:
        return MLModel.objects.all()
    visible = Q(visibility=Visibility.PUBLIC)
    user = person(actor)
    if user is not None:
        visible |= Q(namespace__in=memberships(user).values("namespace"))
    return MLModel.objects.filter(visible)


def readable_with(other: MLModel, mlmodel: MLModel) -> bool:
    """Whether every reader of ``mlmodel`` may read ``other``, so that its pages may name it."""
    if other.visibility == Visibility.PUBLIC:
        return True
    return mlmodel.visibility == Visibility.PRIVATE and other.namespace_id == mlmodel.namespace_id


def readable_revisions(actor: Actor) -> QuerySet[Revision]:
    """The revisions of readable models and data sets."""
    return _within(Revision.objects.all(), "mlmodel", actor)


def readable_jobs(actor: Actor) -> QuerySet[Job]:
    """The jobs of readable MLModels; of the runs only those that ``actor`` requested."""
    rows = _within(Job.objects.all(), "revision__mlmodel", actor)
    if actor is None:
        return rows
    others = ~Q(kind=JobKind.RUN)
    user = person(actor)
    return rows.filter(others if user is None else others | Q(requested_by=user))


def readable_trials(actor: Actor) -> QuerySet[Trial]:
    """The trials of readable MLModels."""
    return _within(Trial.objects.all(), "job__revision__mlmodel", actor)


def readable_workloads(actor: Actor) -> QuerySet[ScheduleTask]:
    """The operator workloads that a network of a readable MLModel uses."""
    rows = ScheduleTask.objects.all()
    if actor is None:
        return rows
    graphs = _within(Graph.objects.all(), "revision__mlmodel", actor)
    uses = ScheduleUse.objects.filter(
        Exists(graphs.filter(graph_hash=OuterRef("graph_hash"))), task=OuterRef("pk")
    )
    return rows.filter(Exists(uses))


def readable_builds(actor: Actor) -> QuerySet[Build]:
    """The builds of readable MLModels."""
    return _within(Build.objects.all(), "graph__revision__mlmodel", actor)


def readable_records(actor: Actor) -> QuerySet[Record]:
    """The records of readable MLModels."""
    return _within(Record.objects.all(), "revision__mlmodel", actor)


def may(actor: Actor, *, role: Role, namespace: Namespace) -> bool:
    """Whether ``actor`` has ``role`` in ``namespace``, or a higher one."""
    if actor is None:
        return True
    user = person(actor)
    if user is None or not scope_covers(user.token, _SCOPE_FOR[role]):
        return False
    membership = memberships(user).filter(namespace=namespace).first()
    return membership is not None and _RANK[Role(membership.role)] >= _RANK[role]


def require(actor: Actor, *, role: Role, namespace: Namespace) -> None:
    """Refuse unless :func:`may`.

    Raises ``Unauthenticated``: ``not_authenticated``; ``Forbidden``: ``scope_missing`` or
    ``permission_denied``.
    """
    if actor is None:
        return
    user = require_scope(actor, _SCOPE_FOR[role])
    if may(actor, role=role, namespace=namespace):
        return
    if user is not None and _is_limited_to_another(user.token, namespace):
        hint = "The token is limited to another namespace. Use one that is not, or sign in."
    elif namespace.kind == NamespaceKind.USER:
        hint = f"Only the account {namespace.name} may do this."
    else:
        hint = f"Ask an admin of {namespace.name} for the role {role.value!r}."
    raise Forbidden("permission_denied", f"You may not {_DOES[role]} {namespace.name}.", hint)


def require_scope(actor: Actor, scope: Scope) -> User | None:
    """The acting person, unless their token lacks ``scope``; ``None`` for the hub.

    Raises ``Unauthenticated``: ``not_authenticated``; ``Forbidden``: ``scope_missing``.
    """
    if actor is None:
        return None
    user = person(actor)
    if user is None:
        raise Unauthenticated(
            "not_authenticated", "Nobody is signed in.", "Sign in, or send a token."
        )
    if not scope_covers(user.token, scope):
        raise Forbidden(
            "scope_missing",
            f"The token has the scope {user.token.scope if user.token else ''!r}.",
            f"Use a token of scope {scope.value!r}.",
        )
    return user


def require_staff(actor: Actor) -> None:
    """Refuse unless ``actor`` is an operator of the hub, or the hub itself.

    Raises the errors of :func:`require_scope`; ``permission_denied`` for other people.
    """
    user = require_scope(actor, Scope.ADMIN)
    if user is not None and not user.is_staff:
        raise Forbidden(
            "permission_denied", "Only operators of the hub may do this.", "Ask an operator."
        )


def may_operate(actor: Actor) -> bool:
    """Whether ``actor`` is an operator of the hub, as :func:`require_staff` demands."""
    if actor is None:
        return True
    user = person(actor)
    return user is not None and user.is_staff and scope_covers(user.token, Scope.ADMIN)


def require_person(actor: User, scope: Scope, namespace: Namespace) -> None:
    """Refuse unless ``actor`` may act on an object in ``namespace`` without a role there.

    Raises the errors of :func:`require_scope`; ``permission_denied`` for a token that is limited to
    another namespace.
    """
    require_scope(actor, scope)
    if _is_limited_to_another(actor.token, namespace):
        raise Forbidden(
            "permission_denied",
            "The token is limited to another namespace.",
            "Use a token without a namespace, or sign in.",
        )


def person(actor: Actor) -> User | None:
    """``actor`` as an active user; ``None`` for the hub, and for anonymous or inactive users."""
    return actor if isinstance(actor, User) and actor.is_active else None


def _is_limited_to_another(token: Token | None, namespace: Namespace) -> bool:
    return token is not None and token.namespace_id not in {None, namespace.pk}


def scope_covers(token: Token | None, scope: Scope) -> bool:
    """Whether ``token`` includes ``scope``; a session has no token and includes all."""
    return token is None or _SCOPES.index(Scope(token.scope)) >= _SCOPES.index(scope)


_DOES = {Role.READ: "read in", Role.WRITE: "write to", Role.ADMIN: "administer"}


def memberships(user: User) -> QuerySet[Membership]:
    """The memberships of ``user``, restricted to the namespace of their token if it names one."""
    rows = Membership.objects.filter(user=user)
    if user.token is not None and user.token.namespace_id is not None:
        rows = rows.filter(namespace=user.token.namespace_id)
    return rows


def _within(rows: QuerySet[Row], path: str, actor: Actor) -> QuerySet[Row]:
    """Those of ``rows`` whose MLModel, at the lookup ``path``, may be read."""
    return rows if actor is None else rows.filter(**{f"{path}__in": readable_repositories(actor)})
