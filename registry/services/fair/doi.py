"""DOIs of versions: asked for by people, registered by a job, kept true when something changes.

A DOI costs its registrar money, so that a version gets one only where somebody asks. Its name is
made of the identifier's, so that asking again, after whatever broke, is asking for the same.

What happens to a version later (it is withdrawn, hidden, renamed or shown again) is noted in the
row of its identifier, as the moment at which DataCite is to be told. A claim moves that moment on:
of two workers one finds the row, and after a crash somebody finds it again.
"""

from datetime import datetime, timedelta

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
from registry.tickets import DoiTicket

#: Longer than telling takes, see ``workers/jobs/datacite.py``; what failed is tried again then.
CLAIM = timedelta(minutes=10)
#: What DataCite refused is tried again so much later: people have to mend something first.
PUT_OFF = timedelta(days=1)


def doi_request(*, actor: Actor, revision: Revision) -> Job:
    """Ask for a DOI of a version; where it has one, for DataCite to be told how it is now.

    Args:
        revision: With its MLModel and namespace.

    Raises:
        Unauthenticated, Forbidden: see :func:`registry.selectors.access.require`.
        Invalid: ``doi_not_offered``: this hub has no account with DataCite; ``doi_incomplete``,
            with what its record lacks in ``fields``.
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
    """Whether the operator gave the hub an account with DataCite."""
    return all((settings.DATACITE_ACCOUNT, settings.DATACITE_PASSWORD, settings.DATACITE_PREFIX))


def doi_begin(*, job_uuid: str, fence: int) -> DoiTicket:
    """What the job registers.

    Raises:
        Conflict: ``lease_lost``.
        NotFound: ``identifier_not_found``.
        Invalid: ``doi_incomplete``: somebody hid it since, or changed the rules.
    """
    with transaction.atomic():
        revision = held_job(job_uuid=job_uuid, fence=fence).revision
    identifier = identifier_of(revision)
    if identifier is None:
        raise NotFound(
            "identifier_not_found", f"Revision {revision.oid[:10]} has no identifier to build on."
        )
    description = describe(revision)
    _check(revision, description)
    doi = identifier.doi or f"{settings.DATACITE_PREFIX}/{identifier.name}".lower()
    return DoiTicket(identifier.name, doi, registration(description, doi))


def doi_keep(*, job_uuid: str, ticket: DoiTicket) -> None:
    """Note that DataCite has registered the DOI of ``ticket``.

    It is noted whoever holds the job by now, and whatever became of the version in the meantime:
    DataCite has it, and will be told.
    """
    with transaction.atomic():
        rows = Identifier.objects.filter(name=ticket.identifier)
        # Held, so that nobody hides or deletes it between the question and the answer.
        held = MLModel.objects.select_for_update(of=("self",)).select_related("namespace")
        mlmodel = held.filter(identifiers__in=rows).first()
        identifier = rows.defer("description").get()
        is_new = identifier.doi != ticket.doi
        rows.update(doi=ticket.doi)
        if mlmodel is None or mlmodel.visibility != Visibility.PUBLIC or identifier.withdrawn_at:
            rows.update(doi_due_at=timezone.now())
        if is_new:
            name = mlmodel.full_name if mlmodel is not None else identifier.full_name
            _audit(job_uuid, ticket.doi, name, identifier.oid)
        if is_new and mlmodel is not None:
            # Its record names the DOI from now on, so it has changed.
            MLModel.objects.filter(pk=mlmodel.pk).update(updated_at=timezone.now())
            OutboxEntry.objects.create(mlmodel_uuid=mlmodel.uuid)


def dois_due(mlmodel: MLModel) -> None:
    """Have DataCite told how the versions of ``mlmodel`` are now, in the caller's transaction."""
    rows = Identifier.objects.filter(mlmodel=mlmodel, withdrawn_at=None).exclude(doi="")
    rows.update(doi_due_at=timezone.now())


def doi_claim() -> DoiTicket | None:
    """Take what waits longest to be told; ``None`` if nothing is due, or there is no account."""
    while is_configured():
        now = timezone.now()
        rows = rows_due().filter(doi_due_at__lte=now)
        found = rows.select_related("revision__mlmodel__namespace").first()
        if found is None:
            return None
        claim = now + CLAIM
        mine = Identifier.objects.filter(pk=found.pk, doi_due_at=found.doi_due_at)
        if mine.update(doi_due_at=claim):
            return DoiTicket(found.name, found.doi, _telling(found), claim.isoformat())
    return None


def doi_told(*, ticket: DoiTicket) -> bool:
    """DataCite knows; whether nothing has changed since it was claimed."""
    return bool(_claimed(ticket).update(doi_due_at=None))


def doi_put_off(*, ticket: DoiTicket) -> bool:
    """DataCite refused; whether nothing has changed since it was claimed, so that it can wait."""
    return bool(_claimed(ticket).update(doi_due_at=timezone.now() + PUT_OFF))


def _claimed(ticket: DoiTicket) -> QuerySet[Identifier]:
    claim = datetime.fromisoformat(ticket.due_at)
    return Identifier.objects.filter(name=ticket.identifier, doi_due_at=claim)


def _telling(identifier: Identifier) -> dict[str, object]:
    revision = identifier.revision
    if identifier.withdrawn_at is not None and identifier.description is not None:
        return registration(restore(identifier.description), identifier.doi)
    if revision is None or revision.mlmodel.visibility != Visibility.PUBLIC:
        return hiding(identifier.doi)
    return registration(describe(revision), identifier.doi)


def _check(revision: Revision, description: Description) -> None:
    faults = dict.fromkeys(missing_fields(description), "is not said well enough in the card")
    if revision.mlmodel.visibility != Visibility.PUBLIC:
        faults["visibility"] = "is private"
    if faults:
        raise Invalid(
            "doi_incomplete",
            f"{description.repository} cannot have a DOI yet: {', '.join(faults)}.",
            "Say it in the card, or make it public; then ask again.",
            fields=faults,
        )


def _audit(job_uuid: str, doi: str, full_name: str, oid: str) -> None:
    job = Job.objects.filter(uuid=parse_uuid(job_uuid)).select_related("requested_by").first()
    audit(
        actor=job.requested_by if job else None,
        action="doi.register",
        subject=f"{full_name}@{oid}",
        namespace=full_name.partition("/")[0],
        detail={"doi": doi},
    )
