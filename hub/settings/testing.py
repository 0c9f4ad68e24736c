"""For the suite: everything in a temporary folder, one per process."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

_data = Path(tempfile.mkdtemp(prefix="hpcfair-test-"))
atexit.register(shutil.rmtree, _data, ignore_errors=True)
os.environ["HPCFAIR_DATA"] = str(_data)

from hub.settings.base import *  # noqa: E402, F403
from hub.settings.base import DATABASES  # noqa: E402

SECRET_KEY = "testing-only"  # noqa: S105
ALLOWED_HOSTS = ["*"]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    # Threads of a live server and child processes must see the same database: a file, not memory.
    DATABASES["default"]["TEST"] = {"NAME": str(_data / "test.sqlite3")}
