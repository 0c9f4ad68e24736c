"""DOIs of versions: requested by users, registered by a job, updated after changes.

Registration costs the hub's operator money, so a version gets a DOI only on request. Its name is
derived from the version's ARK, so that repeated requests are idempotent.

Later changes of a version (withdrawn, hidden, renamed, public again) set ``doi_due_at`` of its
identifier, the time at which an update is due at DataCite. A claim postpones that time: only one
worker gets a row, and after a crash the row becomes due again.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from registry.errors import Invalid, NotFound
from registry.fair.datacite.registration import hiding, registration
from registry.fair.description import Description, missing_fields
from registry.ids import parse_uuid
from registry.selectors.access import Actor, require
from registry.selectors.fair.description import describe
from registry.selectors.fair.identifier import dois_due as rows_due
from registry.selectors.fair.identifier import identifier_of, restore
from registry.services.audit import audit
from registry.services.work.job import job_submit
from registry.services.work.lease import held_job
from registry.states import JobKind, Role, Visibility
from registry.tables import Identifier, Job, MLModel, OutboxEntry, Revision

#: Duration of a claim: longer than an update takes (``workers/jobs/datacite.py``). Failed updates
#: are repeated after it.
CLAIM = timedelta(minutes=10)
#: Time until an update that DataCite rejected is repeated.
PUT_OFF = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class DoiTicket:
    """A request about a DOI to be sent to DataCite.

    ``identifier`` is the name of the identifier that has, or will have, the DOI; ``body`` is a
    document of :mod:`registry.fair.datacite.registration`; ``due_at`` (ISO 8601) identifies the
    claim at its end, and is empty if a job holds the claim.
    """

    identifier: str
    doi: str
    body: dict[str, Any]
    due_at: str = ""


def doi_request(*, actor: Actor, revision: Revision) -> Job:
    """Request a DOI for a version, or an update of its metadata if it has one.

    ``revision`` comes with its MLModel and namespace. Raises ``Unauthenticated`` or ``Forbidden``
    as :func:`registry.selectors.access.require`; ``Invalid`` ``doi_not_offered`` if this hub has no
    account with DataCite, ``doi_incomplete`` with the missing fields of its record.
    """
    require(actor, role=Role.WRITE, namespace=revision.mlmodel.namespace)
    if not is_configured():
        raise Invalid(
            "doi_not_offered",
            "This hub has no account with DataCite, so it registers no DOIs.",
            "Cite the persistent identifier (ARK), which every version has.",
        )
    _check(revision, describe(revision))
    return job_submit(actor=actor, kind=JobKind.DOI, revision=revision)


def is_configured() -> bool:
    """Whether an account with DataCite is configured."""
    return all((settings.DATACITE_ACCOUNT, settings.DATACITE_PASSWORD, settings.DATACITE_PREFIX))


def doi_begin(*, job_uuid: str, fence: int) -> DoiTicket:
    """The registration of a leased job.

    Raises ``Conflict`` ``lease_lost``; ``NotFound`` ``identifier_not_found``; ``Invalid``
    ``doi_incomplete`` if the version has changed since the request.
    """
    with transaction.atomic():
        revision = held_job(job_uuid=job_uuid, fence=fence).revision
    identifier = identifier_of(revision)
    if identifier is None:
        raise NotFound(
            "identifier_not_found", f"Revision {revision.oid[:10]} has no persistent identifier."
        )
    description = describe(revision)
    _check(revision, description)
    doi = identifier.doi or f"{settings.DATACITE_PREFIX}/{identifier.name}".lower()
    return DoiTicket(identifier.name, doi, registration(description, doi))


def doi_keep(*, job_uuid: str, ticket: DoiTicket) -> None:
    """Store that DataCite has registered the DOI of ``ticket``.

    It is stored even if the lease was lost or the version has changed meanwhile: the DOI exists,
    and an update becomes due.
    """
    with transaction.atomic():
        rows = Identifier.objects.filter(name=ticket.identifier)
        # Locked, so that it is not hidden or deleted during this transaction.
        locked = MLModel.objects.select_for_update(of=("self",)).select_related("namespace")
        mlmodel = locked.filter(identifiers__in=rows).first()
        identifier = rows.defer("description").get()
        is_new = identifier.doi != ticket.doi
        rows.update(doi=ticket.doi)
        if mlmodel is None or mlmodel.visibility != Visibility.PUBLIC or identifier.withdrawn_at:
            rows.update(doi_due_at=timezone.now())
        if is_new:
            name = mlmodel.full_name if mlmodel is not None else identifier.full_name
            _audit(job_uuid, ticket.doi, name, identifier.oid)
        if is_new and mlmodel is not None:
            # The record now has a DOI, so it has changed.
            MLModel.objects.filter(pk=mlmodel.pk).update(updated_at=timezone.now())
            OutboxEntry.objects.create(mlmodel_uuid=mlmodel.uuid)


def dois_due(mlmodel: MLModel) -> None:
    """Make updates at DataCite due for all DOIs of ``mlmodel``, in the caller's transaction."""
    rows = Identifier.objects.filter(mlmodel=mlmodel, withdrawn_at=None).exclude(doi="")
    rows.update(doi_due_at=timezone.now())


def doi_claim() -> DoiTicket | None:
    """Claim the longest waiting update; ``None`` if none is due or no account is configured."""
    while is_configured():
        now = timezone.now()
        rows = rows_due().filter(doi_due_at__lte=now)
        row = rows.select_related("revision__mlmodel__namespace").first()
        if row is None:
            return None
        claim = now + CLAIM
        unclaimed = Identifier.objects.filter(pk=row.pk, doi_due_at=row.doi_due_at)
        if unclaimed.update(doi_due_at=claim):
            return DoiTicket(row.name, row.doi, _update_of(row), claim.isoformat())
    return None


def doi_told(*, ticket: DoiTicket) -> bool:
    """End a claim after an update; returns whether the version has not changed since."""
    return bool(_claimed(ticket).update(doi_due_at=None))


def doi_put_off(*, ticket: DoiTicket) -> bool:
    """Postpone a rejected update; returns whether the version has not changed since."""
    return bool(_claimed(ticket).update(doi_due_at=timezone.now() + PUT_OFF))


def _claimed(ticket: DoiTicket) -> QuerySet[Identifier]:
    claim = datetime.fromisoformat(ticket.due_at)
    return Identifier.objects.filter(name=ticket.identifier, doi_due_at=claim)


def _update_of(identifier: Identifier) -> dict[str, object]:
    revision = identifier.revision
    if identifier.withdrawn_at is not None and identifier.description is not None:
        return registration(restore(identifier.description), identifier.doi)
    if revision is None or revision.mlmodel.visibility != Visibility.PUBLIC:
        return hiding(identifier.doi)
    return registration(describe(revision), identifier.doi)


def _check(revision: Revision, description: Description) -> None:
    faults = dict.fromkeys(missing_fields(description), "is absent or too short in the card")
    if revision.mlmodel.visibility != Visibility.PUBLIC:
        faults["visibility"] = "is private"
    if faults:
        raise Invalid(
            "doi_incomplete",
            f"{description.repository} cannot have a DOI yet: {', '.join(faults)}.",
            "Complete the card, or make the repository public; then request it again.",
            fields=faults,
        )


def _audit(job_uuid: str, doi: str, full_name: str, oid: str) -> None:
    job = Job.objects.filter(uuid=parse_uuid(job_uuid)).select_related("requested_by").first()
    audit(
        job.requested_by if job else None,
        "doi.register",
        f"{full_name}@{oid}",
        namespace=full_name.partition("/")[0],
        detail={"doi": doi},
    )
