"""Settings shared by every way of running the hub. Values come through ``env`` alone."""

from datetime import timedelta
from pathlib import Path

import dj_database_url

from hub.settings import env

BASE_DIR = Path(__file__).resolve().parent.parent.parent

# Everything the hub keeps: database, blobs, index, broker's socket, secret key.
DATA_DIR = env.folder("HPCFAIR_DATA", Path.cwd() / ".hpcfair")

# Outside address, used in links, identifiers and documents.
HUB_URL = env.text("HPCFAIR_URL", "http://127.0.0.1:8000").rstrip("/")
HUB_NAME = env.text("HPCFAIR_NAME", "HPCFair")
# Who runs this hub, in metadata; the organisation's https://ror.org/ address where it has one.
PUBLISHER = env.text("HPCFAIR_PUBLISHER", "") or HUB_NAME
PUBLISHER_ROR = env.text("HPCFAIR_PUBLISHER_ROR", "")
PUBLISHER_EMAIL = env.text("HPCFAIR_PUBLISHER_EMAIL", "")
# The number under which identifiers are minted (https://arks.org): 99999 is for tests, and says so.
NAAN = env.text("HPCFAIR_NAAN", "99999")
# DataCite's REST API and an account there; without one no DOI is registered.
DATACITE_URL = env.text("HPCFAIR_DATACITE_URL", "https://api.datacite.org").rstrip("/")
DATACITE_ACCOUNT = env.text("HPCFAIR_DATACITE_ACCOUNT", "")
DATACITE_PASSWORD = env.text("HPCFAIR_DATACITE_PASSWORD", "")
DATACITE_PREFIX = env.text("HPCFAIR_DATACITE_PREFIX", "")

ALLOWED_HOSTS = env.words("HPCFAIR_HOSTS", "localhost,127.0.0.1,[::1]")
CSRF_TRUSTED_ORIGINS = [HUB_URL]

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_htmx",
    "registry",
    "hub",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "hub.content_policy.content_policy",
]

ROOT_URLCONF = "hub.urls"
WSGI_APPLICATION = "hub.wsgi.application"
# The Hugging Face protocol and our API know no trailing slashes.
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
                "hub.pages.context.hub",
            ]
        },
    }
]

DATABASE_URL = env.text("DATABASE_URL", f"sqlite:///{DATA_DIR / 'db.sqlite3'}")
DATABASES = {"default": dj_database_url.parse(DATABASE_URL, conn_max_age=60)}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    # IMMEDIATE takes the write lock at BEGIN: deferred transactions that upgrade later fail with
    # "database is locked" as soon as two writers meet. FULL makes an acknowledgement durable.
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;",
    }

AUTH_USER_MODEL = "registry.User"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "home"

# HF clients only read times that end in Z.
TIME_ZONE = "UTC"
USE_TZ = True
LANGUAGE_CODE = "en-gb"
USE_I18N = True

STATIC_URL = "/static/"
STATIC_ROOT = DATA_DIR / "static"

# The broker carries wake-up notifications; the job queue is in the database.
REDIS_URL = env.text("REDIS_URL", f"redis+socket://{env.socket_path(DATA_DIR)}")

JOB_LEASE_S = env.integer("HPCFAIR_LEASE_SECONDS", 45, low=2, high=3600)
JOB_REAP_EVERY_S = env.integer("HPCFAIR_REAP_SECONDS", 10, low=1, high=600)
# One tune job's search time, so that a newcomer has the best build in a minute and a half; a job
# may ask for up to six times this.
TUNE_BUDGET_S = env.integer("HPCFAIR_TUNE_SECONDS", 40, low=5, high=86_400)
# One search for operator schedules, which follows the first search of a network; 0 for none.
SCHEDULE_S = env.integer("HPCFAIR_SCHEDULE_SECONDS", 300, low=0, high=86_400)
# One study of compiler passes, in the background, for the first few networks of a class; 0: none.
PASSES_S = env.integer("HPCFAIR_PASSES_SECONDS", 300, low=0, high=86_400)
# Looks from outside at how FAIR public records are: when something changes, and after so many days
# again; 0: only when somebody asks for one.
ASSESS_DAYS = env.integer("HPCFAIR_ASSESS_DAYS", 7, low=0, high=3650)
# Of the files of a record, so much is fetched and counted by one look.
ASSESS_BYTES = env.integer("HPCFAIR_ASSESS_MIB", 256, low=0, high=2**20) * 2**20
# Where workers reach the hub, if not where people do (HPCFAIR_URL).
INSIDE_URL = env.text("HPCFAIR_INSIDE_URL", "").rstrip("/")
CHILD_MEMORY_BYTES = env.integer("HPCFAIR_CHILD_MEMORY_MIB", 8192, low=512, high=2**20) * 2**20

# Where bytes are kept: empty for the folder DATA_DIR/blobs, or s3://bucket/prefix.
BLOBS = env.text("HPCFAIR_BLOBS", "")
# Empty key and secret: boto3 looks where it always does (AWS_*, profiles, instance roles).
S3_ENDPOINT = env.text("HPCFAIR_S3_ENDPOINT", "")
S3_REGION = env.text("HPCFAIR_S3_REGION", "us-east-1")
S3_KEY = env.text("HPCFAIR_S3_KEY", "")
S3_SECRET = env.text("HPCFAIR_S3_SECRET", "")
# Whether clients fetch from and send to the bucket themselves; else the hub stands between.
S3_REDIRECT = env.boolean("HPCFAIR_S3_REDIRECT", default=True)
# Local copies of a bucket's blobs, for workers.
BLOB_COPIES_BYTES = env.integer("HPCFAIR_BLOB_COPIES_GIB", 20, low=1, high=2**20) * 2**30

# Garbage collection: how often, and what was used how recently it spares.
GC_EVERY_S = env.integer("HPCFAIR_GC_EVERY_HOURS", 24, low=1, high=8760) * 3600
GC_GRACE = timedelta(hours=env.integer("HPCFAIR_GC_GRACE_HOURS", 24, low=1, high=87_600))
# What a namespace may use unless `manage.py quota` says otherwise; 0: as much as there is.
QUOTA_BYTES = env.integer("HPCFAIR_QUOTA_GIB", 0, low=0, high=2**30) * 2**30 or None
WEBHOOK_EVERY_S = env.integer("HPCFAIR_WEBHOOK_SECONDS", 5, low=1, high=600)
# Whether webhooks may call addresses of this machine and of its network.
WEBHOOK_PRIVATE = env.boolean("HPCFAIR_WEBHOOK_PRIVATE", default=False)

MAX_BLOB_BYTES = env.integer("HPCFAIR_MAX_BLOB_MIB", 51_200, low=1, high=2**24) * 2**20
# Files that come in as parts (Git LFS) come in parts of this length.
PART_BYTES = env.integer("HPCFAIR_PART_MIB", 64, low=5, high=4096) * 2**20
# Bodies that are held in memory: JSON and forms. Files stream and are bound by MAX_BLOB_BYTES.
DATA_UPLOAD_MAX_MEMORY_SIZE = 4 * 2**20

# Where nginx keeps an internal location over DATA_DIR/blobs, such as "/_blobs/": it then sends
# the bytes. Empty: this process does.
ACCEL_PREFIX = env.text("HPCFAIR_ACCEL", "")

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{levelname} {name}: {message}", "style": "{"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {
        # What was refused is told to who asked; a proxy logs requests.
        "django.request": {"level": "ERROR"},
        **{
            name: {"level": env.text("HPCFAIR_LOG_LEVEL", "INFO")}
            for name in ("hub", "registry", "workers")
        },
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
        "IdentifierKindEnum": "registry.states.IdentifierKind",
        "RepositoryKindEnum": "registry.states.RepositoryKind",
        "RefKindEnum": "hub.api.schema.REF_KINDS",
        "JobKindEnum": "registry.states.JobKind",
        "JobStateEnum": "registry.states.JobState",
        "OutcomeEnum": "registry.states.TrialOutcome",
        "ReproductionOutcomeEnum": "registry.states.ReproductionOutcome",
        "ProblemCodeEnum": "hub.api.schema.PROBLEM_CODES",
    },
}
