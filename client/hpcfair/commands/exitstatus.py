"""The exit statuses of ``hpcfair``: the one table behind help, manual pages and documentation."""

from collections.abc import Sequence
from typing import NamedTuple

from hpcfair import errors


class ExitStatus(NamedTuple):
    """An exit status.

    Attributes:
        meaning: In a few words, for ``--help``.
        cases: Examples, for the documentation.
        kinds: The exceptions that end a command with it, unless a subclass has another one.
    """

    number: int
    meaning: str
    cases: str = ""
    kinds: tuple[type[errors.HpcfairError], ...] = ()


#: A measurement contradicts its record, or outputs differ from those of the test tensors.
NOT_REPRODUCED = 8
INTERRUPTED = 130

EXIT_STATUSES = (
    ExitStatus(0, "done"),
    ExitStatus(
        1,
        "another failure",
        "a damaged cache, a full disk, a missing package, a runtime that fails",
        (errors.HpcfairError,),
    ),
    ExitStatus(
        2,
        "usage",
        "an option, an argument, a setting, a card, an input that does not fit the model",
        (errors.BadConfig, errors.BadInput, errors.BadCard, errors.NotSupported),
    ),
    ExitStatus(
        3,
        "not found",
        "a model, revision, job or record that does not exist or is private",
        (errors.NotFound, errors.NoModelFile),
    ),
    ExitStatus(
        4,
        "not signed in or not allowed",
        "no token, a token without the scope, a quota that is used up",
        (errors.Unauthenticated, errors.Forbidden),
    ),
    ExitStatus(
        5,
        "no answer",
        "the hub is down or overloaded, offline mode, waiting took too long; try again later",
        (errors.Unavailable, errors.HubUnreachable, errors.TimedOut),
    ),
    ExitStatus(
        6,
        "refused by the hub",
        "an invalid request, a conflict with the current state, data that are too large",
        (errors.HubError,),
    ),
    ExitStatus(
        7,
        "a job or a model's file failed",
        "a job ended without a result, or the hub cannot use a file of the model",
        (errors.JobFailed, errors.InvalidModelFile),
    ),
    ExitStatus(
        NOT_REPRODUCED,
        "not reproduced",
        "outputs differ from the test tensors, or a measurement contradicts its record",
    ),
    ExitStatus(
        9,
        "not signed or wrongly",
        "a signature is wrong, missing, or by a key that is not trusted",
        (errors.Untrusted,),
    ),
    ExitStatus(INTERRUPTED, "interrupted", "Ctrl-C"),
)
_NUMBER_OF = {kind: status.number for status in EXIT_STATUSES for kind in status.kinds}


def exit_status(error: errors.HpcfairError) -> int:
    """The exit status for an error: that of the most specific of its classes."""
    return next(_NUMBER_OF[kind] for kind in type(error).__mro__ if kind in _NUMBER_OF)


def summary(statuses: Sequence[ExitStatus] = EXIT_STATUSES) -> str:
    """All statuses in one sentence."""
    return f"Exit status: {', '.join(f'{each.number} {each.meaning}' for each in statuses)}."
