"""The inspector of a group: its facts, and one of several tabs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from hub.pages.addresses import address
from hub.pages.kernelview import code_context, loops_context
from registry.kernels.networkwork import NetworkWork
from registry.kernels.reason import Reason
from registry.selectors.access import Actor
from registry.selectors.analysis.buildpeer import build_comparison
from registry.selectors.analysis.groupevidence import GroupEvidence, evidence_of
from registry.selectors.analysis.kernelcode import KINDS
from registry.selectors.analysis.performance import Group, Performance
from registry.selectors.analysis.profiledbuild import profiled_builds
from registry.selectors.analysis.scheduledecision import decisions_of
from registry.selectors.analysis.workload import workloads_of
from registry.selectors.analysis.workloadpeer import confirmed_of, workload_peers
from registry.tables import MLModel

TABS = {
    "why": "Why",
    "loops": "Loops",
    "code": "Kernel",
    "asm": "Assembly",
    "schedule": "Schedule",
    "peers": "Peers",
}
_CODE_TABS = frozenset({"loops", "code", "asm"})
#: The tab that shows the numbers of a reason.
_TAB_OF = {"facts": "why", "loops": "loops", "asm": "asm", "schedule": "schedule", "peers": "peers"}


@dataclass(frozen=True, slots=True)
class InspectorTab:
    """A tab: its page, and the address of the fragment that htmx fetches."""

    key: str
    title: str
    page: str
    fragment: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class InspectorLinks:
    """Addresses of the inspector of a group.

    Attributes:
        beside: Whether it stands beside the graph, on the page of the model.
    """

    mlmodel: MLModel
    build: str
    sequence: int
    revision: str
    beside: bool

    def page(self, **query: str) -> str:
        """The page with this inspector."""
        more = {"build": self.build, **query} | (
            {"revision": self.revision} if self.revision else {}
        )
        if self.beside:
            more["group"] = str(self.sequence)
            return f"{address(self.mlmodel, 'perf')}?{urlencode(more)}"
        return f"{address(self.mlmodel, 'perf-group', self.sequence)}?{urlencode(more)}"

    def fragment(self, **query: str) -> str:
        """The inspector alone, for htmx."""
        more = {"build": self.build, **query} | (
            {"revision": self.revision} if self.revision else {}
        )
        if self.beside:
            more["beside"] = "1"
        return f"{address(self.mlmodel, 'perf-group', self.sequence)}?{urlencode(more)}"


def inspector(
    actor: Actor,
    performance: Performance,
    group: Group,
    links: InspectorLinks,
    query: Mapping[str, str],
    *,
    may_see_code: bool,
) -> dict[str, Any]:
    """The context of the inspector's template.

    Args:
        query: Parameters of the address: ``tab`` and ``kind`` (of code).
        may_see_code: Whether ``actor`` may fetch the model's files, which code tells about.
    """
    tab = query.get("tab", "why") if query.get("tab") in TABS else "why"
    facts = evidence_of(actor, performance, group)
    context: dict[str, Any] = {
        "group": group,
        "site": group.site,
        "links": links,
        "view": tab,
        "tabs": [
            InspectorTab(key, title, links.page(tab=key), links.fragment(tab=key), key == tab)
            for key, title in TABS.items()
        ],
        "nodes": _nodes(group, performance.network),
        "label": performance.label(group),
        "evidence": facts.evidence,
        "roofline": facts.roofline,
        "roofs": facts.roofs,
        "calls_of_kernel": _calls_of_kernel(performance, group),
        "may_see_code": may_see_code,
    }
    if may_see_code or tab not in _CODE_TABS:
        context |= _tab(actor, performance, facts, links, tab, query.get("kind", ""))
    return context


def _tab(
    actor: Actor,
    performance: Performance,
    facts: GroupEvidence,
    links: InspectorLinks,
    tab: str,
    kind: str,
) -> dict[str, Any]:
    """What the template of a tab shows."""
    group = facts.group
    match tab:
        case "why":
            return {"reasons": [(one, _place(one, links)) for one in facts.reasons]}
        case "loops":
            return loops_context(facts)
        case "code" | "asm":
            shown = code_context(facts, tab, kind)
            return shown | {"kinds": _kinds(links, tab, shown)}
        case "schedule":
            confirmed = confirmed_of(actor, group.workload) if group.workload else []
            tasks = workloads_of(actor, target=performance.build.target.slug)
            return {
                "decisions": decisions_of(group.site.kernel),
                "confirmed": confirmed,
                "task": tasks.filter(key=group.workload).first() if group.workload else None,
            }
    target = performance.build.target_id
    builds = [one for one in profiled_builds(performance.build.graph) if one.target_id == target]
    return {
        "comparison": build_comparison(builds, group.nodes),
        "peers": workload_peers(actor, group.workload, but=links.mlmodel),
    }


def _kinds(links: InspectorLinks, tab: str, shown: Mapping[str, Any]) -> list[InspectorTab]:
    """The kinds of code that a kernel has, as links."""
    return [
        InspectorTab(
            one,
            KINDS[one],
            links.page(tab=tab, kind=one),
            links.fragment(tab=tab, kind=one),
            one == shown["kind"],
        )
        for one in shown.get("kinds", ())
    ]


def _nodes(group: Group, network: NetworkWork | None) -> list[tuple[int, str, str, str]]:
    """Position, name, operator and grade of each node."""
    nodes = sorted({(node["index"], node["grade"]) for node in group.site.nodes})
    if network is None:
        return [(index, "", "", grade) for index, grade in nodes]
    return [
        (
            index,
            network.names[index] if index < len(network) else "",
            network.operators[index] if index < len(network) else "",
            grade,
        )
        for index, grade in nodes
    ]


def _calls_of_kernel(performance: Performance, group: Group) -> list[Group]:
    """Other groups that run the same kernel."""
    kernel = group.site.kernel_id
    if kernel is None:
        return []
    return [one for one in performance.groups if one.site.kernel_id == kernel and one is not group]


def _place(reason: Reason, links: InspectorLinks) -> tuple[str, str, str]:
    """Page, fragment and title of the tab with the numbers of a reason; "" if they are here."""
    tab = _TAB_OF[reason.place]
    if tab == "why":
        return "", "", ""
    return links.page(tab=tab), links.fragment(tab=tab), TABS[tab]
