"""The exit statuses of ``hpcfair-agent``: the one table behind help and manual pages."""

from hpcfair.commands.exitstatus import ExitStatus

FAILURE, USAGE, REFUSED, NO_ANSWER = 1, 2, 4, 5
#: EX_TEMPFAIL of sysexits.h.
JOBS_LEFT = 75

EXIT_STATUSES = (
    ExitStatus(0, "done"),
    ExitStatus(FAILURE, "another failure", "a full disk, a check that failed"),
    ExitStatus(USAGE, "usage", "an option, a state folder without a device or with another agent"),
    ExitStatus(
        REFUSED,
        "refused by the hub",
        "it does not accept this device, or refuses the request",
    ),
    ExitStatus(NO_ANSWER, "no answer", "the hub is down or cannot be reached"),
    ExitStatus(JOBS_LEFT, "jobs left", "a run of a bundle leaves jobs for the next run"),
)
