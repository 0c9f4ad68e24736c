"""Errors of the domain, as one class hierarchy with stable, public codes. Knows no HTTP.

::

    RegistryError
    ├── Unauthenticated     not_authenticated token_invalid token_expired token_revoked
    ├── Forbidden           permission_denied scope_missing access_gated quota_exceeded
    ├── NotFound            <noun>_not_found
    ├── Conflict            model_exists namespace_taken ref_exists stale_parent lease_lost ...
    ├── Invalid             invalid_name invalid_path invalid_card license_missing ...
    ├── TooLarge            body_too_large
    ├── RateLimited         rate_limited
    └── Unavailable         storage_full storage_unavailable index_busy signing_unavailable

The class determines the HTTP status (``hub/api/errors.py``), and programs act on the code.
"""


class RegistryError(Exception):
    """Base class of all errors that users cause or can act on.

    ``code`` is a stable snake_case identifier of :data:`CODES`; ``detail`` and ``hint`` are one
    sentence each, the fault of this request and its remedy; ``fields`` maps a field or path to its
    fault.
    """

    def __init__(
        self, code: str, detail: str, hint: str = "", *, fields: dict[str, str] | None = None
    ) -> None:
        if code not in CODES:
            raise ValueError(f"error code {code!r} is not listed in registry.errors.CODES")
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.hint = hint
        self.fields = fields or {}

    def __str__(self) -> str:
        return f"{self.detail} {self.hint}".strip()


class Unauthenticated(RegistryError):
    """The request has no valid credentials."""


class Forbidden(RegistryError):
    """The actor is authenticated but not authorized."""


class NotFound(RegistryError):
    """The object does not exist, or the actor may not know that it does."""


class Conflict(RegistryError):
    """The request conflicts with the present state, often after a concurrent change."""


class Invalid(RegistryError):
    """The request itself is invalid; repeating it will not help."""


class TooLarge(RegistryError):
    """More bytes than this hub accepts."""


class RateLimited(RegistryError):
    """Too many requests; ``retry_after_s`` is the time in seconds until one is accepted."""

    def __init__(
        self,
        code: str,
        detail: str,
        hint: str = "",
        *,
        fields: dict[str, str] | None = None,
        retry_after_s: int = 60,
    ) -> None:
        super().__init__(code, detail, hint, fields=fields)
        self.retry_after_s = retry_after_s


class Unavailable(RegistryError):
    """The hub cannot do this now; repeating the request may help."""


#: Every code, with its title. The OpenAPI schema and the client's error table list the same.
CODES: dict[str, str] = {
    # authentication and authorization
    "not_authenticated": "Sign in first",
    "token_invalid": "Unknown token",
    "token_expired": "Token expired",
    "token_revoked": "Token revoked",
    "permission_denied": "Not allowed",
    "scope_missing": "Token lacks a scope",
    "access_gated": "Access must be asked for",
    "device_quarantined": "Device in quarantine",
    "quota_exceeded": "Storage quota used up",
    # missing objects
    "namespace_not_found": "No such namespace",
    "model_not_found": "No such model",
    "dataset_not_found": "No such dataset",
    "workload_not_found": "No such operator workload",
    "principle_not_found": "No such principle",
    "discussion_not_found": "No such discussion",
    "comment_not_found": "No such comment",
    "request_not_found": "No such access request",
    "webhook_not_found": "No such webhook",
    "delivery_not_found": "No such message to a webhook",
    "xorb_not_found": "No such xorb",
    "revision_not_found": "No such revision",
    "file_not_found": "No such file",
    "blob_not_found": "No such blob",
    "upload_not_found": "No such upload",
    "graph_not_found": "No graph known",
    "target_not_found": "No such target",
    "device_not_found": "No such device",
    "code_not_found": "No such code",
    "job_not_found": "No such job",
    "run_not_found": "No such run",
    "outputs_not_found": "No outputs",
    "bundle_not_found": "No such bundle",
    "trial_not_found": "No such trial",
    "export_not_found": "Not to be had in this format",
    "build_not_found": "No such build",
    "topology_not_found": "Not drawn",
    "profile_not_found": "No profile known",
    "group_not_found": "No such call in the profile",
    "kernel_code_not_found": "No such code of a kernel",
    "record_not_found": "No such record",
    "attestation_not_found": "Not signed",
    "evidence_not_found": "No evidence of another hub",
    "token_not_found": "No such token",
    "grant_not_found": "No such sign-in code",
    "user_not_found": "No such user",
    "identifier_not_found": "No such identifier",
    "assessment_not_found": "Not assessed yet",
    "page_not_found": "No such address",
    # conflicts
    "namespace_taken": "Name taken",
    "model_exists": "Model exists",
    "dataset_exists": "Dataset exists",
    "request_handled": "Access request handled already",
    "discussion_closed": "Discussion closed",
    "merge_conflict": "Changes conflict",
    "webhook_limit": "Too many webhooks",
    "ref_exists": "Branch or tag exists",
    "last_admin": "Only admin",
    "organisation_not_empty": "Organisation owns models",
    "stale_parent": "Branch moved on",
    "nothing_to_commit": "Nothing changed",
    "invalid_state": "Not possible in this state",
    "target_in_use": "Target in use",
    "lease_lost": "Lease lost",
    "write_differs": "Number used for another write",
    "already_ended": "Already ended",
    "not_ended": "Not ended",
    "record_exists": "Record exists",
    "device_exists": "Device exists",
    "profile_exists": "Profile exists",
    "doi_exists": "Version has a DOI",
    "files_edited": "Files changed on both sides",
    # invalid requests
    "invalid_request": "Invalid request",
    "invalid_name": "Invalid name",
    "invalid_path": "Invalid path",
    "duplicate_path": "Path given twice",
    "case_collision": "Paths differ only by case",
    "blob_missing": "Bytes not uploaded",
    "digest_mismatch": "Bytes differ from their digest",
    "size_mismatch": "Bytes differ from their size",
    "invalid_card": "Invalid model card",
    "license_missing": "License missing",
    "license_unknown": "License unknown",
    "invalid_query": "Invalid search",
    "invalid_signature": "Invalid tensor signature",
    "invalid_ref": "Invalid branch or tag name",
    "doi_incomplete": "Record lacks what a DOI needs",
    "doi_not_offered": "No DOIs on this hub",
    "import_not_offered": "No imports from this server",
    "import_refused": "Cannot be imported",
    "invalid_record": "Invalid record",
    "impossible_result": "Impossible result",
    "signature_invalid": "Invalid signature",
    "invalid_xorb": "Invalid xorb",
    "invalid_shard": "Invalid shard",
    "invalid_url": "Invalid address",
    "invalid_cursor": "Invalid page cursor",
    "invalid_facts": "Impossible facts",
    "invalid_key": "Invalid key",
    "invalid_target": "Invalid target",
    "invalid_inputs": "Inputs do not fit",
    "invalid_bundle": "Invalid bundle",
    "invalid_profile": "Not a profile of this network",
    "accuracy_not_measured": "No accuracy is measured",
    "method_not_allowed": "Method not allowed",
    "unsupported_media_type": "Unsupported media type",
    "not_acceptable": "Not acceptable",
    # inspection of a model's files, and jobs
    "no_model_file": "No model file",
    "onnx_unreadable": "Not a readable ONNX file",
    "onnx_truncated": "Truncated ONNX file",
    "onnx_invalid": "Invalid ONNX graph",
    "tflite_invalid": "Invalid TensorFlow Lite file",
    "external_data_escapes": "External data outside the folder",
    "external_data_missing": "External data missing",
    "operator_unsupported": "Unsupported operator",
    "samples_unreadable": "Unreadable test samples",
    "tensors_too_large": "Inputs or outputs too large",
    "network_fails": "Network does not open",
    "not_convertible": "Cannot be converted to ONNX",
    "converter_missing": "No converter on this hub",
    "conversion_failed": "Conversion to ONNX failed",
    "conversion_differs": "Converted network differs",
    "weights_differ": "Configuration and weights differ",
    "weights_too_large": "Weights too large",
    "job_timeout": "Ran out of time",
    "job_crashed": "Crashed",
    "job_out_of_memory": "Ran out of memory",
    "job_interrupted": "Interrupted too often",
    "no_backend": "No backend took the model",
    "doi_refused": "DataCite refused",
    # limits and outages
    "body_too_large": "Body too large",
    "address_too_long": "Address too long",
    "headers_too_large": "Headers too large",
    "rate_limited": "Too many requests",
    "storage_full": "Storage full",
    "storage_unavailable": "Storage out of reach",
    "index_busy": "Search index being built",
    "hub_unavailable": "Hub unavailable",
    "signing_unavailable": "No signatures now",
    "query_timeout": "Answer took too long",
    "database_busy": "Database busy",
    "doi_unavailable": "No DOIs now",
    "origin_unavailable": "Origin does not answer",
    "internal_error": "Internal error",
}
