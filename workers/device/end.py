"""How a job ended, from what its work returned or raised."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from hpcfair.tickets import JobTicket
from workers.device.errors import HubError, JobFailure
from workers.engine.errors import (
    Cancelled,
    CandidateFailed,
    InfrastructureFailed,
    LeaseLost,
    ReferenceFailed,
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class End:
    """How a job ended.

    Attributes:
        outcome: ``lost`` if another worker may have the job; nothing may be reported then.
        result: Result of a job that succeeded, as JSON.
        failure: Failure of a job that failed.
    """

    outcome: Literal["succeeded", "failed", "released", "lost"]
    result: dict[str, Any] = field(default_factory=dict)
    failure: JobFailure | None = None


def end_of(ticket: JobTicket, work: Callable[[], dict[str, Any]]) -> End:
    """Do the work of a claimed job and return its end. Raises nothing.

    An unexpected error counts as a failure of the infrastructure: a retry may succeed.
    """
    try:
        return End("succeeded", work())
    except LeaseLost as error:
        logger.warning("%s %s: %s", ticket.kind, ticket.mlmodel, error)
        return End("lost")
    except Cancelled as error:
        logger.warning("%s", error)
        return End("released")
    except (JobFailure, ReferenceFailed, CandidateFailed) as error:
        failure = JobFailure.of(error)
    except InfrastructureFailed as error:
        failure = JobFailure("infrastructure", "internal_error", str(error))
    except HubError as error:
        failure = JobFailure("invalid", error.code, str(error))
    except Exception as error:
        logger.exception("%s %s broke", ticket.kind, ticket.mlmodel)
        detail = f"{type(error).__name__}: {error}"
        failure = JobFailure("infrastructure", "internal_error", detail)
    return End("failed", failure=failure)
