"""Two revisions of a model compared: speed, facts, nodes, and time by groups of nodes."""

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render

from hub.pages.comparisonchart import DeltaBar, group_bars
from hub.pages.frame import frame, repository_page
from registry.selectors.analysis.graphdiff import NodeChange
from registry.selectors.analysis.revisiondiff import RevisionDifference, TargetGroups
from registry.selectors.analysis.revisiondiff import revision_difference as difference_of
from registry.selectors.repository.revision import history, revision_get
from registry.tables import MLModel

#: Rows on the page; changes beyond are counted.
_MOST_CHANGES = 100
_MOST_GROUPS = 25
_MOST_REVISIONS = 30


@dataclass(frozen=True, slots=True)
class ShownGroups:
    """Groups of one target with their bars: label, removed positions, cells."""

    groups: TargetGroups
    rows: list[tuple[str, str, list[DeltaBar]]]

    @property
    def left_out(self) -> int:
        return len(self.groups.groups) - len(self.rows)


@repository_page
def compare(request: HttpRequest, mlmodel: MLModel) -> HttpResponseBase:
    """The difference of the revisions ``from`` and ``to``; by default of the newest one and the
    one before it."""
    to_name = request.GET.get("to") or mlmodel.default_branch
    after = revision_get(mlmodel, to_name)
    from_name = request.GET.get("from") or (after.parent.oid if after.parent else "")
    before = revision_get(mlmodel, from_name) if from_name else None
    context = frame(request, mlmodel, tab="history", revision=after, revision_name=to_name)
    context |= {
        "before": before,
        "after": after,
        "from_name": from_name,
        "to_name": to_name,
        "revisions": list(history(mlmodel, revision_get(mlmodel))[:_MOST_REVISIONS]),
    }
    if before is not None:
        difference = difference_of(before, after, may_read_nodes=context["may_fetch"])
        context |= {"difference": difference, **_shown(difference)}
    return render(request, "mlmodel/compare.html", context)


def _shown(difference: RevisionDifference) -> dict[str, object]:
    changes: list[NodeChange] = difference.nodes.changes if difference.nodes else []
    return {
        "changes": changes[:_MOST_CHANGES],
        "changes_left_out": max(len(changes) - _MOST_CHANGES, 0),
        "counts": {
            kind: difference.nodes.count(kind) if difference.nodes else 0
            for kind in ("added", "removed", "changed")
        },
        "target_groups": [_groups(each) for each in difference.groups],
    }


def _groups(groups: TargetGroups) -> ShownGroups:
    shown = groups.groups[:_MOST_GROUPS]
    rows = []
    for group, removed in zip(shown, groups.removed, strict=False):
        # Positions of removed nodes mean nothing in the later network.
        label = group.label if not removed else ", ".join(group.group.operators)
        gone = f"removed nodes {', '.join(map(str, removed[:6]))}" if removed else ""
        rows.append((label, gone, group_bars(group, shown)))
    return ShownGroups(groups, rows)
