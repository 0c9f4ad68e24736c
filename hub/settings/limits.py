"""Environment variables of the limits on requests and of the quotas of namespaces."""

from datetime import timedelta

from hub.settings.env import SettingsSection

_limits = SettingsSection("Limits on requests")
THROTTLE = _limits.boolean(
    "HPCFAIR_THROTTLE",
    default=True,
    about="Whether requests that cost the hub much are limited; see docs/limits.md.",
)


def _quota(name: str, default: int, about: str) -> int:
    return _limits.integer(name, default, low=0, high=10**9, about=f"{about}; 0: unlimited.")


LIMIT_SEARCHES = _quota(
    "HPCFAIR_LIMIT_SEARCHES",
    600,
    "Searches, lists and comparisons in 5 minutes from one address (IPv6: one /64) without an "
    "account",
)
LIMIT_SEARCHES_ACCOUNT = _quota(
    "HPCFAIR_LIMIT_SEARCHES_ACCOUNT",
    12_000,
    "The same of one account, from any number of addresses",
)
LIMIT_ARCHIVES = _quota(
    "HPCFAIR_LIMIT_ARCHIVES",
    120,
    "Crates, record dumps and git fetches, and as many validations of cards, in 5 minutes from one "
    "address without an account",
)
LIMIT_ARCHIVES_ACCOUNT = _quota("HPCFAIR_LIMIT_ARCHIVES_ACCOUNT", 6000, "The same of one account")
ARCHIVES_AT_ONCE = _quota(
    "HPCFAIR_ARCHIVES_AT_ONCE",
    4,
    "Crates, record dumps and git fetches that one address without an account receives at a time "
    "from one web process",
)
LIMIT_WRITES = _quota(
    "HPCFAIR_LIMIT_WRITES",
    600,
    "Other requests than GET and HEAD in 5 minutes from one address without an account",
)
LIMIT_WRITES_ACCOUNT = _quota(
    "HPCFAIR_LIMIT_WRITES_ACCOUNT", 12_000, "The same of one account, without uploads"
)
LIMIT_UPLOADS_ACCOUNT = _quota(
    "HPCFAIR_LIMIT_UPLOADS_ACCOUNT",
    60_000,
    "Files that one account uploads in 5 minutes, each by a request of its own",
)
LIMIT_SIGNINS = _quota(
    "HPCFAIR_LIMIT_SIGNINS", 600, "Attempts to sign in by password in 5 minutes from one address"
)
LIMIT_SIGNUPS = _quota("HPCFAIR_LIMIT_SIGNUPS", 60, "Accounts created in an hour from one address")
LIMIT_RESETS = _quota(
    "HPCFAIR_LIMIT_RESETS", 30, "Links for a new password requested in an hour from one address"
)
LIMIT_DEVICES = _quota(
    "HPCFAIR_LIMIT_DEVICES",
    600,
    "Sign-ins of programs (`hf auth login`) begun in an hour from one address",
)

_quotas = SettingsSection("Quotas of namespaces")


def _default(name: str, default: int, about: str) -> int | None:
    about = f"{about}, unless `manage.py quota` sets another limit; 0: unlimited."
    return _quotas.integer(name, default, low=0, high=10**9, about=about) or None


QUOTA_MODELS = _default("HPCFAIR_QUOTA_MODELS", 1000, "Models and data sets of a namespace")
QUOTA_JOBS = _default(
    "HPCFAIR_QUOTA_JOBS", 1000, "Searches requested for a namespace that wait or run"
)
QUOTA_UPLOADS = _default(
    "HPCFAIR_QUOTA_UPLOADS", 2000, "Uploads in parts that a person has begun and not completed"
)
QUOTA_RUN_MIB = _default(
    "HPCFAIR_QUOTA_RUN_MIB", 1024, "MiB of inputs and outputs of a person's runs on devices"
)
QUOTA_RUN_SECONDS = _default(
    "HPCFAIR_QUOTA_RUN_SECONDS", 3600, "Seconds that a person's runs may take on devices in a day"
)

_runs = SettingsSection("Runs on devices")
RUN_S = _runs.integer(
    "HPCFAIR_RUN_SECONDS",
    120,
    low=5,
    high=3600,
    about="Seconds that one run with a person's inputs may take on a device.",
)
RUN_BYTES = (
    _runs.integer(
        "HPCFAIR_RUN_MIB",
        256,
        low=1,
        high=256,
        about="MiB of the inputs of one run, and of its outputs.",
    )
    * 2**20
)
RUN_KEEP = timedelta(
    days=_runs.integer(
        "HPCFAIR_RUN_KEEP_DAYS",
        7,
        low=1,
        high=3650,
        about="Days after which a run, its inputs and its outputs are deleted.",
    )
)
