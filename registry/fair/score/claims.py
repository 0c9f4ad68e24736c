"""What the metadata claim about files, against what their addresses answer and what came.

Nothing is believed: a file that the metadata do not name, or of which they do not say the size,
type and digest, differs as much as one of which they say something wrong.
"""

from registry.fair.score.harvest import FileSeen, Harvest
from registry.fair.score.reading import Claim

#: Asked to sign in, or to ask for access first (RFC 9110, sections 15.5.2 and 15.5.4).
_GATED = frozenset({401, 403})


def open_files(harvest: Harvest) -> list[FileSeen]:
    """Those that anybody may have."""
    return [seen for seen in harvest.files if seen.answer.is_found]


def counted_files(harvest: Harvest) -> list[FileSeen]:
    """Those of which the bytes came."""
    return [seen for seen in open_files(harvest) if seen.counted_bytes is not None]


def lost_files(harvest: Harvest) -> list[str]:
    """Files that cannot be had, and how they answered; none that are only behind a gate."""
    return [
        f"{seen.answer.url} ({f'answers {seen.answer.status}' if seen.answer.status else 'silent'})"
        for seen in harvest.files
        if not seen.answer.is_found and seen.answer.status not in _GATED
    ]


def untrue_heads(harvest: Harvest) -> list[str]:
    """Files that are lost, or whose answers' headers differ from the metadata, and in what."""
    return lost_files(harvest) + _differing(
        harvest,
        [
            Claim(seen.answer.url, seen.size_bytes, seen.sha256, seen.answer.media_type)
            for seen in open_files(harvest)
        ],
    )


def untrue_bytes(harvest: Harvest) -> list[str]:
    """Files of which not all bytes came, or others than the metadata say, and what differs."""
    broken = [f"{seen.answer.url} (broke off)" for seen in harvest.files if seen.is_broken]
    return broken + _differing(
        harvest,
        [
            Claim(seen.answer.url, seen.counted_bytes, seen.counted_sha256, seen.answer.media_type)
            for seen in counted_files(harvest)
        ],
    )


def _differing(harvest: Harvest, found: list[Claim]) -> list[str]:
    claims = {claim.url: claim for claim in harvest.reading.claims}
    faults = []
    for true in found:
        claim = claims.get(true.url)
        if claim is None:
            faults.append(f"{true.url} (not in the metadata)")
            continue
        pairs = {
            "size": (claim.size_bytes, true.size_bytes),
            "SHA-256": (claim.sha256.lower(), true.sha256.lower()),
            "type": (claim.media_type.partition(";")[0].strip(), true.media_type),
        }
        wrong = [name for name, (said, is_) in pairs.items() if said != is_ or said in {None, ""}]
        if wrong:
            faults.append(f"{true.url} ({', '.join(wrong)})")
    return faults
