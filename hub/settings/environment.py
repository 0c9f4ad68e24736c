"""Operators' values, set by environment variables; ``storage``, ``limits``, ``mail`` have more.

docs/settings.md is generated from these modules: ``make docs-settings``.
"""

from pathlib import Path

from hub.settings.address import served_address
from hub.settings.env import LOOPBACK, SettingsSection, host_of, socket_path

_services = SettingsSection("Data, database and broker")
DATA_DIR = _services.folder(
    "HPCFAIR_DATA",
    Path.cwd() / ".hpcfair",
    shown=".hpcfair in the working directory",
    about="Folder of everything the hub keeps: database, blobs, search index, secret key.",
)
INDEX_DIR = _services.text(
    "HPCFAIR_INDEX",
    "",
    shown="`index` in the data folder",
    about="Folder of the search index, a cache. Where hosts share the data folder, give each a "
    "folder on its own disk: `/readyz` answers 503 until it is filled.",
)
DATABASE_URL = _services.text(
    "DATABASE_URL",
    f"sqlite:///{DATA_DIR / 'db.sqlite3'}",
    shown="SQLite in the data folder",
    about="Database, such as `postgresql://user:password@host:5432/name`.",
)
STATEMENT_S = _services.integer(
    "HPCFAIR_STATEMENT_SECONDS",
    20,
    low=1,
    high=3600,
    about="Seconds after which PostgreSQL ends a query of a web request; the answer is 503. "
    "Workers, commands and migrations have no limit.",
)
DATABASE_CONNECTIONS = _services.integer(
    "HPCFAIR_DATABASE_CONNECTIONS",
    60,
    low=1,
    high=100_000,
    about="Connections that all processes of the hub open together at most: one for each thread of "
    "the web servers, four for each worker. `manage.py check --deploy` compares it with "
    "PostgreSQL's `max_connections`.",
)
REDIS_URL = _services.text(
    "REDIS_URL",
    f"redis+socket://{socket_path(DATA_DIR)}",
    shown="a socket in the data folder",
    about="Broker (Valkey or Redis) of the wake-up notifications. The jobs are in the database.",
)
SECRET_KEY_GIVEN = _services.text(
    "HPCFAIR_SECRET_KEY",
    "",
    shown="made once, in `secret.key` of the data folder",
    about="Key that signs sessions and page cursors: a long random text, the same for all web "
    "processes.",
)
SIGNING_KEY_GIVEN = _services.text(
    "HPCFAIR_SIGNING_KEY",
    "",
    shown="made once, in `signing.key` of the data folder",
    about="Private key that signs builds and records: ECDSA on P-256, in PEM, unencrypted; the "
    "same for all processes. See [trust.md](trust.md).",
)
LOG_LEVEL = _services.text(
    "HPCFAIR_LOG_LEVEL", "INFO", about="Level of the hub's log: `DEBUG`, `INFO`, `WARNING` ..."
)

_web = SettingsSection("Addresses and proxy")
HUB_URL = _web.text(
    "HPCFAIR_URL",
    served_address(DATA_DIR),
    shown="that of the last `manage.py serve`, kept in `address` of the data folder; before the "
    "first one http://127.0.0.1:8000",
    about="Outside address of the hub, in links, identifiers and metadata. With `https`, cookies "
    "are sent over HTTPS only.",
).rstrip("/")
ALLOWED_HOSTS = _web.words(
    "HPCFAIR_HOSTS",
    ",".join(dict.fromkeys((*LOOPBACK, host_of(HUB_URL)))),
    shown="localhost,127.0.0.1,[::1] and the host of `HPCFAIR_URL`",
    about="Host names that requests may be addressed to.",
)
INSIDE_URL = _web.text(
    "HPCFAIR_INSIDE_URL",
    "",
    shown="`HPCFAIR_URL`",
    about="Address at which workers reach the hub, if it differs.",
).rstrip("/")
BEHIND_PROXY = _web.boolean(
    "HPCFAIR_BEHIND_PROXY",
    default=False,
    about="Whether a proxy before the hub's own, such as one that ends TLS, sets "
    "`X-Forwarded-Proto` and `X-Forwarded-For`. Turn it on only if that proxy overwrites the "
    "former, and adds the client's address at the end of the latter.",
)
ACCEL_PREFIX = _web.text(
    "HPCFAIR_ACCEL",
    "",
    about="nginx's internal location of the folder `blobs` in the data folder, such as `/_blobs/`: "
    "nginx then sends the files. If empty, the hub sends them. `manage.py serve` sets it.",
)
STATIC_DIR = _web.folder(
    "HPCFAIR_STATIC",
    DATA_DIR / "static",
    shown="`static` in the data folder",
    about="Folder of collected static files; containers have them in their image.",
)
METRICS_TOKEN = _web.text(
    "HPCFAIR_METRICS_TOKEN",
    "",
    about="Token with which Prometheus reads `/metrics`: a long random text. If empty, the hub "
    "reports no metrics. See [monitoring](howto/monitor.md).",
)

_publisher = SettingsSection("Name, identifiers and DOIs")
HUB_NAME = _publisher.text("HPCFAIR_NAME", "HPCFair", about="Name of the hub on its pages.")
PUBLISHER = (
    _publisher.text(
        "HPCFAIR_PUBLISHER",
        "",
        shown="`HPCFAIR_NAME`",
        about="Organisation that runs the hub, in metadata.",
    )
    or HUB_NAME
)
PUBLISHER_ROR = _publisher.text(
    "HPCFAIR_PUBLISHER_ROR", "", about="Its address at https://ror.org, if it has one."
)
PUBLISHER_EMAIL = _publisher.text(
    "HPCFAIR_PUBLISHER_EMAIL",
    "",
    shown="`postmaster` at the host",
    about="Contact address for harvesters (OAI-PMH).",
)
NAAN = _publisher.text(
    "HPCFAIR_NAAN",
    "99999",
    about="Name assigning authority number of ARK identifiers (https://arks.org). 99999 "
    "is reserved for tests.",
)
DATACITE_URL = _publisher.text(
    "HPCFAIR_DATACITE_URL", "https://api.datacite.org", about="DataCite's REST API."
).rstrip("/")
DATACITE_ACCOUNT = _publisher.text(
    "HPCFAIR_DATACITE_ACCOUNT",
    "",
    about="Account of a DataCite repository; without one, no DOIs.",
)
DATACITE_PASSWORD = _publisher.text("HPCFAIR_DATACITE_PASSWORD", "", about="Its password.")
DATACITE_PREFIX = _publisher.text("HPCFAIR_DATACITE_PREFIX", "", about="Prefix of its DOIs.")

_work = SettingsSection("Jobs and workers")
JOB_LEASE_S = _work.integer(
    "HPCFAIR_LEASE_SECONDS",
    45,
    low=2,
    high=3600,
    about="Seconds after which a job of a worker that does not report is given to another one.",
)
ACCOUNT_SHARE = (
    _work.integer(
        "HPCFAIR_ACCOUNT_PERCENT",
        100,
        low=1,
        high=100,
        about="Percent of a target's devices that jobs of one account may hold at a time, at least "
        "one device; 100: no limit. The other devices stay free for other accounts.",
    )
    / 100
)
JOB_REAP_EVERY_S = _work.integer(
    "HPCFAIR_REAP_SECONDS",
    10,
    low=1,
    high=600,
    about="Seconds between two searches for such jobs.",
)
ASSESS_DAYS = _work.integer(
    "HPCFAIR_ASSESS_DAYS",
    7,
    low=0,
    high=3650,
    about="Days between two FAIR assessments of a public record that did not change; 0: only on "
    "request.",
)
ASSESS_BYTES = (
    _work.integer(
        "HPCFAIR_ASSESS_MIB",
        256,
        low=0,
        high=2**20,
        about="MiB of a record's files that one FAIR assessment downloads.",
    )
    * 2**20
)
CHILD_MEMORY_BYTES = (
    _work.integer(
        "HPCFAIR_CHILD_MEMORY_MIB",
        8192,
        low=512,
        high=2**20,
        about="Memory limit of a worker's child process, in MiB.",
    )
    * 2**20
)
ISOLATION = _work.choice(
    "HPCFAIR_ISOLATION",
    "rlimits",
    among=("rlimits", "seccomp", "landlock", "landlock+seccomp"),
    about="Least confinement of child processes with which a worker starts; `docs/sandbox.md` "
    "compares the levels.",
)
INSPECT_SLOTS = _work.integer(
    "HPCFAIR_INSPECT_SLOTS",
    0,
    low=0,
    high=64,
    about="Inspections that a machine runs at a time; 0: one per processor while each has the "
    "memory of `HPCFAIR_CHILD_MEMORY_MIB`.",
)
IMPORT_SERVERS = _work.words(
    "HPCFAIR_IMPORT_SERVERS",
    "https://huggingface.co",
    shown="https://huggingface.co",
    about="Addresses of the servers of the Hugging Face Hub's protocol, such as other hubs, from "
    "which users import models on the page or by API; empty: none. A server that is listed may "
    "have an address of a private network, and may have one without TLS.",
)
IMPORT_BYTES = (
    _work.integer(
        "HPCFAIR_IMPORT_MIB",
        102_400,
        low=1,
        high=2**24,
        about="Largest import of a worker, in MiB.",
    )
    * 2**20
)
WEBHOOK_EVERY_S = _work.integer(
    "HPCFAIR_WEBHOOK_SECONDS",
    5,
    low=1,
    high=600,
    about="Seconds between two searches for webhook deliveries that are due.",
)
WEBHOOK_PRIVATE = _work.boolean(
    "HPCFAIR_WEBHOOK_PRIVATE",
    default=False,
    about="Whether webhooks may call addresses of this machine and of private networks.",
)
