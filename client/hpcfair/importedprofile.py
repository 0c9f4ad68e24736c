"""Profiles of other tools, imported to a model of the hub."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict

from hpcfair.errors import BadInput
from hpcfair.fromjson import FromJson
from hpcfair.mlmodel import address
from hpcfair.transport import Transport, pages, quoted
from hpcfair.typingnames import Unpack
from hpcfair.upload import upload


@dataclass(frozen=True, slots=True)
class ImportedProfile(FromJson):
    """A profile that somebody measured with another tool, not the hub.

    Attributes:
        revision: Commit id of the version whose network it was matched to.
        actor: Who imported it; ``None`` if the account was deleted.
        format: ``onnxruntime``, ``openvino``, ``tensorrt`` or ``nsight``.
        total_ns: A whole run; the sum of all calls unless ``is_total_stated``.
        notes: Facts that limit the meaning of the times.
        totals: Numbers of calls and linked ones, and coverage of nodes by grade; empty in lists.
    """

    uuid: str
    revision: str
    actor: str | None
    format: str
    target: str
    total_ns: int
    created_at: str
    tool_version: str = ""
    environment: str = ""
    method: str = ""
    is_total_stated: bool = False
    notes: list[str] = field(default_factory=list)
    totals: dict[str, Any] = field(default_factory=dict)


class ImportOptions(TypedDict, total=False):
    """Options of an import.

    Attributes:
        revision: Branch, tag or commit id; default: the head of the default branch.
        format: ``onnxruntime``, ``openvino``, ``tensorrt`` or ``nsight``; default: recognised.
        details: Second file of ``trtexec``: ``--exportLayerInfo``.
        environment: Conditions of all runs: driver, clocks, threads, batch.
    """

    revision: str | None
    format: str
    details: Path | str | None
    tool_version: str
    environment: str


def import_profile(
    http: Transport, name: str, file: Path, *, target: str, **options: Unpack[ImportOptions]
) -> ImportedProfile:
    """Upload and import a profile; see :meth:`hpcfair.Client.profiles_import`."""
    details = options.get("details")
    files = {"profile": file} | ({"details": Path(details)} if details else {})
    for local in files.values():
        if not local.is_file():
            raise BadInput(f"There is no file {local}.")
    digests = upload(http, files, what=file.name)
    body = {
        "sha256": digests["profile"],
        "details_sha256": digests.get("details", ""),
        "target": target,
        "format": options.get("format", ""),
        "tool_version": options.get("tool_version", ""),
        "environment": options.get("environment", ""),
    }
    params = {"revision": options.get("revision")}
    answer = http.json("POST", f"{address(name)}/profiles", params=params, body=body)
    return ImportedProfile.from_json(answer)


def profiles(http: Transport, name: str) -> list[ImportedProfile]:
    """The imported profiles of a model, newest first."""
    rows = pages(http, f"{address(name)}/profiles")
    return [ImportedProfile.from_json(row) for row in rows]


def profile(http: Transport, uuid: str) -> ImportedProfile:
    """An imported profile with its totals."""
    return ImportedProfile.from_json(http.get(f"/api/v1/profiles/{quoted(uuid)}"))


def delete_profile(http: Transport, uuid: str) -> None:
    """Delete an imported profile."""
    http.json("DELETE", f"/api/v1/profiles/{quoted(uuid)}")
