"""What nobody has searched yet."""

from django.db.models import Exists, F, OuterRef, QuerySet

from registry.states import JobKind, RefKind
from registry.tables import Graph, Job, Ref, Revision, Target


def unsearched_heads(target: Target) -> QuerySet[Revision]:
    """Newest revisions of default branches whose known network was never searched on ``target``.

    A search that was asked for counts, however it ended: what failed once would fail again.
    """
    heads = Ref.objects.filter(kind=RefKind.BRANCH, name=F("mlmodel__default_branch"))
    graphs = Graph.objects.filter(revision=OuterRef("pk"), is_primary=True)
    searches = Job.objects.filter(revision=OuterRef("pk"), target=target, kind=JobKind.TUNE)
    return (
        Revision.objects.filter(Exists(graphs), ~Exists(searches), pk__in=heads.values("revision"))
        .select_related("mlmodel__namespace")
        .order_by("-id")
    )
