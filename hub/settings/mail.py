"""Environment variables of outgoing mail."""

from hub.settings.env import SettingsSection, host_of
from hub.settings.environment import DATA_DIR, HUB_URL

_mail = SettingsSection("Mail")
EMAIL_HOST = _mail.text(
    "HPCFAIR_MAIL_HOST",
    "",
    about="Mail server (SMTP), by which people receive links for a new password. Without one, "
    "messages are written to the folder `mail` of the data folder, for the operator.",
)
EMAIL_PORT = _mail.integer(
    "HPCFAIR_MAIL_PORT", 587, low=1, high=65_535, about="Its port; 465 for `tls`."
)
_SECURITY = _mail.choice(
    "HPCFAIR_MAIL_SECURITY",
    "starttls",
    among=("starttls", "tls", "none"),
    about="How the connection is encrypted.",
)
EMAIL_USE_TLS, EMAIL_USE_SSL = _SECURITY == "starttls", _SECURITY == "tls"
EMAIL_HOST_USER = _mail.text("HPCFAIR_MAIL_USER", "", about="Account at the mail server, if any.")
EMAIL_HOST_PASSWORD = _mail.text("HPCFAIR_MAIL_PASSWORD", "", about="Its password.")
DEFAULT_FROM_EMAIL = SERVER_EMAIL = _mail.text(
    "HPCFAIR_MAIL_FROM",
    f"noreply@{host_of(HUB_URL)}",
    shown="`noreply` at the host of `HPCFAIR_URL`",
    about="Sender of the messages.",
)
EMAIL_TIMEOUT = 30
EMAIL_FILE_PATH = DATA_DIR / "mail"
EMAIL_BACKEND = (
    "django.core.mail.backends.smtp.EmailBackend" if EMAIL_HOST else "hub.mail.FolderBackend"
)
