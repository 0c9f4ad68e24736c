"""Verbs of what this hub does not offer: each is refused in words, or never asks this hub."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import huggingface_hub
from huggingface_hub import HfApi, constants
from huggingface_hub.errors import BadRequestError, RepositoryNotFoundError

from tests.clients.verbs.context import Context, outcome, refused
from tests.clients.verbs.table import Result, Verb, add

Method = Callable[[HfApi], Any]

SPACE, JOB, SLUG, BUCKET = "alice/space", "0123456789", "alice/words-0123", "alice/bucket"
#: Area of the documentation, and the words of the hub's refusal.
SPACES, JOBS, BUCKETS = "Spaces", "Jobs", "Buckets"
COLLECTIONS, PAPERS, ENDPOINTS = "Collections", "Papers", "Inference Endpoints"

_SPACES: dict[str, Method] = {
    "space_info": lambda api: api.space_info(SPACE),
    "duplicate_space": lambda api: api.duplicate_space(SPACE),
    "add_space_secret": lambda api: api.add_space_secret(SPACE, "KEY", "value"),
    "delete_space_secret": lambda api: api.delete_space_secret(SPACE, "KEY"),
    "get_space_secrets": lambda api: api.get_space_secrets(SPACE),
    "add_space_variable": lambda api: api.add_space_variable(SPACE, "KEY", "value"),
    "delete_space_variable": lambda api: api.delete_space_variable(SPACE, "KEY"),
    "get_space_variables": lambda api: api.get_space_variables(SPACE),
    "get_space_runtime": lambda api: api.get_space_runtime(SPACE),
    "request_space_hardware": lambda api: api.request_space_hardware(SPACE, "t4-medium"),
    "request_space_storage": lambda api: api.request_space_storage(SPACE, "small"),
    "delete_space_storage": lambda api: api.delete_space_storage(SPACE),
    "set_space_sleep_time": lambda api: api.set_space_sleep_time(SPACE, 60),
    "pause_space": lambda api: api.pause_space(SPACE),
    "restart_space": lambda api: api.restart_space(SPACE),
    "enable_space_dev_mode": lambda api: api.enable_space_dev_mode(SPACE),
    "disable_space_dev_mode": lambda api: api.disable_space_dev_mode(SPACE),
    "fetch_space_logs": lambda api: api.fetch_space_logs(SPACE),
    "wait_for_space": lambda api: api.wait_for_space(SPACE),
    "set_space_volumes": lambda api: api.set_space_volumes(
        SPACE, [huggingface_hub.Volume(type="model", source="a/b", mount_path="/data")]
    ),
    "delete_space_volumes": lambda api: api.delete_space_volumes(SPACE),
}
_NO_SPACE: dict[str, Method] = {
    "list_spaces": lambda api: api.list_spaces(author="alice"),
    "search_spaces": lambda api: api.search_spaces("words"),
    "list_space_templates": lambda api: api.list_space_templates(),
    "list_spaces_hardware": lambda api: api.list_spaces_hardware(),
    "get_zero_gpu_quota": lambda api: api.get_zero_gpu_quota(),
}
_JOBS: dict[str, Method] = {
    "run_job": lambda api: api.run_job(image="python:3.12", command=["true"]),
    "run_uv_job": lambda api: api.run_uv_job("https://example.org/a.py"),
    "fetch_job_logs": lambda api: api.fetch_job_logs(job_id=JOB),
    "fetch_job_metrics": lambda api: api.fetch_job_metrics(job_id=JOB),
    "list_jobs": lambda api: api.list_jobs(),
    "list_jobs_hardware": lambda api: api.list_jobs_hardware(),
    "inspect_job": lambda api: api.inspect_job(job_id=JOB),
    "wait_for_job": lambda api: api.wait_for_job(JOB),
    "rerun_job": lambda api: api.rerun_job(job_id=JOB),
    "cancel_job": lambda api: api.cancel_job(job_id=JOB),
    "update_job_expose": lambda api: api.update_job_expose(job_id=JOB, expose=[80]),
    "update_job_labels": lambda api: api.update_job_labels(job_id=JOB, labels={"a": "b"}),
    "create_scheduled_job": lambda api: api.create_scheduled_job(
        image="python:3.12", command=["true"], schedule="@daily"
    ),
    "create_scheduled_uv_job": lambda api: api.create_scheduled_uv_job(
        "https://example.org/a.py", schedule="@daily"
    ),
    "list_scheduled_jobs": lambda api: api.list_scheduled_jobs(),
    "inspect_scheduled_job": lambda api: api.inspect_scheduled_job(scheduled_job_id=JOB),
    "delete_scheduled_job": lambda api: api.delete_scheduled_job(scheduled_job_id=JOB),
    "suspend_scheduled_job": lambda api: api.suspend_scheduled_job(scheduled_job_id=JOB),
    "resume_scheduled_job": lambda api: api.resume_scheduled_job(scheduled_job_id=JOB),
    "trigger_scheduled_job": lambda api: api.trigger_scheduled_job(scheduled_job_id=JOB),
    "update_scheduled_job_schedule": lambda api: api.update_scheduled_job_schedule(
        scheduled_job_id=JOB, schedule="@daily"
    ),
    "update_scheduled_job_labels": lambda api: api.update_scheduled_job_labels(
        scheduled_job_id=JOB, labels={"a": "b"}
    ),
}
_BUCKETS: dict[str, Method] = {
    "create_bucket": lambda api: api.create_bucket(BUCKET),
    "bucket_info": lambda api: api.bucket_info(BUCKET),
    "list_buckets": lambda api: api.list_buckets(),
    "delete_bucket": lambda api: api.delete_bucket(BUCKET),
    "update_bucket_settings": lambda api: api.update_bucket_settings(BUCKET, private=True),
    "list_bucket_tree": lambda api: api.list_bucket_tree(BUCKET),
    "get_bucket_paths_info": lambda api: api.get_bucket_paths_info(BUCKET, ["a.txt"]),
    "get_bucket_file_metadata": lambda api: api.get_bucket_file_metadata(BUCKET, "a.txt"),
    "batch_bucket_files": lambda api: api.batch_bucket_files(BUCKET, delete=["a.txt"]),
}
_COLLECTIONS: dict[str, Method] = {
    "list_collections": lambda api: api.list_collections(owner="alice"),
    "get_collection": lambda api: api.get_collection(SLUG),
    "create_collection": lambda api: api.create_collection("Words"),
    "update_collection_metadata": lambda api: api.update_collection_metadata(SLUG, title="A"),
    "update_collection_resource_group": lambda api: api.update_collection_resource_group(SLUG, "1"),
    "delete_collection": lambda api: api.delete_collection(SLUG),
    "add_collection_item": lambda api: api.add_collection_item(SLUG, "alice/words", "model"),
    "update_collection_item": lambda api: api.update_collection_item(SLUG, "1", note="A"),
    "delete_collection_item": lambda api: api.delete_collection_item(SLUG, "1"),
}
_PAPERS: dict[str, Method] = {
    "list_papers": lambda api: api.list_papers(query="words"),
    "paper_info": lambda api: api.paper_info("2601.15621"),
    "read_paper": lambda api: api.read_paper("2601.15621"),
    "list_daily_papers": lambda api: api.list_daily_papers(),
}
_ENDPOINTS: dict[str, Method] = {
    "list_inference_endpoints": lambda api: api.list_inference_endpoints(),
    "create_inference_endpoint": lambda api: api.create_inference_endpoint(
        "words",
        repository="alice/words",
        framework="pytorch",
        accelerator="cpu",
        instance_size="x2",
        instance_type="intel-icl",
        region="us-east-1",
        vendor="aws",
    ),
    "create_inference_endpoint_from_catalog": lambda api: (
        api.create_inference_endpoint_from_catalog("alice/words")
    ),
    "list_inference_catalog": lambda api: api.list_inference_catalog(),
    "get_inference_endpoint": lambda api: api.get_inference_endpoint("words"),
    "update_inference_endpoint": lambda api: api.update_inference_endpoint("words", task="other"),
    "delete_inference_endpoint": lambda api: api.delete_inference_endpoint("words"),
    "pause_inference_endpoint": lambda api: api.pause_inference_endpoint("words"),
    "resume_inference_endpoint": lambda api: api.resume_inference_endpoint("words"),
    "scale_to_zero_inference_endpoint": lambda api: api.scale_to_zero_inference_endpoint("words"),
    "list_inference_endpoints_hardware": lambda api: api.list_inference_endpoints_hardware(),
}
#: Verbs that the newest client no longer has.
_OLDER = {"duplicate_space", "request_space_storage", "delete_space_storage"}
_BARE = ("1.33", "raises the error of its HTTP library, without the hub's words")
_FIXED = ("1.0", "asks huggingface.co")
_BEFORE = {
    **dict.fromkeys(("list_jobs", "inspect_job", "cancel_job"), _BARE),
    **dict.fromkeys(("suspend_scheduled_job", "resume_scheduled_job"), _BARE),
    **dict.fromkeys(("run_job", "run_uv_job", "fetch_job_logs"), _FIXED),
    **dict.fromkeys(("create_scheduled_job", "create_scheduled_uv_job"), _FIXED),
}
_ELSEWHERE_NOTE = "Asks endpoints.huggingface.co or .cloud."


def _refusal(
    method: Method, words: str, error: type[Exception], status: int
) -> Callable[..., None]:
    def call(of: Context) -> None:
        refused(error, lambda: method(of.api), f"does not offer {words}", status=status)

    return call


def _never_asks(method: Method) -> Callable[..., None]:
    """Asserts that ``method`` asks the address in the client's constants, not ``HF_ENDPOINT``."""

    def call(of: Context) -> None:
        with _closed_endpoints():
            raised, _ = outcome(lambda: method(of.api))
        assert "Connect" in type(raised).__name__, raised

    return call


@contextmanager
def _closed_endpoints() -> Iterator[None]:
    """The addresses of Inference Endpoints lead to a port that nothing listens on."""
    names = ("INFERENCE_ENDPOINTS_ENDPOINT", "INFERENCE_CATALOG_ENDPOINT")
    before = {name: getattr(constants, name) for name in names if hasattr(constants, name)}
    for name in before:
        setattr(constants, name, "http://127.0.0.1:9")
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(constants, name, value)


def _enter(
    area: str,
    methods: dict[str, Method],
    *,
    error: type[Exception] = BadRequestError,
    status: int = 400,
) -> None:
    for name, method in methods.items():
        call = _refusal(method, area, error, status)
        add(Verb(name, area, Result.REFUSED, "", call, name in _OLDER, _BEFORE.get(name, ("", ""))))


_enter(SPACES, _SPACES, error=RepositoryNotFoundError, status=404)
_enter(SPACES, _NO_SPACE)
_enter(
    "Kernels",
    {"kernel_info": lambda api: api.kernel_info("alice/kernel")},
    error=RepositoryNotFoundError,
    status=404,
)
_enter(JOBS, _JOBS)
_enter(BUCKETS, _BUCKETS)
_enter(COLLECTIONS, _COLLECTIONS)
_enter(PAPERS, _PAPERS)
for _name, _method in _ENDPOINTS.items():
    add(Verb(_name, ENDPOINTS, Result.ELSEWHERE, _ELSEWHERE_NOTE, _never_asks(_method)))


def _download_bucket_files(of: Context) -> None:
    target = of.folder / "from-bucket"
    refused(
        BadRequestError,
        lambda: of.api.download_bucket_files(BUCKET, [("a.txt", target)]),
        "does not offer Buckets",
        status=400,
    )


def _sync_bucket(of: Context) -> None:
    folder = str(of.new_folder({"a.txt": b"a"}))
    refused(
        BadRequestError,
        lambda: of.api.sync_bucket(folder, f"hf://buckets/{BUCKET}"),
        "does not offer Buckets",
        status=400,
    )


def _sync_job_volume(of: Context) -> None:
    folder = of.new_folder({"a.txt": b"a"})
    refused(
        BadRequestError,
        lambda: of.api.sync_job_volume(folder, "/data"),
        "does not offer Buckets",
        status=400,
    )


def _move_bucket(of: Context) -> None:
    refused(
        BadRequestError,
        lambda: of.api.move_bucket(BUCKET, "alice/other"),
        "has models and datasets, not 'bucket'",
    )


def _upload_attachment(of: Context) -> None:
    image = of.folder / "image.png"
    image.write_bytes(b"\x89PNG")
    refused(
        BadRequestError,
        lambda: of.api.upload_attachment(image),
        "does not offer attachments",
        status=400,
    )


def _get_dataset_leaderboard(of: Context) -> None:
    name = of.repo(kind="dataset")
    refused(
        BadRequestError,
        lambda: of.api.get_dataset_leaderboard(name),
        "does not offer leaderboards",
        status=400,
    )
    refused(RepositoryNotFoundError, lambda: of.api.get_dataset_leaderboard("alice/none"))


def _list_dataset_parquet_files(of: Context) -> None:
    name = of.repo(kind="dataset")
    refused(ValueError, lambda: of.api.list_dataset_parquet_files(name), "third-party endpoints")


for _name, _area, _note, _call in (
    ("download_bucket_files", BUCKETS, "", _download_bucket_files),
    ("sync_bucket", BUCKETS, "", _sync_bucket),
    ("move_bucket", BUCKETS, "", _move_bucket),
    ("sync_job_volume", BUCKETS, "", _sync_job_volume),
    ("upload_attachment", "Others", "Attachments of discussions.", _upload_attachment),
    ("get_dataset_leaderboard", "Others", "", _get_dataset_leaderboard),
    (
        "list_dataset_parquet_files",
        "Others",
        "The client itself refuses: it knows one viewer of data sets.",
        _list_dataset_parquet_files,
    ),
):
    add(Verb(_name, _area, Result.REFUSED, _note, _call))
