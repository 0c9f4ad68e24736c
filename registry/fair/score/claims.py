"""Comparison of the metadata of files with the answers of their addresses. A file without metadata,
or without size, type or digest in them, counts as differing."""

from registry.fair.score.harvest import FileAnswer, Harvest
from registry.fair.score.reading import Claim

#: Authentication or access request required (RFC 9110, sections 15.5.2 and 15.5.4).
_GATED = frozenset({401, 403})


def open_files(harvest: Harvest) -> list[FileAnswer]:
    """Files that an anonymous client can download."""
    return [file for file in harvest.files if file.answer.is_ok]


def received_files(harvest: Harvest) -> list[FileAnswer]:
    """Files whose bytes were downloaded."""
    return [file for file in open_files(harvest) if file.received_bytes is not None]


def unavailable_files(harvest: Harvest) -> list[str]:
    """Files that cannot be downloaded, with their status; gated files are left out."""
    return [
        f"{file.answer.url} "
        f"({f'status {file.answer.status}' if file.answer.status else 'no answer'})"
        for file in harvest.files
        if not file.answer.is_ok and file.answer.status not in _GATED
    ]


def header_mismatches(harvest: Harvest) -> list[str]:
    """Files that are unavailable or whose headers differ from the metadata, with the fields."""
    return unavailable_files(harvest) + _mismatches(
        harvest,
        [
            Claim(file.answer.url, file.size_bytes, file.sha256, file.answer.media_type)
            for file in open_files(harvest)
        ],
    )


def content_mismatches(harvest: Harvest) -> list[str]:
    """Files whose download broke off or differs from the metadata, with the fields."""
    broken = [f"{file.answer.url} (incomplete)" for file in harvest.files if file.is_broken]
    return broken + _mismatches(
        harvest,
        [
            Claim(
                file.answer.url, file.received_bytes, file.received_sha256, file.answer.media_type
            )
            for file in received_files(harvest)
        ],
    )


def _mismatches(harvest: Harvest, observed: list[Claim]) -> list[str]:
    claims = {claim.url: claim for claim in harvest.reading.claims}
    mismatches = []
    for actual in observed:
        claim = claims.get(actual.url)
        if claim is None:
            mismatches.append(f"{actual.url} (not in the metadata)")
            continue
        pairs = {
            "size": (claim.size_bytes, actual.size_bytes),
            "SHA-256": (claim.sha256.lower(), actual.sha256.lower()),
            "type": (claim.media_type.partition(";")[0].strip(), actual.media_type),
        }
        fields = [name for name, (a, b) in pairs.items() if a != b or a in {None, ""}]
        if fields:
            mismatches.append(f"{actual.url} ({', '.join(fields)})")
    return mismatches
