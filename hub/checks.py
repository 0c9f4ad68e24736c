"""System checks of the configuration; an error stops the start.

======== ==================================================================
hub.E001 An environment variable holds a value that cannot be read.
hub.E002 The data folder cannot be written.
hub.E003 HPCFAIR_URL, or HPCFAIR_INSIDE_URL, is not an http or https address.
hub.E004 DATABASE_URL names a database the hub does not run on.
hub.E005 REDIS_URL is not a Redis address.
hub.E007 HPCFAIR_ACCEL is not a location of nginx.
hub.E008 HPCFAIR_BLOBS is not a bucket, or boto3 is not installed.
hub.E009 HPCFAIR_NAAN is not a name assigning authority number.
hub.E010 The DataCite account is incomplete or malformed.
hub.W006 HPCFAIR_HOSTS lacks the host of HPCFAIR_URL: the hub would refuse its own links.
hub.W011 HPCFAIR_NAAN is the number for tests (only in ``check --deploy``).
hub.W012 PostgreSQL accepts fewer connections than HPCFAIR_DATABASE_CONNECTIONS (likewise).
hub.W013 There is no mail server, so that nobody can reset a password (likewise).
======== ==================================================================
"""

import os
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error
from django.core.checks import Warning as Caution
from django.db import OperationalError, connection
from django.http.request import validate_host

from hub.settings import env
from registry.fair.ark import TEST_NAAN, is_naan

_ENGINES = {"django.db.backends.sqlite3", "django.db.backends.postgresql"}
#: Prefix of a DOI (DOI Handbook, 2.2.2).
_PREFIX = re.compile(r"10\.[0-9]{4,9}(\.[0-9]+)*")
_BROKERS = {"redis", "rediss", "redis+socket"}


def environment(**_: Any) -> list[CheckMessage]:
    """hub.E001: all environment variables could be read."""
    return [
        Error(f"{name}: {problem}.", hint="Correct or remove the variable.", id="hub.E001")
        for name, problem in sorted(env.problems.items())
    ]


def data_folder(**_: Any) -> list[CheckMessage]:
    """hub.E002: the data folder, or its nearest existing parent, can be written."""
    folder: Path = settings.DATA_DIR
    while not folder.exists():
        folder = folder.parent
    if folder.is_dir() and os.access(folder, os.W_OK | os.X_OK):
        return []
    return [
        Error(
            f"The data folder {settings.DATA_DIR} cannot be written.",
            hint=f"Give this user write permission on {folder}, or set HPCFAIR_DATA.",
            id="hub.E002",
        )
    ]


def addresses(**_: Any) -> list[CheckMessage]:
    """hub.E003 to E007: the addresses of hub, database, broker and nginx location are usable."""
    return list(_addresses())


def _addresses() -> Iterator[CheckMessage]:
    host = _host(settings.HUB_URL)
    if not host:
        yield Error(
            f"HPCFAIR_URL {settings.HUB_URL!r} is not an http or https address.",
            hint="Set the address that people type, such as https://hub.example.org.",
            id="hub.E003",
        )
    elif not validate_host(host, settings.ALLOWED_HOSTS):
        yield Caution(
            f"HPCFAIR_HOSTS lacks {host}, the host of HPCFAIR_URL.",
            hint=f"Add it: HPCFAIR_HOSTS={','.join([*settings.ALLOWED_HOSTS, host])}",
            id="hub.W006",
        )
    if settings.INSIDE_URL and not _host(settings.INSIDE_URL):
        yield Error(
            f"HPCFAIR_INSIDE_URL {settings.INSIDE_URL!r} is not an http or https address.",
            hint="Set the address by which workers reach the web server, such as http://proxy.",
            id="hub.E003",
        )
    engine = settings.DATABASES["default"]["ENGINE"]
    if engine not in _ENGINES:
        yield Error(
            f"DATABASE_URL names {engine}, which the hub does not run on.",
            hint="Use sqlite:///path or postgresql://user:password@host/name.",
            id="hub.E004",
        )
    broker = urlsplit(settings.REDIS_URL).scheme
    if broker not in _BROKERS:
        yield Error(
            f"REDIS_URL begins with {broker!r}.",
            hint="Use redis://host:6379/0, rediss://..., or redis+socket:///path.",
            id="hub.E005",
        )
    accel = settings.ACCEL_PREFIX
    if accel and not (accel.startswith("/") and accel.endswith("/")):
        yield Error(
            f"HPCFAIR_ACCEL {accel!r} is not a location of nginx.",
            hint="Write it with a slash at both ends, as in nginx: /_blobs/.",
            id="hub.E007",
        )


def _host(url: str) -> str:
    parts = urlsplit(url)
    return (parts.hostname or "") if parts.scheme in {"http", "https"} else ""


def identifiers(**_: Any) -> list[CheckMessage]:
    """hub.E009: HPCFAIR_NAAN is a name assigning authority number."""
    if is_naan(settings.NAAN):
        return []
    return [
        Error(
            f"HPCFAIR_NAAN {settings.NAAN!r} is not a name assigning authority number.",
            hint="Set the number assigned to you by https://arks.org; 99999 is for tests.",
            id="hub.E009",
        )
    ]


def authority(**_: Any) -> list[CheckMessage]:
    """hub.W011, at deployment: identifiers are minted under the NAAN for tests."""
    if settings.NAAN != TEST_NAAN:
        return []
    return [
        Caution(
            f"HPCFAIR_NAAN is {TEST_NAAN}, a test authority: no identifier is persistent.",
            hint="Request a number at https://arks.org, and set it before you publish.",
            id="hub.W011",
        )
    ]


def connections(**_: Any) -> list[CheckMessage]:
    """hub.W012, at deployment: the database accepts the connections of all processes."""
    if connection.vendor != "postgresql":
        return []
    try:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT current_setting('max_connections')::int"
                " - current_setting('superuser_reserved_connections')::int"
            )
            (accepted,) = cursor.fetchone()
    except OperationalError as error:
        hint = "Start PostgreSQL, or correct DATABASE_URL."
        return [Caution(f"PostgreSQL cannot be reached: {error}", hint=hint, id="hub.W012")]
    if accepted >= settings.DATABASE_CONNECTIONS:
        return []
    return [
        Caution(
            f"PostgreSQL accepts {accepted} connections, and the hub opens up to "
            f"{settings.DATABASE_CONNECTIONS} (HPCFAIR_DATABASE_CONNECTIONS).",
            hint="Raise max_connections in postgresql.conf, or run fewer web threads and workers.",
            id="hub.W012",
        )
    ]


def mail(**_: Any) -> list[CheckMessage]:
    """hub.W013, at deployment: links for new passwords reach those who forgot theirs."""
    if settings.EMAIL_HOST:
        return []
    return [
        Caution(
            "HPCFAIR_MAIL_HOST is empty: who forgets a password needs the operator.",
            hint="Name a mail server, or print links by: manage.py user NAME --reset",
            id="hub.W013",
        )
    ]


def datacite(**_: Any) -> list[CheckMessage]:
    """hub.E010: no part of the DataCite account is set, or all parts are valid."""
    values = {
        "HPCFAIR_DATACITE_ACCOUNT": settings.DATACITE_ACCOUNT,
        "HPCFAIR_DATACITE_PASSWORD": settings.DATACITE_PASSWORD,
        "HPCFAIR_DATACITE_PREFIX": settings.DATACITE_PREFIX,
    }
    if not any(values.values()):
        return []
    faults = [f"{name} is empty" for name, value in values.items() if not value]
    if settings.DATACITE_PREFIX and not _PREFIX.fullmatch(settings.DATACITE_PREFIX):
        faults.append(f"HPCFAIR_DATACITE_PREFIX {settings.DATACITE_PREFIX!r} is not a DOI prefix")
    if not _host(settings.DATACITE_URL):
        faults.append(f"HPCFAIR_DATACITE_URL {settings.DATACITE_URL!r} is not an address")
    hint = "Set account, password and prefix, such as 10.82433; or none of them: no DOIs."
    return [Error(f"{fault}.", hint=hint, id="hub.E010") for fault in faults]


def blobs(**_: Any) -> list[CheckMessage]:
    """hub.E008: the blob store is a folder, or a bucket and boto3 is installed."""
    if not settings.BLOBS:
        return []
    bucket = urlsplit(settings.BLOBS)
    if bucket.scheme != "s3" or not bucket.netloc or bucket.query or bucket.fragment:
        return [
            Error(
                f"HPCFAIR_BLOBS {settings.BLOBS!r} is not a bucket.",
                hint="Write s3://bucket/prefix, or remove it to keep blobs in a folder.",
                id="hub.E008",
            )
        ]
    if find_spec("boto3") is None:
        return [
            Error(
                "HPCFAIR_BLOBS names a bucket, and boto3 is not installed.",
                hint="Run: pip install 'hpcfair-hub[s3]'",
                id="hub.E008",
            )
        ]
    return []


#: Registered by ``hub/apps.py``.
CHECKS = (environment, data_folder, addresses, identifiers, datacite, blobs)
