"""Settings for production: ``manage.py serve`` and containers."""

from hub.settings.base import *  # noqa: F403
from hub.settings.environment import BEHIND_PROXY, DATA_DIR, HUB_URL, SECRET_KEY_GIVEN
from hub.settings.secret import secret_key

DEBUG = False
SECRET_KEY = SECRET_KEY_GIVEN or secret_key(DATA_DIR)

SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HUB_URL.startswith("https://")
if BEHIND_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.ManifestStaticFilesStorage"},
}
