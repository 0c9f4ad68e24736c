"""Methods of the client for comparisons, profiles, networks as graphs, and experiments."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hpcfair import (
    comparison,
    experiment,
    importedprofile,
    performance,
    pid,
    principle,
    topology,
    workload,
)
from hpcfair.comparison import ComparisonFilters
from hpcfair.importedprofile import ImportedProfile, ImportOptions
from hpcfair.job import Job
from hpcfair.methods.base import BaseClient
from hpcfair.performance import Performance
from hpcfair.principle import Principle
from hpcfair.topology import Topology
from hpcfair.typingnames import Unpack
from hpcfair.workload import Workload


class AnalysisMethods(BaseClient):
    """Methods of the client for comparisons, profiles, networks as graphs, and experiments."""

    def compare(
        self, builds: Sequence[str] = (), **filters: Unpack[ComparisonFilters]
    ) -> dict[str, Any]:
        """Compare published builds: figures, conditions, failures, times by groups of nodes.

        Args:
            builds: UUIDs, of which the first is what the others are compared with.
            filters: ``models=["lab/net"]``, ``targets``, ``backends``, ``tolerances``; and limits,
                ``accuracy=0.98``, ``latency_ms=5``, within which ``answer`` of the result names the
                cheapest build by ``cost``; see :class:`hpcfair.comparison.ComparisonFilters`.

        Returns:
            The document of the hub's API; figures that were not measured are ``None``.
        """
        return comparison.compare(self.http, builds, **filters)

    def performance(
        self, name: str, *, target: str | None = None, build: str | None = None
    ) -> Performance:
        """What a build spends its time on, and why; by default the best profiled build."""
        name, revision = pid.locate(self.http, self.cache, name, None)
        return performance.performance(self.http, name, revision, target=target, build=build)

    def topology(
        self, name: str, *, revision: str | None = None, path: str | None = None
    ) -> Topology:
        """A network as a graph: nodes, tensors, statistics of weights, groups and coordinates.

        ``path`` is the file of the network; by default the primary one.
        """
        name, revision = pid.locate(self.http, self.cache, name, revision)
        return topology.topology(self.http, name, revision=revision, path=path)

    def profiles_import(
        self, name: str, file: Path | str, *, target: str, **options: Unpack[ImportOptions]
    ) -> ImportedProfile:
        """Import a profile that another tool measured, and match it to the model's network.

        Args:
            file: An ONNX Runtime trace, OpenVINO counters, a profile of ``trtexec`` or kernels of
                Nsight Systems.
            target: The machine, as a name of a target or in words.
            options: See :class:`hpcfair.importedprofile.ImportOptions`.

        Raises:
            Invalid: ``invalid_profile``: the file is damaged, its times cannot be true, or it is a
                profile of another network.
        """
        return importedprofile.import_profile(self.http, name, Path(file), target=target, **options)

    def profiles(self, name: str) -> list[ImportedProfile]:
        """The imported profiles of a model, newest first."""
        return importedprofile.profiles(self.http, name)

    def profile(self, uuid: str) -> ImportedProfile:
        """An imported profile with its totals."""
        return importedprofile.profile(self.http, uuid)

    def profile_delete(self, uuid: str) -> None:
        """Delete an imported profile; its importer and admins may."""
        importedprofile.delete_profile(self.http, uuid)

    def workloads(
        self, *, target: str | None = None, operator: str | None = None
    ) -> Iterator[Workload]:
        """Operator workloads of readable models, newest first."""
        return workload.workloads(self.http, target=target, operator=operator)

    def workload_trials(self, uuid: str) -> Iterator[dict[str, Any]]:
        """Trials of the schedules of an operator workload, in the order in which they ended."""
        return workload.workload_trials(self.http, uuid)

    def principles(
        self, *, status: str | None = None, anchor: str | None = None
    ) -> Iterator[Principle]:
        """What fast schedules of each operator share."""
        return principle.principles(self.http, status=status, anchor=anchor)

    def principle(self, identifier: str, *, version: int | None = None) -> dict[str, Any]:
        """A principle with its query and evidence."""
        return principle.principle(self.http, identifier, version=version)

    def ablate(self, workload: str, *, budget: str | float | None = None) -> Job:
        """Request an ablation of the best schedule of an operator workload, by its id."""
        return experiment.ablate(self.http, workload, budget=budget)

    def ablations(self, workload: str) -> list[dict[str, Any]]:
        """The newest ablation of an operator workload."""
        return experiment.ablations(self.http, workload)
