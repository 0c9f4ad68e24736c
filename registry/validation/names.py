"""Names of namespaces, MLModels, branches and tags."""

import re

from registry.errors import Invalid
from registry.ids import NAME_RE, RESERVED_NAMESPACES

_NAME_HINT = (
    "Use letters, digits, '-', '_' and '.', at most 96; begin with a letter or digit, end with a "
    "letter, digit or '_', without '--' or '..'."
)
# Names that `git check-ref-format` rejects: every branch and tag must be a valid git reference.
_REF_FORBIDDEN = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(?:/|$)")
_LOOKS_LIKE_OID = re.compile(r"[0-9a-fA-F]{7,40}")


def check_name(name: str, *, what: str = "model") -> str:
    """A valid second part of ``namespace/name``. Raises ``Invalid``: ``invalid_name``."""
    is_valid = NAME_RE.fullmatch(name) and "--" not in name and ".." not in name
    if not is_valid or name.lower().endswith(".git"):
        raise Invalid(
            "invalid_name", f"{name[:100]!r} is not a valid name of a {what}.", _NAME_HINT
        )
    return name


def check_namespace(name: str) -> str:
    """A valid first part of ``namespace/name``. Raises ``Invalid``: ``invalid_name``."""
    check_name(name, what="namespace")
    if name.lower() in RESERVED_NAMESPACES:
        raise Invalid(
            "invalid_name", f"{name!r} is an address of the hub itself.", "Choose another name."
        )
    return name


def check_ref(name: str) -> str:
    """``name`` if it may name a branch or tag. Raises ``Invalid``: ``invalid_ref``."""
    bad = (
        not 0 < len(name) <= 200
        or _REF_FORBIDDEN.search(name)
        or not name.isprintable()
        or name.startswith(("-", "/", ".", "refs/"))
        or name.endswith(("/", "."))
        or name in {"@", "HEAD"}
        # It would shadow the revision with that id.
        or _LOOKS_LIKE_OID.fullmatch(name)
    )
    if bad:
        raise Invalid(
            "invalid_ref",
            f"{name[:100]!r} is not a valid name of a branch or tag.",
            "Follow git's rules for reference names, and avoid names that look like a revision "
            "id or begin with 'refs/'.",
        )
    return name
