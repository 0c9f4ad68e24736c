"""Who may see and do what. The one predicate every read and every write goes through.

- A public MLModel is readable by everybody, a private one by the members of its namespace; what
  hangs on it (revisions, jobs, builds, records...) is as readable as it is.
- Files behind a gate are for members and for those whose request was accepted, but for the card,
  settings and licence; that they are there, and what the card says, is for everybody who may read.
- A member may do what their :class:`registry.states.Role` says.
- A token may do what its owner may, cut down to its scope and, where it names one, to its
  namespace. Authentication leaves it in ``user.token``; a browser's session has none.
- ``actor=None`` is the hub itself and may everything.
"""

from typing import TypeAlias, TypeVar

from django.contrib.auth.models import AnonymousUser
from django.db.models import Model, Q, QuerySet

from registry.errors import Forbidden, Unauthenticated
from registry.fair.files import is_open
from registry.states import Gate, RepositoryKind, RequestState, Role, Scope, Visibility
from registry.tables import (
    AccessRequest,
    Build,
    Job,
    Membership,
    MLModel,
    Namespace,
    Record,
    Revision,
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
    """The MLModels ``actor`` may read; data sets are none."""
    return readable_repositories(actor).filter(kind=RepositoryKind.MODEL)


def readable_repositories(actor: Actor) -> QuerySet[MLModel]:
    """The MLModels and data sets ``actor`` may read."""
    if actor is None:
        return MLModel.objects.all()
    visible = Q(visibility=Visibility.PUBLIC)
    user = person(actor)
    if user is not None:
        visible |= Q(namespace__in=memberships(user).values("namespace"))
    return MLModel.objects.filter(visible)


def fetchable_repositories(actor: Actor) -> QuerySet[MLModel]:
    """Those readable ones whose files ``actor`` may fetch, too."""
    readable = readable_repositories(actor)
    if actor is None:
        return readable
    allowed = Q(gate=Gate.OPEN)
    user = person(actor)
    if user is not None:
        allowed |= Q(namespace__in=memberships(user).values("namespace"))
        allowed |= Q(pk__in=_accepted(user).values("mlmodel"))
    return readable.filter(allowed)


def may_fetch(actor: Actor, mlmodel: MLModel) -> bool:
    """Whether ``actor`` may fetch the files of ``mlmodel``, which they may read."""
    return mlmodel.gate == Gate.OPEN or fetchable_repositories(actor).filter(pk=mlmodel.pk).exists()


def readable_with(other: MLModel, mlmodel: MLModel) -> bool:
    """Whether all who may read ``mlmodel`` may read ``other``, so that what is said of the one to
    everybody may name the other."""
    if other.visibility == Visibility.PUBLIC:
        return True
    return mlmodel.visibility == Visibility.PRIVATE and other.namespace_id == mlmodel.namespace_id


def require_fetch(actor: Actor, mlmodel: MLModel) -> None:
    """Refuse unless ``actor`` may fetch the files of ``mlmodel``, which they may read.

    Raises:
        Unauthenticated, Forbidden: ``access_gated``.
    """
    if may_fetch(actor, mlmodel):
        return
    user = person(actor)
    if user is None:
        hint = "Sign in, and ask for access on its page."
        raise Unauthenticated("access_gated", _gated(mlmodel), hint)
    asked = AccessRequest.objects.filter(mlmodel=mlmodel, user=user).first()
    if asked is None:
        raise Forbidden("access_gated", _gated(mlmodel), "Ask for access on its page.")
    hint = asked.rejection_reason
    if asked.state == RequestState.ACCEPTED:
        hint = "Use a token that is not limited to another namespace."
    raise Forbidden("access_gated", f"{_gated(mlmodel)} Yours is {asked.state}.", hint)


def require_fetch_file(actor: Actor, mlmodel: MLModel, path: str) -> None:
    """Refuse unless ``actor`` may fetch the file at ``path`` of ``mlmodel``, which they may read.

    A few files stay open whatever the gate: see :func:`registry.fair.files.is_open`.

    Raises:
        Unauthenticated, Forbidden: ``access_gated``.
    """
    if not is_open(path):
        require_fetch(actor, mlmodel)


def readable_revisions(actor: Actor) -> QuerySet[Revision]:
    """The revisions of readable MLModels and data sets."""
    return _within(Revision.objects.all(), "mlmodel", actor)


def readable_jobs(actor: Actor) -> QuerySet[Job]:
    """The jobs of readable MLModels."""
    return _within(Job.objects.all(), "revision__mlmodel", actor)


def readable_trials(actor: Actor) -> QuerySet[Trial]:
    """The trials of readable MLModels."""
    return _within(Trial.objects.all(), "job__revision__mlmodel", actor)


def readable_builds(actor: Actor) -> QuerySet[Build]:
    """The builds of readable MLModels."""
    return _within(Build.objects.all(), "graph__revision__mlmodel", actor)


def readable_records(actor: Actor) -> QuerySet[Record]:
    """The records of readable MLModels."""
    return _within(Record.objects.all(), "revision__mlmodel", actor)


def may(actor: Actor, *, role: Role, namespace: Namespace) -> bool:
    """Whether ``actor`` may act in ``namespace`` as ``role`` may."""
    if actor is None:
        return True
    user = person(actor)
    if user is None or not scope_covers(user.token, _SCOPE_FOR[role]):
        return False
    membership = memberships(user).filter(namespace=namespace).first()
    return membership is not None and _RANK[Role(membership.role)] >= _RANK[role]


def require(actor: Actor, *, role: Role, namespace: Namespace) -> None:
    """Refuse unless :func:`may`.

    Raises:
        Unauthenticated: ``not_authenticated``.
        Forbidden: ``scope_missing`` or ``permission_denied``.
    """
    if actor is None:
        return
    require_scope(actor, _SCOPE_FOR[role])
    if not may(actor, role=role, namespace=namespace):
        raise Forbidden(
            "permission_denied",
            f"You may not {_DOES[role]} {namespace.name}.",
            f"Ask an admin of {namespace.name} for the role {role.value!r}, or use a token that "
            "is not limited to another namespace.",
        )


def require_scope(actor: Actor, scope: Scope) -> User | None:
    """The person asking, unless their token does less than ``scope``; ``None`` for the hub.

    Raises:
        Unauthenticated: ``not_authenticated``.
        Forbidden: ``scope_missing``.
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


def require_person(actor: User, scope: Scope, namespace: Namespace) -> None:
    """Refuse unless ``actor`` may do what any person may about something in ``namespace``.

    Raises:
        Unauthenticated, Forbidden: see :func:`require_scope`; ``permission_denied`` for a token
            that is limited to another namespace.
    """
    require_scope(actor, scope)
    if actor.token is not None and actor.token.namespace_id not in {None, namespace.pk}:
        raise Forbidden(
            "permission_denied",
            "The token is limited to another namespace.",
            "Use a token without a namespace, or sign in.",
        )


def person(actor: Actor) -> User | None:
    """The signed-in, active user among actors; ``None`` for anonymous ones."""
    return actor if isinstance(actor, User) and actor.is_active else None


def scope_covers(token: Token | None, scope: Scope) -> bool:
    """Whether ``token`` allows what ``scope`` names; a session, having no token, does."""
    return token is None or _SCOPES.index(Scope(token.scope)) >= _SCOPES.index(scope)


_DOES = {Role.READ: "read in", Role.WRITE: "write to", Role.ADMIN: "administer"}


def memberships(user: User) -> QuerySet[Membership]:
    """The memberships ``user`` may act on: where its token names a namespace, only that one."""
    rows = Membership.objects.filter(user=user)
    if user.token is not None and user.token.namespace_id is not None:
        rows = rows.filter(namespace=user.token.namespace_id)
    return rows


def _gated(mlmodel: MLModel) -> str:
    return f"The files of {mlmodel.full_name} are for people whose request was accepted."


def _accepted(user: User) -> QuerySet[AccessRequest]:
    """The requests of ``user`` that were accepted, as far as their token reaches."""
    rows = AccessRequest.objects.filter(user=user, state=RequestState.ACCEPTED)
    if user.token is not None and user.token.namespace_id is not None:
        rows = rows.filter(mlmodel__namespace=user.token.namespace_id)
    return rows


def _within(rows: QuerySet[Row], path: str, actor: Actor) -> QuerySet[Row]:
    """Those of ``rows`` whose MLModel, found along ``path``, may be read."""
    return rows if actor is None else rows.filter(**{f"{path}__in": readable_repositories(actor)})
