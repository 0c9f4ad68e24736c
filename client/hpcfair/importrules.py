"""Which license and which visibility the copy of a model of another server gets."""

from dataclasses import dataclass

from hpcfair.errors import BadInput, LicenseMissing
from hpcfair.hubprotocol import RemoteVersion
from hpcfair.licenses import is_redistributable
from hpcfair.types import MLModel


@dataclass(frozen=True, slots=True)
class ModelImportOptions:
    """Options of an import; see :meth:`hpcfair.Client.import_model`."""

    license: str | None = None
    visibility: str | None = None
    overwrite: bool = False


def license_of(version: RemoteVersion, current: MLModel | None, options: ModelImportOptions) -> str:
    """The license of the copy: that of the card, else the one that the user states."""
    stated = options.license or ""
    if version.license:
        if stated and stated.lower() != version.license.lower():
            raise BadInput(
                f"The card of {version.origin.url} states the license {version.license}.",
                "Leave the license out: an import keeps what the card states.",
            )
        return version.license
    earlier = (current.card.get("license") if current else None) or ""
    if not (stated or earlier):
        raise LicenseMissing(
            f"The card of {version.origin.url} states no license, so nobody is permitted to copy "
            "the model. Nothing was moved.",
            "If you may, state the license: --license ID, or license=...",
            code="license_missing",
        )
    return stated or str(earlier)


def visibility_of(
    version: RemoteVersion, current: MLModel | None, license_id: str, options: ModelImportOptions
) -> str | None:
    """The visibility of a new model; ``None`` is the default of its namespace."""
    is_free = version.is_open and is_redistributable(license_id)
    if options.visibility or is_free:
        return options.visibility
    if current and (current.is_held or current.visibility == "public"):
        reason = f"has the license {license_id}" if version.is_open else "is private or gated"
        raise BadInput(
            f"{current.name} is public, and {version.origin.url} {reason}. Nothing was moved.",
            "Make the model private, or confirm that it may be passed on: --public.",
            code="origin_not_free",
        )
    return "private"
