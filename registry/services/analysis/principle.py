"""Computes principles from all searches and ablations that everybody may see.

The hub does so in the background. Nobody edits a principle: its status follows from the evidence.
"""

from typing import Any

from django.db import transaction
from django.utils import timezone

from hpcfair.traits import Trait
from registry import schemas
from registry.selectors.analysis.principle import (
    evidence_of,
    examined_anchors,
    newest_versions,
    principles,
    query_now,
)
from registry.services.audit import audit
from registry.statistics.experience import METHOD
from registry.statistics.principles import TraitFinding, evidence_for, findings
from registry.tables import Principle, PrincipleStatus, PrincipleVersion


def principles_compute() -> int:
    """Compute the principles of operators with other evidence than before: new trials and
    ablations, or models that became private. Returns the number of changed versions."""
    anchors = {*Principle.objects.values_list("anchor", flat=True), *examined_anchors()}
    return sum(_compute(anchor) for anchor in sorted(anchors))


def _compute(anchor: str) -> int:
    query = query_now(anchor)
    before = {version.digest for version in newest_versions(principles(anchor=anchor))}
    if before == {schemas.sha256_of(query)}:
        return 0
    workloads, ablations = evidence_of(query)
    by_trait = {finding.trait: finding for finding in findings(workloads, ablations)}
    rows = {}
    for row in Principle.objects.filter(anchor=anchor):
        trait, is_wanted = Trait.from_json(row.statement["trait"]), row.statement["is_wanted"]
        # The sign of a principle never changes: contrary evidence speaks against it.
        rows[trait] = evidence_for(trait, workloads, ablations, is_wanted=is_wanted)
    changed = 0
    for finding in (
        *rows.values(),
        *(each for each in by_trait.values() if each.trait not in rows),
    ):
        changed += _store(anchor, finding, query)
    return changed


def _store(anchor: str, finding: TraitFinding, query: dict[str, Any]) -> bool:
    """Store what is known about a statement; returns whether that changed."""
    statement = {
        "anchor": anchor, "trait": finding.trait.to_json(), "is_wanted": finding.is_wanted
    }  # fmt: skip
    identifier = schemas.sha256_of({"statement": statement, "method": METHOD})
    now = timezone.now()
    with transaction.atomic():
        row, _ = Principle.objects.select_for_update(of=("self",)).get_or_create(
            identifier=identifier,
            defaults={
                "statement": statement, "method": METHOD, "anchor": anchor,
                "words": words_of(anchor, finding), "status": PrincipleStatus.EXAMINED,
                "changed_at": now,
            },
        )  # fmt: skip
        status = _status(PrincipleStatus(row.status), finding)
        last = row.versions.order_by("-number").first()
        digest = schemas.sha256_of(query)
        if last is not None and last.digest == digest and last.status == status:
            PrincipleVersion.objects.filter(pk=last.pk).update(computed_at=now)
            return False
        columns = {
            "digest": digest, "query": query, "evidence": finding.evidence, "status": status,
            "computed_at": now,
        }  # fmt: skip
        if last is not None and last.status == PrincipleStatus.EXAMINED == row.status == status:
            PrincipleVersion.objects.filter(pk=last.pk).update(**columns)
        else:
            number = last.number + 1 if last else 1
            PrincipleVersion.objects.create(principle=row, number=number, **columns)
        if status != row.status:
            row.status, row.changed_at = status, now
            row.published_at = row.published_at or now
            row.save(update_fields=["status", "changed_at", "published_at"])
            audit(None, "principle.change", identifier, detail={"status": status.value})
    return True


def words_of(anchor: str, finding: TraitFinding) -> str:
    """A statement in words."""
    words = finding.trait.words(anchor)
    if finding.is_wanted:
        return f"Fast schedules of {anchor}: {words}"
    return f"Fast schedules of {anchor} avoid this: {words}"


def _status(before: PrincipleStatus, finding: TraitFinding) -> PrincipleStatus:
    if finding.is_proven:
        return PrincipleStatus.PUBLISHED
    if before == PrincipleStatus.EXAMINED:
        return PrincipleStatus.EXAMINED
    if finding.is_contradicted:
        return PrincipleStatus.WITHDRAWN
    return PrincipleStatus.WEAKENED
