"""A real hub: embedded by ``manage.py serve``, or under compose, by the same code."""

from hub.settings import env
from hub.settings.base import *  # noqa: F403
from hub.settings.base import DATA_DIR, HUB_URL
from hub.settings.secret import secret_key

DEBUG = False
SECRET_KEY = secret_key(DATA_DIR)

SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HUB_URL.startswith("https://")
if env.boolean("HPCFAIR_BEHIND_PROXY", default=False):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
