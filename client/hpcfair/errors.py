"""Everything that can go wrong, as one tree.

::

    HpcfairError
    ├── HubError                  the hub refused; carries its code, detail, hint, fields, status
    │   ├── Unauthenticated       (PermissionError)
    │   ├── Forbidden             (PermissionError)
    │   ├── NotFound              (FileNotFoundError)   ModelNotFound, RevisionNotFound, Withdrawn
    │   ├── Conflict              (FileExistsError)     StaleParent, NothingToCommit, ...
    │   ├── Invalid               (ValueError)          LicenseMissing, InvalidModelFile, ...
    │   ├── TooLarge              (ValueError)
    │   ├── Unavailable           (ConnectionError)
    │   └── JobFailed             (RuntimeError)
    ├── HubUnreachable            (ConnectionError)     no answer, or none that makes sense
    │   └── Offline               (ConnectionError)     asked not to ask
    ├── Corrupt                   (OSError)             bytes differ from their digest
    ├── UnsafePath                (ValueError)          a name that would leave its folder
    ├── BadConfig                 (ValueError)
    ├── BadInput                  (ValueError)          arrays that do not fit the signature
    ├── NotSupported              (TypeError)           nothing here can take this object
    ├── MissingPackage            (ImportError)
    ├── RuntimeFailed             (RuntimeError)        a runtime could not open or run a build
    ├── BadCard                   (ValueError)
    └── NoModelFile               (FileNotFoundError)

The class follows from the hub's code alone, never from a text or an address. A code this client
does not know (the hub is newer) falls back to the class of its HTTP status.
"""


class HpcfairError(Exception):
    """Base of all errors of this package.

    Attributes:
        detail: One sentence saying what is wrong.
        hint: One sentence saying what to do.
        code: The hub's stable code, or a code of this client's own.
    """

    code = "client_error"

    def __init__(self, detail: str, hint: str = "", *, code: str = "") -> None:
        super().__init__(detail)
        self.detail = detail
        self.hint = hint
        if code:
            self.code = code

    def __str__(self) -> str:
        return f"{self.detail} {self.hint}".strip() + f" [{self.code}]"


class HubError(HpcfairError):
    """The hub understood and refused.

    Attributes:
        status: HTTP status; 0 where the refusal was read out of a job.
        fields: Field or path to what is wrong with it.
        request_id: Names the request in the hub's log.
    """

    def __init__(
        self,
        detail: str,
        hint: str = "",
        *,
        code: str = "",
        status: int = 0,
        fields: dict[str, str] | None = None,
        request_id: str = "",
    ) -> None:
        super().__init__(detail, hint, code=code)
        self.status = status
        self.fields = fields or {}
        self.request_id = request_id

    def __str__(self) -> str:
        lines = [super().__str__()]
        lines += [f"  {field}: {problem}" for field, problem in self.fields.items()]
        return "\n".join(lines)


class Unauthenticated(HubError, PermissionError):
    """Sign in first: ``hpcfair login``, or set ``HPCFAIR_TOKEN``."""


class Forbidden(HubError, PermissionError):
    """You are known, and may not."""


class NotFound(HubError, FileNotFoundError):
    """It does not exist, or you may not know that it does."""


class ModelNotFound(NotFound):
    """No such model, or a private one of somebody else."""


class RevisionNotFound(NotFound):
    """No branch, tag or commit of that name."""


class Withdrawn(NotFound):
    """It was here, and was withdrawn; its record, with the reason, stays."""


class Conflict(HubError, FileExistsError):
    """Something else is, or happened, in the way."""


class StaleParent(Conflict):
    """Somebody committed to the branch since you looked."""


class NothingToCommit(Conflict):
    """The branch already holds exactly this."""


class Invalid(HubError, ValueError):
    """The request is wrong; asking again will not help."""


class LicenseMissing(Invalid):
    """The card names no license, so nobody would know what they may do."""


class InvalidModelFile(Invalid):
    """The hub inspected the model's files and cannot use them."""


class TooLarge(HubError, ValueError):
    """More bytes than this hub takes."""


class Unavailable(HubError, ConnectionError):
    """The hub cannot do this now; asking again later may help."""


class JobFailed(HubError, RuntimeError):
    """A job on the hub ended without a result."""


class HubUnreachable(HpcfairError, ConnectionError):
    """No answer came, or none that this client understands."""

    code = "hub_unreachable"


class Offline(HubUnreachable):
    """``HPCFAIR_OFFLINE`` is set and the cache does not hold the answer."""

    code = "offline"


class Corrupt(HpcfairError, OSError):
    """Bytes differ from the digest that names them."""

    code = "corrupt"


class UnsafePath(HpcfairError, ValueError):
    """A name that would leave the folder it is meant for, or hide in it."""

    code = "unsafe_path"


class BadConfig(HpcfairError, ValueError):
    """An environment variable or the configuration file holds nonsense."""

    code = "bad_config"


class BadInput(HpcfairError, ValueError):
    """Arrays that do not fit the model's signature, or an argument outside its range."""

    code = "bad_input"


class NotSupported(HpcfairError, TypeError):
    """No exporter takes this object."""

    code = "not_supported"


class MissingPackage(HpcfairError, ImportError):
    """An optional package is needed; the hint names it."""

    code = "missing_package"


class RuntimeFailed(HpcfairError, RuntimeError):
    """A runtime could not open a build, or broke while running it."""

    code = "runtime_failed"


class BadCard(HpcfairError, ValueError):
    """The front matter of README.md cannot be read."""

    code = "bad_card"


class NoModelFile(HpcfairError, FileNotFoundError):
    """There is no ONNX file where one is needed."""

    code = "no_model_file"


#: Every code of the hub, with the class raised for it; the hub's own list is the same.
CODES: dict[str, type[HubError]] = {
    **dict.fromkeys(
        ("not_authenticated", "token_invalid", "token_expired", "token_revoked"), Unauthenticated
    ),
    **dict.fromkeys(
        ("permission_denied", "scope_missing", "access_gated", "quota_exceeded"), Forbidden
    ),
    "model_not_found": ModelNotFound,
    "revision_not_found": RevisionNotFound,
    **dict.fromkeys(
        (
            "namespace_not_found",
            "file_not_found",
            "blob_not_found",
            "upload_not_found",
            "graph_not_found",
            "target_not_found",
            "device_not_found",
            "job_not_found",
            "trial_not_found",
            "build_not_found",
            "profile_not_found",
            "record_not_found",
            "token_not_found",
            "grant_not_found",
            "user_not_found",
            "identifier_not_found",
            "assessment_not_found",
            "page_not_found",
            "dataset_not_found",
            "discussion_not_found",
            "comment_not_found",
            "request_not_found",
            "webhook_not_found",
            "delivery_not_found",
            "xorb_not_found",
        ),
        NotFound,
    ),
    "stale_parent": StaleParent,
    "nothing_to_commit": NothingToCommit,
    **dict.fromkeys(
        (
            "namespace_taken",
            "model_exists",
            "ref_exists",
            "lease_lost",
            "already_ended",
            "record_exists",
            "doi_exists",
            "last_admin",
            "dataset_exists",
            "request_handled",
            "discussion_closed",
            "merge_conflict",
            "webhook_limit",
        ),
        Conflict,
    ),
    "license_missing": LicenseMissing,
    **dict.fromkeys(
        (
            "invalid_request",
            "invalid_name",
            "invalid_path",
            "duplicate_path",
            "case_collision",
            "blob_missing",
            "digest_mismatch",
            "size_mismatch",
            "invalid_card",
            "license_unknown",
            "invalid_query",
            "invalid_signature",
            "invalid_ref",
            "doi_incomplete",
            "doi_not_offered",
            "invalid_record",
            "invalid_cursor",
            "invalid_target",
            "method_not_allowed",
            "unsupported_media_type",
            "not_acceptable",
            "invalid_xorb",
            "invalid_shard",
            "invalid_url",
        ),
        Invalid,
    ),
    **dict.fromkeys(
        (
            "no_model_file",
            "onnx_unreadable",
            "onnx_truncated",
            "onnx_invalid",
            "tflite_invalid",
            "external_data_escapes",
            "external_data_missing",
            "operator_unsupported",
            "samples_unreadable",
        ),
        InvalidModelFile,
    ),
    **dict.fromkeys(
        (
            "job_timeout",
            "job_crashed",
            "job_out_of_memory",
            "job_interrupted",
            "no_backend",
            "doi_refused",
        ),
        JobFailed,
    ),
    "body_too_large": TooLarge,
    **dict.fromkeys(
        (
            "rate_limited",
            "storage_full",
            "storage_unavailable",
            "index_busy",
            "doi_unavailable",
            "internal_error",
        ),
        Unavailable,
    ),
}

_BY_STATUS: dict[int, type[HubError]] = {
    401: Unauthenticated,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Withdrawn,
    413: TooLarge,
    429: Unavailable,
}


def class_of(code: str, status: int) -> type[HubError]:
    """The exception class for a hub's code; ``status`` decides for codes not known here."""
    if code in CODES:
        return CODES[code]
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    return Unavailable if status >= 500 else Invalid
