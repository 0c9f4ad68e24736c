"""Helpers that both bills of materials, CycloneDX and SPDX, use."""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, TypeAlias

from registry.fair.ark import TEST_NOTE, is_test
from registry.fair.description import Description
from registry.fair.parts import FileDescription, QualityEvaluation

#: Value of a parameter, an option or a metric.
Value: TypeAlias = str | float | bool

_MEDIA_TYPE = re.compile(r"[-+a-z0-9.]+/[-+a-z0-9.]+")
_LICENSE_REF = re.compile(r"(?:DocumentRef-[A-Za-z0-9.-]+:)?LicenseRef-[A-Za-z0-9.-]+")
_SPDX_LICENSES = "https://spdx.org/licenses/"


def render_json(document: Mapping[str, Any]) -> bytes:
    """``document`` as JSON in UTF-8, keys in given order."""
    text = json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False)
    return f"{text}\n".encode()


def utc(moment: datetime) -> str:
    """``2026-03-01T12:00:05Z``: whole seconds, the only form that SPDX 3.0.1 accepts."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def identifier_comment(address: str | None, target: str = "") -> str:
    """What ``address`` is, an identifier; "persistent" unless the test authority assigned it.

    ``target`` says of what, such as ``of this version``.
    """
    words = f"identifier {target}".rstrip()
    return f"{words}. {TEST_NOTE}" if address and is_test(address) else f"persistent {words}"


def media_type(file: FileDescription) -> str | None:
    """Type and subtype without parameters, if CycloneDX 1.7 accepts their characters."""
    name = file.media_type.partition(";")[0].strip().lower()
    return name if _MEDIA_TYPE.fullmatch(name) else None


def text_of(value: Value) -> str:
    """A value as text: ``true``, ``0.42``, and whole numbers without a decimal point."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def files_of(description: Description) -> list[FileDescription]:
    """All files of the version: published ones and test tensors."""
    return list({file.path: file for file in (*description.files, *description.tests)}.values())


def license_addresses(description: Description) -> dict[str, str]:
    """Simple licence of the expression to its address, if known."""
    license = description.license
    if license is None:
        return {}
    listed = [one for one in license.uris if one.startswith(_SPDX_LICENSES)]
    own = [one for one in license.uris if not one.startswith(_SPDX_LICENSES)]
    # Both are in the order of the expression.
    references = _LICENSE_REF.findall(license.expression)
    return {one.removeprefix(_SPDX_LICENSES): one for one in listed} | dict(
        zip(references, own, strict=False)
    )


def slice_of(evaluation: QualityEvaluation) -> str:
    """Data set, configuration and split: ``galaxy-zoo, default, test``."""
    parts = (evaluation.dataset, evaluation.dataset_config, evaluation.split)
    return ", ".join(part for part in parts if part)


def affiliations(description: Description) -> dict[str, str]:
    """Creator to affiliations, such as ``Brown University (https://ror.org/05gq02987)``."""
    return {
        one.name: "; ".join(
            f"{group.name} ({group.ror})" if group.ror else group.name for group in one.affiliations
        )
        for one in description.creators
        if one.affiliations
    }
