"""Devices with tokens and keys, for tests of agents."""

import base64
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.utils import timezone

from hpcfair.bundle import end_bytes
from hpcfair.tickets import JobTicket
from registry import schemas
from registry.selectors.people.account import secret_digest
from registry.services.people.token import new_secret
from registry.services.work.agent import agent_claim
from registry.services.work.operations import job_write
from registry.states import JobKind
from registry.tables import Device, Revision, Target
from tests.registry import shopfloor


@dataclass(frozen=True)
class Machine:
    """An enrolled device, its token and its key."""

    device: Device
    token: str
    key: Ed25519PrivateKey

    def claim(self, kind: JobKind = JobKind.TUNE, **options: Any) -> JobTicket:
        """The next job of a kind, claimed by this device."""
        self.device.refresh_from_db()
        wanted: dict[str, Any] = {"kinds": [kind], "available_s": None, "cached": (), **options}
        offer = agent_claim(device=self.device, **wanted)
        assert offer.ticket is not None, offer.reason
        return offer.ticket

    def write(self, ticket: JobTicket, name: str, number: int | None = None, **columns: Any) -> Any:
        """A write of this device, without the quarantine after offences."""
        return job_write(
            job_uuid=ticket.job_uuid,
            fence=ticket.fence,
            name=name,
            columns=columns,
            number=number,
            device=self.device,
        )

    def sign(self, ticket: JobTicket, outcome: str, stated: dict[str, Any]) -> str:
        """The signature of the end of an attempt."""
        signed = end_bytes(job=ticket.job_uuid, fence=ticket.fence, outcome=outcome, result=stated)
        return base64.b64encode(self.key.sign(signed)).decode()

    def succeeded(self, ticket: JobTicket, **result: Any) -> dict[str, Any]:
        """A signed report of success."""
        stated = {"summary": "done", **result}
        return {
            "fence": ticket.fence,
            "outcome": "succeeded",
            "result": stated,
            "signature": self.sign(ticket, "succeeded", stated),
        }


def machine(target: Target, name: str = "agent-1", **columns: Any) -> Machine:
    """An enrolled device of a target that has passed its health check."""
    key, token = Ed25519PrivateKey.generate(), new_secret("hpd_")
    pem = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    device = Device.objects.create(
        name=name,
        target=target,
        token_hash=secret_digest(token),
        public_key=pem.decode(),
        **columns,
    )
    return Machine(device, token, key)


def rfc3339(time: datetime) -> str:
    """A time in the form of records."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def record_of(revision: Revision, ticket: JobTicket, created_at: str = "") -> dict[str, Any]:
    """A benchmark record of the device of a ticket, created now or at another time."""
    document = shopfloor.document(revision, job=ticket.job_uuid)
    document["identity"] |= {"graph_hash": "a" * 64, "kind": "headline"}
    document["target"] |= {"device": ticket.device}
    document["provenance"] |= {"created_at": created_at or rfc3339(timezone.now())}
    return {"record_id": schemas.record_id(document), **document}
