"""The exceptions of this package.

::

    HpcfairError
    ├── HubError                  the hub rejected the request: code, detail, hint, fields, status
    │   ├── Unauthenticated       (PermissionError)
    │   ├── Forbidden             (PermissionError)
    │   ├── NotFound              (FileNotFoundError)   ModelNotFound, RevisionNotFound, Withdrawn
    │   ├── Conflict              (FileExistsError)     StaleParent, NothingToCommit, ...
    │   ├── Invalid               (ValueError)          LicenseMissing, InvalidModelFile, ...
    │   ├── TooLarge              (ValueError)
    │   ├── Unavailable           (ConnectionError)
    │   └── JobFailed             (RuntimeError)
    ├── HubUnreachable            (ConnectionError)     no answer, or an invalid one
    │   └── Offline               (ConnectionError)     offline mode
    ├── Corrupt                   (OSError)             bytes differ from their digest
    ├── StorageFailed             (OSError)             a full disk, an unwritable folder
    ├── TimedOut                  (TimeoutError)        waiting ended before the job
    ├── Untrusted                 (PermissionError)     a signature is wrong or missing
    ├── UnsafePath                (ValueError)          a path outside its folder
    ├── BadConfig, BadCard        (ValueError)
    ├── BadInput                  (ValueError)          arrays that do not match the signature
    ├── NotSupported              (TypeError)           no exporter, or not on this system
    ├── MissingPackage            (ImportError)
    ├── RuntimeFailed             (RuntimeError)        a runtime could not open or run a build
    └── NoModelFile               (FileNotFoundError)

The class depends on the hub's error code only, never on message texts or addresses. For a code that
this client does not know (from a newer hub), it depends on the HTTP status.
"""


class HpcfairError(Exception):
    """Base of all errors: the problem (``detail``), the remedy (``hint``), a stable ``code``."""

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
    """The hub rejected a request.

    Attributes:
        status: HTTP status; 0 if the error is the failure of a job.
        fields: Field or path to its error.
        request_id: Id of the request in the hub's log.
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
    """The account lacks the permission."""


class NotFound(HubError, FileNotFoundError):
    """It does not exist, or is not visible to the account."""


class ModelNotFound(NotFound):
    """The model does not exist, or is private."""


class RevisionNotFound(NotFound):
    """There is no branch, tag or commit of that name."""


class Withdrawn(NotFound):
    """It was withdrawn; its metadata record remains, with the reason."""


class Conflict(HubError, FileExistsError):
    """The request conflicts with the current state."""


class StaleParent(Conflict):
    """The branch has a newer commit than the expected parent."""


class NothingToCommit(Conflict):
    """The branch already has exactly this content."""


class Invalid(HubError, ValueError):
    """The request is invalid; repeating it does not help."""


class LicenseMissing(Invalid):
    """The card states no license."""


class InvalidModelFile(Invalid):
    """The hub inspected the files of a model and cannot use them."""


class TooLarge(HubError, ValueError):
    """The data exceed a size limit of the hub."""


class Unavailable(HubError, ConnectionError):
    """The hub is temporarily unable to do this; try again later."""


class JobFailed(HubError, RuntimeError):
    """A job on the hub ended without a result."""


class HubUnreachable(HpcfairError, ConnectionError):
    """There was no answer, or an invalid one."""

    code = "hub_unreachable"


class Offline(HubUnreachable):
    """``HPCFAIR_OFFLINE`` is set, and the answer is not in the cache."""

    code = "offline"


class Corrupt(HpcfairError, OSError):
    """Bytes differ from the digest that names them."""

    code = "corrupt"


class StorageFailed(HpcfairError, OSError):
    """This machine cannot read or write a file; ``errno`` and ``filename`` are the system's."""

    code = "storage_failed"


class TimedOut(HpcfairError, TimeoutError):
    """The time for waiting has passed; what was waited for continues."""

    code = "timed_out"


class Untrusted(HpcfairError, PermissionError):
    """A signature is wrong, by a key that is not trusted, or missing although it is required."""

    code = "untrusted"


class UnsafePath(HpcfairError, ValueError):
    """A path that leads outside its folder or is hidden."""

    code = "unsafe_path"


class BadConfig(HpcfairError, ValueError):
    """An environment variable or the configuration file has an invalid value."""

    code = "bad_config"


class BadInput(HpcfairError, ValueError):
    """Arrays that do not match the signature, or an argument outside its range."""

    code = "bad_input"


class NotSupported(HpcfairError, TypeError):
    """There is no exporter for this object, or this system cannot do it."""

    code = "not_supported"


class MissingPackage(HpcfairError, ImportError):
    """An optional package is missing; the hint names it."""

    code = "missing_package"


class RuntimeFailed(HpcfairError, RuntimeError):
    """A runtime failed to open or to run a build."""

    code = "runtime_failed"


class BadCard(HpcfairError, ValueError):
    """The front matter of README.md is malformed."""

    code = "bad_card"


class NoModelFile(HpcfairError, FileNotFoundError):
    """There is no model file."""

    code = "no_model_file"


_CODES_OF: dict[type[HubError], str] = {
    Unauthenticated: "not_authenticated token_invalid token_expired token_revoked",
    Forbidden: "permission_denied scope_missing access_gated quota_exceeded device_quarantined",
    ModelNotFound: "model_not_found",
    RevisionNotFound: "revision_not_found",
    NotFound: (
        "namespace_not_found file_not_found blob_not_found upload_not_found graph_not_found "
        "target_not_found device_not_found job_not_found trial_not_found build_not_found "
        "profile_not_found record_not_found attestation_not_found token_not_found grant_not_found "
        "user_not_found identifier_not_found assessment_not_found page_not_found dataset_not_found "
        "discussion_not_found comment_not_found request_not_found webhook_not_found "
        "delivery_not_found xorb_not_found run_not_found outputs_not_found code_not_found "
        "bundle_not_found topology_not_found workload_not_found principle_not_found "
        "group_not_found kernel_code_not_found export_not_found evidence_not_found"
    ),
    StaleParent: "stale_parent",
    NothingToCommit: "nothing_to_commit",
    Conflict: (
        "namespace_taken model_exists ref_exists lease_lost already_ended record_exists "
        "doi_exists last_admin dataset_exists request_handled discussion_closed merge_conflict "
        "webhook_limit organisation_not_empty not_ended write_differs device_exists "
        "invalid_state target_in_use profile_exists files_edited"
    ),
    LicenseMissing: "license_missing",
    Invalid: (
        "invalid_request invalid_name invalid_path duplicate_path case_collision blob_missing "
        "digest_mismatch size_mismatch invalid_card license_unknown invalid_query "
        "invalid_signature invalid_ref doi_incomplete doi_not_offered invalid_record "
        "invalid_cursor invalid_target method_not_allowed unsupported_media_type not_acceptable "
        "invalid_xorb invalid_shard invalid_url address_too_long headers_too_large "
        "invalid_inputs impossible_result signature_invalid invalid_facts invalid_key "
        "invalid_bundle invalid_profile accuracy_not_measured import_not_offered import_refused"
    ),
    InvalidModelFile: (
        "no_model_file onnx_unreadable onnx_truncated onnx_invalid tflite_invalid "
        "external_data_escapes external_data_missing operator_unsupported samples_unreadable"
        " tensors_too_large network_fails not_convertible converter_missing conversion_failed"
        " conversion_differs weights_differ weights_too_large"
    ),
    JobFailed: "job_timeout job_crashed job_out_of_memory job_interrupted no_backend doi_refused",
    TooLarge: "body_too_large",
    Unavailable: (
        "rate_limited storage_full storage_unavailable query_timeout database_busy index_busy "
        "signing_unavailable doi_unavailable origin_unavailable internal_error hub_unavailable"
    ),
}
#: Error code of the hub to exception class. A test compares it with the hub's list.
CODES = {code: error for error, codes in _CODES_OF.items() for code in codes.split()}

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
    """The exception class for a code of the hub; ``status`` determines it for unknown codes."""
    if code in CODES:
        return CODES[code]
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    return Unavailable if status >= 500 else Invalid
