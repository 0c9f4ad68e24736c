"""Methods of the client for models between hubs: bundles and mirrors."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from hpcfair import mirror, pid
from hpcfair.acceptance import Acceptance
from hpcfair.methods.base import BaseClient
from hpcfair.mirror import MirroredModel
from hpcfair.modelbundle.collection import BundleOptions
from hpcfair.modelbundle.writer import BundleSummary, write_bundle
from hpcfair.precisions import TOLERANCES, Tolerance
from hpcfair.scenarios import SINGLE_STREAM, Scenario, checked_scenario
from hpcfair.targetdefinition import target_list


class BundleMethods(BaseClient):
    """Methods of the client for models between hubs: bundles and mirrors."""

    def bundle(
        self,
        name: str,
        path: Path | str,
        *,
        revision: str | None = None,
        targets: Sequence[str] = (),
        tolerances: Sequence[Tolerance] = TOLERANCES[:1],
        scenarios: Sequence[Scenario] = (SINGLE_STREAM,),
        weights: bool = True,
    ) -> BundleSummary:
        """Pack a model into a file that :meth:`load` runs without the hub and without a network.

        The file has the best build for each target, class and scenario, the published files,
        benchmark records, metadata records, test tensors, and what the hub signed. An interrupted
        call leaves no file; the next one fetches only what is missing.

        Args:
            name: As in :meth:`load`.
            path: Of the file, ``x.hpcfair``, or of a new folder, ``x.oci``, for the same as an OCI
                image layout, which registries of containers store.
            revision: Branch, tag or commit id; default: the default branch.
            targets: Targets of the builds; default: those of this machine.
            tolerances: Tolerance classes; each implies the stricter ones.
            scenarios: As in :meth:`load`.
            weights: Whether the published network and weights are packed, too; without them, only
                machines of the targets can run the model.

        Raises:
            ModelNotFound, RevisionNotFound, NotFound: there is no such model, revision or target.
            BadInput: the path has another suffix, or nothing that could be run would be packed.
            StorageFailed: the file cannot be written.
        """
        options = BundleOptions(
            target_list(targets),
            tuple(str(Acceptance.of(each).tolerance) for each in tolerances),
            tuple(checked_scenario(each) for each in scenarios),
            weights,
        )
        name, revision = pid.locate(self.http, self.cache, name, revision)
        return write_bundle(self.http, self.cache, name, Path(path), revision, options)

    def mirror(
        self,
        source: str,
        *selection: str,
        to: str | None = None,
        overwrite: bool = False,
        dry_run: bool = False,
    ) -> Iterator[MirroredModel]:
        """Bring models of another hub up to date in this one; again to keep them so.

        Each model is imported with its origin, persistent identifiers, and what the other hub
        measured and signed. A result is returned as soon as its model is done; a refusal concerns
        one model only. Nothing is deleted here. An interrupted run is continued by the next one.

        Args:
            source: Address of the other hub; ``hpcfair login`` stores a token for it.
            selection: Models there: ``namespace/name``, ``namespace/*``, or a query as of
                :meth:`search`.
            to: Namespace for all of them; default: each keeps its own.
            overwrite: Also replace files that were changed on this hub.
            dry_run: Compare only.

        Raises:
            BadInput: nothing is selected, or the source is this hub.
            HubUnreachable, Unavailable, Unauthenticated: of either hub; they end the run.
        """
        return mirror.mirror(
            self.http, self.cache, source, selection, to, overwrite=overwrite, is_dry=dry_run
        )
