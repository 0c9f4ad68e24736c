"""The limits, and the requests that each applies to.

Reading files and single records is not limited: a job on a thousand nodes reads them a million
times. What is limited costs the hub much more than the request costs its sender.
"""

import re
from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_WINDOW_S = 300
_HOUR_S = 3600


@dataclass(frozen=True, slots=True)
class Limit:
    """A number of requests per time.

    Attributes:
        name: In header fields; clients of the Hugging Face Hub accept ASCII letters only.
        about: What is limited, in the plural.
        window_s: Length of the time in seconds.
        setting: Name of the setting with the quota of an address.
        account_setting: Name of that with the quota of an account; "" where accounts are not
            told apart, because the request is made before one exists.
    """

    name: str
    about: str
    window_s: int
    setting: str
    account_setting: str = ""

    def quota(self, *, has_account: bool) -> int:
        """Requests per window; 0: unlimited."""
        name = self.account_setting if has_account and self.account_setting else self.setting
        return int(getattr(settings, name))


# Cheap refusals only: registry.services.people.signin counts wrong passwords.
SIGN_IN = Limit("signin", "attempts to sign in", _WINDOW_S, "LIMIT_SIGNINS")
SIGN_UP = Limit("signup", "new accounts", _HOUR_S, "LIMIT_SIGNUPS")
RESET = Limit("reset", "requests for a new password", _HOUR_S, "LIMIT_RESETS")
DEVICE = Limit("device", "sign-ins of programs", _HOUR_S, "LIMIT_DEVICES")
SEARCH = Limit(
    "search",
    "searches, lists and comparisons",
    _WINDOW_S,
    "LIMIT_SEARCHES",
    "LIMIT_SEARCHES_ACCOUNT",
)
ARCHIVE = Limit(
    "archive", "archives and git fetches", _WINDOW_S, "LIMIT_ARCHIVES", "LIMIT_ARCHIVES_ACCOUNT"
)
VALIDATION = Limit(
    "validate", "validations of cards", _WINDOW_S, "LIMIT_ARCHIVES", "LIMIT_ARCHIVES_ACCOUNT"
)
UPLOAD = Limit("upload", "uploaded files", _WINDOW_S, "LIMIT_WRITES", "LIMIT_UPLOADS_ACCOUNT")
WRITE = Limit("write", "changes", _WINDOW_S, "LIMIT_WRITES", "LIMIT_WRITES_ACCOUNT")

_REPOSITORY = r"/(?:datasets/)?[^/]+/[^/]+"
_API = r"/api/(?:v1/)?(?:models|datasets)"
# A signature in the address, or a ticket, proves that a limited request permitted it; the services
# have limits of their own for the steps of signing in.
# Devices are registered by operators, and many of them may share one address.
_FREE = re.compile(
    r"/xet/.*|/api/lfs/.*|/oauth/token|/v1/telemetry|/logout"
    r"|/api/v1/agent/(?:hello|check|leave|claim|heartbeat|jobs/.*)"
)
_POSTS: list[tuple[re.Pattern[str], Limit]] = [
    (re.compile(r"/login|/settings/password"), SIGN_IN),
    (re.compile(r"/login/reset"), RESET),
    (re.compile(r"/signup"), SIGN_UP),
    (re.compile(r"/oauth/device"), DEVICE),
    (re.compile(rf"{_REPOSITORY}(?:\.git)?/git-upload-pack"), ARCHIVE),
    (re.compile(r"/api/v1/blobs/[0-9a-f]{64}"), UPLOAD),
    (re.compile(r"/api/validate-yaml"), VALIDATION),
    # Questions that are too long for an address.
    (
        re.compile(
            rf"/oai|/api/v1/blobs/missing|{_API}/[^/]+/[^/]+/"
            r"(?:paths-info/.*|equal-ranges|resolve)"
        ),
        SEARCH,
    ),
]
_READS: list[tuple[re.Pattern[str], Limit]] = [
    (re.compile(rf"{_REPOSITORY}/crate|/catalog/records\.jsonl\.gz"), ARCHIVE),
    (
        re.compile(
            r"/models|/datasets|/oai|/catalog|/sitemap\.xml|/feeds/.*|/fair|/records|/jobs|/fleet"
            r"|/api/quicksearch|/api/(?:models|datasets)(?:-tags-by-type)?"
            r"|/api/v1/(?:models|records|jobs|fair)"
        ),
        SEARCH,
    ),
    (
        re.compile(
            rf"{_REPOSITORY}/(?:commit/[^/]+|history|lineage|discussions/[0-9]+/changes"
            r"|metadata/[^/]+|measurements/[^/]+|linkset|feed)"
            rf"|{_API}/[^/]+/[^/]+/(?:commits(?:/.*)?|findings|equal-ranges|discussions/[0-9]+)"
        ),
        SEARCH,
    ),
]


def limit_of(request: HttpRequest) -> Limit | None:
    """The limit of a request; ``None`` if it has none."""
    path = request.path
    if _FREE.fullmatch(path):
        return None
    is_read = request.method in _SAFE
    rules = _READS if is_read else _POSTS
    return next(
        (limit for pattern, limit in rules if pattern.fullmatch(path)), None if is_read else WRITE
    )
