"""Imports of models of other servers by the hub's workers.

A user names a repository on a server that the operator lists. A new model is created at once, empty
and private, so that its name is taken and its page shows the progress; a job fetches the files and
commits them as that user. The user's token for the server is stored encrypted with the job, and
erased when the job ends.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from django.conf import settings
from django.db import transaction

from registry.errors import Conflict, Forbidden, Invalid, NotFound
from registry.selectors.access import Actor, person, require, require_scope
from registry.selectors.fair.origin import imported_version
from registry.selectors.repository.mlmodel import mlmodel_get
from registry.selectors.repository.revision import revision_get
from registry.services.fair.derivation import ModelOrigin
from registry.services.repository.hold import hold_begin
from registry.services.repository.mlmodel import check_visibility, mlmodel_create
from registry.services.repository.revision import Add, Delete, Operation, commit
from registry.services.storage.quota import quota_check_jobs
from registry.services.work.job import job_create
from registry.services.work.lease import held_job
from registry.services.work.secret import seal, unseal
from registry.states import JobKind, JobState, Role, Scope, Visibility
from registry.tables import Job, MLModel, Revision, User

#: What a model has that was created and holds nothing yet.
_EMPTY = (".gitattributes",)
_PART = r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}"
_NAME = re.compile(f"{_PART}/{_PART}")
_OPEN = (JobState.QUEUED, JobState.LEASED)
_MOST_REVISION, _MOST_TOKEN = 200, 500


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRequest:
    """What is to be imported.

    Attributes:
        server: One of :func:`import_servers`.
        origin: ``org/name`` there.
        revision: Branch, tag or commit id there; empty for the default branch.
        license: License of the model if its card states none.
        visibility: ``public`` or ``private`` for a new model; empty for the rule of imports.
        overwrite: Whether to replace files that were changed on this hub, too.
        compare: Whether to report only what an update would change.
        is_new: Whether the model was created for this import.
    """

    server: str
    origin: str
    revision: str = ""
    license: str = ""
    visibility: str = ""
    overwrite: bool = False
    compare: bool = False
    is_new: bool = False

    @property
    def url(self) -> str:
        """Address of the model's page on its server."""
        return f"{self.server}/{self.origin}"


@dataclass(frozen=True, slots=True)
class ImportTicket:
    """An import that a worker has claimed, with the account in whose name it commits."""

    request: ImportRequest
    mlmodel: MLModel
    user: User
    token: str = field(repr=False)


def import_servers() -> list[str]:
    """Addresses of the servers that users may import from, as the operator lists them."""
    return [server.rstrip("/") for server in settings.IMPORT_SERVERS]


def import_submit(*, actor: Actor, name: str, request: ImportRequest, token: str = "") -> Job:
    """Queue the import of a model, or its update. A model that does not exist is created.

    Args:
        name: ``namespace/name`` of the model on this hub.
        token: The user's token for the server, for a private or gated model.

    Raises:
        Unauthenticated, Forbidden: see :func:`registry.selectors.access.require`;
            ``quota_exceeded``.
        NotFound: ``namespace_not_found``.
        Conflict: ``model_exists`` for a model that was not imported; ``invalid_state`` if an import
            of it waits or runs.
        Invalid: ``import_not_offered``, ``invalid_name``, ``invalid_request``.
    """
    require_scope(actor, Scope.WRITE)
    _check(request, token)
    mlmodel, is_new = _model(actor, name)
    with transaction.atomic():
        # Locked, so that of two requests one queues a job.
        mlmodel = MLModel.objects.select_for_update(of=("self",)).get(pk=mlmodel.pk)
        imports = Job.objects.filter(kind=JobKind.IMPORT, revision__mlmodel=mlmodel)
        if imports.filter(state__in=_OPEN).exists():
            raise Conflict(
                "invalid_state",
                f"An import of {mlmodel.full_name} waits or runs already.",
                "Wait until it has ended, or cancel it.",
            )
        quota_check_jobs(actor, 1)
        parameters = asdict(request) | {"is_new": is_new or _was_new(imports)}
        return job_create(
            actor=actor,
            kind=JobKind.IMPORT,
            revision=revision_get(mlmodel),
            target=None,
            parameters={key: value for key, value in parameters.items() if value},
            priority=100,
            secret=seal(token),
        )


def import_begin(*, job_uuid: str, fence: int) -> ImportTicket:
    """The request of a leased job.

    Raises ``Conflict`` ``lease_lost``; ``Forbidden`` ``permission_denied`` if its account may no
    longer write; ``Invalid`` ``import_not_offered`` if the server is not listed any more.
    """
    with transaction.atomic():
        job = held_job(job_uuid=job_uuid, fence=fence)
    user = person(job.requested_by)
    mlmodel = job.revision.mlmodel
    if user is None:
        raise Forbidden("permission_denied", "The account that requested this import is gone.")
    require(user, role=Role.WRITE, namespace=mlmodel.namespace)
    request = ImportRequest(**job.parameters)
    _check_server(request.server)
    return ImportTicket(request, mlmodel, user, unseal(job.secret))


def import_publish(ticket: ImportTicket, visibility: str | None) -> None:
    """Let a model that was created for this import become public once its files have passed their
    checks. ``visibility`` ``None`` is the default of its namespace."""
    chosen = visibility or ticket.mlmodel.namespace.default_visibility
    if ticket.request.is_new and chosen == Visibility.PUBLIC:
        hold_begin(ticket.mlmodel)


def import_commit(
    *,
    job_uuid: str,
    fence: int,
    ticket: ImportTicket,
    message: str,
    added: Mapping[str, str],
    deleted: Iterable[str],
    origin: ModelOrigin,
    parent_oid: str,
) -> Revision:
    """Commit the files of an import; ``added`` maps paths to SHA-256.

    Raises ``Conflict`` ``lease_lost`` before, and the errors of
    :func:`registry.services.repository.revision.commit`.
    """
    with transaction.atomic():
        held_job(job_uuid=job_uuid, fence=fence)
    operations: list[Operation] = [
        *(Add(path, sha256) for path, sha256 in added.items()),
        *(Delete(path) for path in deleted),
    ]
    return commit(
        actor=ticket.user,
        mlmodel=ticket.mlmodel,
        branch=ticket.mlmodel.default_branch,
        message=message,
        operations=operations,
        parent_oid=parent_oid,
        imported=origin,
    )


def _model(actor: Actor, name: str) -> tuple[MLModel, bool]:
    """The model of that name, and whether it was created just now."""
    namespace, _, short = name.partition("/")
    try:
        mlmodel = mlmodel_get(actor, name)
    except NotFound:
        created = mlmodel_create(
            actor=actor, namespace=namespace, name=short, visibility=Visibility.PRIVATE
        )
        return created, True
    require(actor, role=Role.WRITE, namespace=mlmodel.namespace)
    head = revision_get(mlmodel)
    if imported_version(head) is None and head.files.exclude(path__in=_EMPTY).exists():
        raise Conflict(
            "model_exists",
            f"{mlmodel.full_name} exists and was published here.",
            "Choose another name.",
        )
    return mlmodel, False


def _was_new(imports: Any) -> bool:
    """Whether the model was created for an import, of which none has succeeded yet."""
    last = imports.order_by("-id").first()
    return (
        last is not None
        and last.state != JobState.SUCCEEDED
        and bool(last.parameters.get("is_new"))
    )


def _check(request: ImportRequest, token: str) -> None:
    _check_server(request.server)
    if not _NAME.fullmatch(request.origin):
        raise _invalid("origin", "must be a repository, such as org/name")
    if len(request.revision) > _MOST_REVISION or not _is_visible(request.revision):
        raise _invalid("revision", "must be a branch, tag or commit id")
    # Sent as a header.
    if len(token) > _MOST_TOKEN or not _is_visible(token):
        raise _invalid("token", "contains a space or a character that no token has")
    if request.visibility:
        check_visibility(request.visibility)


def _check_server(server: str) -> None:
    servers = import_servers()
    if server not in servers:
        offered = f"It imports from {', '.join(servers)}." if servers else "It imports from none."
        raise Invalid(
            "import_not_offered",
            f"This hub does not import from {server[:200]!r}. {offered}",
            "Import with the client, which fetches the files itself: hpcfair import.",
            fields={"server": "is not listed"},
        )


def _is_visible(text: str) -> bool:
    return all("!" <= character <= "~" for character in text)


def _invalid(name: str, fault: str) -> Invalid:
    return Invalid("invalid_request", f"{name!r} {fault}.", fields={name: fault})
