"""What signed statements must say: that they are of this build, or of these files.

The signatures themselves are verified by :mod:`hpcfair.trust.envelope`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hpcfair.errors import Untrusted
from hpcfair.trust.envelope import invalid
from hpcfair.types import Build, File

_STATEMENT = "https://in-toto.io/Statement/v1"
_PROVENANCE = "https://slsa.dev/provenance/v1"
_MODEL_SIGNATURE = "https://model_signing/signature/v1.0"
#: Folder of the networks that hubs convert from published weights. They are no published files.
_CONVERTED = "converted/"
#: First parts of paths that OpenSSF Model Signing leaves out.
_NOT_SIGNED = frozenset({".git", ".gitattributes", ".github", ".gitignore", "model.sig"})


@dataclass(frozen=True, slots=True)
class OfferedBuild:
    """What the hub said of a build, which the signed statement must confirm."""

    name: str
    revision: str
    build: Build
    files: Sequence[File]
    entry_point: str
    record_id: str | None


def is_signed(path: str) -> bool:
    """Whether a signature of a model covers the file at ``path``."""
    return path.split("/", 1)[0] not in _NOT_SIGNED


def confirm_model(statement: Any, name: str, revision: str, files: Sequence[File]) -> None:
    """Refuse a statement that is of another model or revision, or in which one of ``files`` differs
    or is missing. Raises Untrusted."""
    resources = resources_in(statement, name, revision)
    if any(file.path.startswith(_CONVERTED) and file.path not in resources for file in files):
        raise Untrusted(
            f"{name} has no build for this machine yet, and the network that the hub converted "
            "from its weights is signed with its builds only.",
            "Load it again after its first search on your target, or with signed=False.",
            code="not_signed",
        )
    if any(resources.get(file.path) != file.sha256 for file in files):
        raise invalid("it is of other files")


def resources_in(statement: Any, name: str, revision: str) -> dict[str, str]:
    """Path to SHA-256 of each file that a statement on a model names. Raises Untrusted if it is of
    another model or revision."""
    try:
        (subject,) = statement["subject"]
        resources = {
            str(each["name"]): str(each["digest"]) for each in statement["predicate"]["resources"]
        }
        stated = (statement["predicateType"], subject["name"].lower())
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise invalid("its statement is malformed") from error
    if stated != (_MODEL_SIGNATURE, f"{name}@{revision}".lower()):
        raise invalid("it is of another model or revision")
    return resources


def identifiers_in(statement: Any) -> Mapping[str, str]:
    """Persistent identifiers that a statement on a model names: ``model`` for all versions
    together, ``version`` and ``doi`` for this one. Older hubs name none."""
    try:
        stated = statement["subject"][0]["annotations"]["identifiers"]
        return {str(kind): str(text) for kind, text in stated.items()}
    except (KeyError, IndexError, TypeError, AttributeError):
        return {}


def confirm_record(statement: Any, record_id: str) -> None:
    """Refuse a statement that is of another record. Raises Untrusted."""
    try:
        subjects = [each["digest"]["sha256"] for each in statement["subject"]]
    except (KeyError, TypeError) as error:
        raise invalid("its statement is malformed") from error
    if subjects != [record_id]:
        raise invalid("it is of another record")


def confirm_build(statement: Any, claim: OfferedBuild) -> str:
    """The time of publication in a statement that is about the claimed build. Raises Untrusted."""
    try:
        definition = statement["predicate"]["buildDefinition"]
        outer, inner = definition["externalParameters"], definition["internalParameters"]
        run = statement["predicate"]["runDetails"]
        subjects = [(each["name"], each["digest"]["sha256"]) for each in statement["subject"]]
        stated = {
            "type": (statement["_type"], statement["predicateType"]),
            "model": outer["model"].lower(),
            "revision": outer["revision"],
            "target": outer["target"],
            "tolerance": outer["tolerance"],
            "candidate": outer["candidate"],
            "build": inner["build"],
            "runtime": inner["runtime"],
            "options of the runtime": inner["runtime_options"],
            "execution": inner.get("execution"),
            "entry point": inner["entry_point"],
            "record": run["byproducts"][0]["digest"]["sha256"],
            "files": sorted(subjects),
        }
        at = str(run["metadata"]["finishedOn"])
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise invalid("its statement is malformed") from error
    build = claim.build
    claimed = {
        "type": (_STATEMENT, _PROVENANCE),
        "model": claim.name.lower(),
        "revision": claim.revision,
        "target": build.target,
        "tolerance": build.tolerance,
        "candidate": build.candidate,
        "build": build.uuid,
        "runtime": build.runtime,
        "options of the runtime": build.runtime_options,
        "execution": build.execution.to_json() if build.execution else None,
        "entry point": claim.entry_point,
        "record": claim.record_id,
        "files": sorted((file.path, file.sha256) for file in claim.files),
    }
    different = [name for name, value in claimed.items() if stated[name] != value]
    if different:
        raise Untrusted(
            f"The signature is of another build: {', '.join(different)} differ from what the hub "
            f"offers as {claim.name}.",
            "Nothing was loaded. If the model was renamed, load it by its new name.",
            code="signature_invalid",
        )
    return at
