"""Settings shared by all ways of running the hub; operators' values are in ``environment``."""

from pathlib import Path

import dj_database_url

from hub.settings.analyses import *  # noqa: F403
from hub.settings.environment import *  # noqa: F403
from hub.settings.environment import DATABASE_URL, HUB_URL, LOG_LEVEL, STATIC_DIR
from hub.settings.limits import *  # noqa: F403
from hub.settings.mail import *  # noqa: F403
from hub.settings.searches import *  # noqa: F403
from hub.settings.storage import *  # noqa: F403

BASE_DIR = Path(__file__).resolve().parent.parent.parent

CSRF_TRUSTED_ORIGINS = [HUB_URL]

INSTALLED_APPS = [
    "django.contrib.admin.apps.SimpleAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_htmx",
    "registry",
    "hub",
]

MIDDLEWARE = [
    "hub.middleware.request_ids",
    "hub.middleware.bodiless_head",
    "hub.middleware.cross_origin",
    "hub.sharing.share_for_a_moment",
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "hub.headers.content_policy",
    "hub.throttling.middleware.throttle",
]

#: Seconds for which people who are not signed in share a page; 0 makes it for each.
SHARED_PAGES_S = 1.0

ROOT_URLCONF = "hub.urls"
WSGI_APPLICATION = "hub.wsgi.application"
# The addresses of the Hugging Face protocol and of the API have no trailing slashes.
APPEND_SLASH = False

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "hub.pages.views.hub_context",
            ]
        },
    }
]

# One connection for each thread, kept for a minute and checked before it is used again.
DATABASES = {
    "default": dj_database_url.parse(DATABASE_URL, conn_max_age=60, conn_health_checks=True)
}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    # IMMEDIATE takes the write lock at BEGIN: deferred transactions that upgrade later fail with
    # "database is locked" as soon as two writers meet. FULL makes an acknowledgement durable.
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;",
    }
elif DATABASES["default"]["ENGINE"] == "django.db.backends.postgresql":
    # Compiling a query takes longer than the short queries of the hub do.
    _options = DATABASES["default"].setdefault("OPTIONS", {})
    _options["options"] = f"{_options.get('options', '')} -c jit=off".strip()

AUTH_USER_MODEL = "registry.User"
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator",
        # Its default lists columns that this hub leaves empty.
        "OPTIONS": {"user_attributes": ("username", "full_name", "email")},
    },
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
# Seconds for which the link in a message is valid.
PASSWORD_RESET_TIMEOUT = 3600
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "home"

# Hugging Face clients parse only times that end in "Z".
TIME_ZONE = "UTC"
USE_TZ = True
LANGUAGE_CODE = "en-gb"
USE_I18N = True

# Built by `make docs`.
MANUAL_DIR = BASE_DIR / "hub" / "manual"

STATIC_URL = "/static/"
STATIC_ROOT = STATIC_DIR

# Limit of JSON and forms, which are held in memory; files stream and have MAX_BLOB_BYTES.
DATA_UPLOAD_MAX_MEMORY_SIZE = 4 * 2**20

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"one_line": {"()": "hub.logs.OneLine"}},
    "formatters": {"line": {"format": "{levelname} {name}: {message}", "style": "{"}},
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "formatter": "line",
            "filters": ["one_line"],
        }
    },
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {
        # Clients get the reasons of refusals; a proxy logs requests.
        "django.request": {"level": "ERROR"},
        **{name: {"level": LOG_LEVEL} for name in ("hub", "registry", "workers")},
    },
}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "hub.api.auth.BearerAuthentication",
        "hub.api.auth.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["hub.api.parsers.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "hub.api.schema.Schema",
    "EXCEPTION_HANDLER": "hub.api.errors.handle",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "HPCFair hub API",
    "DESCRIPTION": "Publish, search, tune, measure and load models.",
    "VERSION": "1.0.0",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "COMPONENT_SPLIT_REQUEST": True,
    "DEFAULT_GENERATOR_CLASS": "hub.api.schema.Generator",
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "ENUM_NAME_OVERRIDES": {
        "AccessEnum": "registry.states.Scope",  # also roles, which have the same values
        "NamespaceKindEnum": "registry.states.NamespaceKind",
        "VisibilityEnum": "registry.states.Visibility",
        "IdentifierKindEnum": "registry.states.IdentifierKind",
        "RepositoryKindEnum": "registry.states.RepositoryKind",
        "RefKindEnum": "hub.api.schema.REF_KINDS",
        "JobKindEnum": "registry.states.JobKind",
        "JobStateEnum": "registry.states.JobState",
        "DeviceStateEnum": "registry.states.DeviceState",
        "BundleStateEnum": "registry.states.BundleState",
        "OutcomeEnum": "registry.states.TrialOutcome",
        "ReproductionOutcomeEnum": "registry.states.ReproductionOutcome",
        "ProblemCodeEnum": "hub.api.schema.PROBLEM_CODES",
    },
}
