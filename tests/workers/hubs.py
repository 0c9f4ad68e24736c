"""Hubs for tests of jobs."""

from hpcfair.tickets import JobTicket
from workers.jobs.hub import RegistryHub
from workers.jobs.lease import Lease


def hub_of(ticket: JobTicket) -> RegistryHub:
    """The port of a claimed job to the registry; its lease is not renewed."""
    return RegistryHub(ticket, Lease(ticket))
