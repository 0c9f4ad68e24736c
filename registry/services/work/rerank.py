"""Rewrites the tables of best builds after a device lost or regained trust.

The device may have measured or reproduced builds of most models of the hub. So the change of trust
only stores that their rows are out of date, and the reaper rewrites them in batches. A load does
not depend on these rows, because it applies the rule to the builds themselves.
"""

from django.db.models import Q

from registry.services.results.best import AT_ONCE, best_builds_rewrite
from registry.tables import Build, Device, MLModel, Reproduction

#: Value of ``Device.rerank_below`` for all models.
ALL_MODELS = 2**63 - 1
#: Most batches of one device in one call of the reaper.
_ROUNDS = 20


def reranks_continue() -> None:
    """Rewrite further batches for all devices that lost or regained trust."""
    for key in list(Device.objects.exclude(rerank_below=None).values_list("pk", flat=True)):
        for _ in range(_ROUNDS):
            if not _step(key):
                break


def _step(key: int) -> bool:
    """Rewrite a batch of the remaining models of a device, newest first; returns whether models may
    remain."""
    device = Device.objects.get(pk=key)
    if device.rerank_below is None:
        return False
    published = Build.objects.filter(withdrawn_at=None)
    own = (
        published.filter(record__device=device),
        published.filter(pk__in=Reproduction.objects.filter(job__device=device).values("build")),
    )
    measured, reproduced = (Q(pk__in=one.values("graph__revision__mlmodel")) for one in own)
    rows = MLModel.objects.filter(measured | reproduced, pk__lt=device.rerank_below)
    keys = list(rows.order_by("-pk").values_list("pk", flat=True)[:AT_ONCE])
    best_builds_rewrite(keys)
    rest = keys[-1] if len(keys) == AT_ONCE else None
    # Not if the trust changed again meanwhile.
    unchanged = Device.objects.filter(
        pk=key, is_trusted=device.is_trusted, rerank_below=device.rerank_below
    )
    unchanged.update(rerank_below=rest)
    return rest is not None
