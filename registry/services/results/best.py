"""The table of best builds, which repeats what the builds of each model's head say."""

from collections.abc import Callable, Collection

from django.db import transaction

from registry.selectors.results.best import best_at_heads
from registry.states import RepositoryKind
from registry.tables import BestBuild, Build, MLModel, OutboxEntry, Target

#: Models whose rows are computed at once.
AT_ONCE = 500
_CHANGING = (
    *("build_id", "p50_ns", "ratio", "throughput_per_s", "accuracy", "accuracy_reference"),
)


def best_builds_update(mlmodel: MLModel, *, target: Target | None = None) -> bool:
    """Write the best builds of a model's head anew; whether any changed.

    Call it in the transaction that changes what they depend on: the head of the default branch,
    its primary network, builds, or reproductions. :mod:`registry.services.work.rerank` does this
    when the trust in a device changes. The caller tells the search index.

    Args:
        target: The only target of which builds changed; ``None`` for all.
    """
    if mlmodel.kind != RepositoryKind.MODEL:
        return False
    with transaction.atomic():
        # Until the end of the transaction, nobody else moves the head or writes rows of the model.
        list(MLModel.objects.select_for_update(no_key=True).filter(pk=mlmodel.pk).values("pk"))
        return bool(_write([mlmodel.pk], target))


def best_builds_rebuild(*, progress: Callable[[int], None] = lambda _: None) -> int:
    """Write the best builds of all models anew; the number of models whose rows changed.

    Needed only after rows were lost or changed by hand. ``progress`` gets the number of models
    that were looked at.
    """
    last, seen, count = 0, 0, 0
    rows = MLModel.objects.filter(kind=RepositoryKind.MODEL).order_by("pk")
    while keys := list(rows.filter(pk__gt=last).values_list("pk", flat=True)[:AT_ONCE]):
        count += best_builds_rewrite(keys)
        last, seen = keys[-1], seen + len(keys)
        progress(seen)
    return count


def best_builds_rewrite(mlmodels: Collection[int]) -> int:
    """Write the best builds of models anew and tell the search index; returns the number of models
    whose rows changed.

    Args:
        mlmodels: Keys of at most :data:`AT_ONCE` models.
    """
    with transaction.atomic():
        locked = MLModel.objects.select_for_update(no_key=True).filter(pk__in=mlmodels)
        uuids = dict(locked.order_by("pk").values_list("pk", "uuid"))
        changed = _write(list(uuids), None)
        OutboxEntry.objects.bulk_create(
            OutboxEntry(mlmodel_uuid=uuids[pk]) for pk in sorted(changed)
        )
    return len(changed)


def _write(mlmodels: list[int], target: Target | None) -> set[int]:
    """Write the rows of locked MLModels; the keys of those whose rows changed."""
    stored = BestBuild.objects.filter(mlmodel__in=mlmodels)
    if target is not None:
        stored = stored.filter(target=target)
    rows = {(row.mlmodel_id, row.target_id, row.scenario, row.tolerance): row for row in stored}
    new, changed = [], []
    for (mlmodel, target_key, scenario), best in best_at_heads(mlmodels, target=target).items():
        for tolerance, build in best.items():
            columns = _columns(build)
            row = rows.pop((mlmodel, target_key, scenario, tolerance.value), None)
            if row is None:
                new.append(
                    BestBuild(
                        mlmodel_id=mlmodel,
                        target_id=target_key,
                        scenario=scenario,
                        tolerance=tolerance,
                        **columns,
                    )
                )
            elif any(getattr(row, name) != value for name, value in columns.items()):
                for name, value in columns.items():
                    setattr(row, name, value)
                changed.append(row)
    gone = list(rows.values())
    BestBuild.objects.filter(pk__in=[row.pk for row in gone]).delete()
    BestBuild.objects.bulk_update(changed, _CHANGING)
    BestBuild.objects.bulk_create(new)
    return {row.mlmodel_id for row in (*new, *changed, *gone)}


def _columns(build: Build) -> dict[str, object]:
    return {
        "build_id": build.pk,
        "p50_ns": build.p50_ns,
        "ratio": 1.0 if build.is_baseline else build.ratio,
        "throughput_per_s": build.throughput_per_s,
        "accuracy": build.accuracy,
        "accuracy_reference": build.accuracy_reference,
    }
