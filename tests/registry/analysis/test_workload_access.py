"""Who reads which operator workloads, against a plain loop over models, networks and members."""

from itertools import combinations

import pytest
from django.contrib.auth.models import AnonymousUser

from registry.selectors.access import Actor, readable_workloads
from registry.selectors.people.account import user_of_token
from registry.services.people.account import member_set, organisation_create
from registry.states import Role, Scope
from registry.tables import Namespace, Revision, ScheduleTask, ScheduleUse
from tests.factories import make_mlmodel, make_token, make_user, member
from tests.registry import shopfloor

pytestmark = pytest.mark.django_db

#: Name, whether it is private, and the hash of its network. Two private models share a network.
MODELS = [
    ("alice/open", False, "1" * 64),
    ("alice/closed", True, "2" * 64),
    ("lab/open", False, "3" * 64),
    ("lab/closed", True, "4" * 64),
    ("lab/twin", True, "2" * 64),
]
#: Owner of a namespace to all its members.
MEMBERS = {"alice": {"alice"}, "lab": {"charlie", "rita", "wanda", "ada"}}
ROLES = {"rita": Role.READ, "wanda": Role.WRITE, "ada": Role.ADMIN}


@pytest.fixture
def workloads() -> dict[str, set[str]]:
    """A workload for every set of networks, also for none: its id to the hashes that use it."""
    for name in ("alice", "bob", "charlie", *ROLES):
        make_user(name)
    lab = organisation_create(actor=member("charlie"), name="lab")
    for name, role in ROLES.items():
        member_set(actor=member("charlie"), namespace=lab, user=member(name), role=role)
    organisation_create(actor=member("charlie"), name="elsewhere")
    for name, private, digest in MODELS:
        mlmodel = make_mlmodel(name, visibility="private" if private else "public")
        graph = shopfloor.graph_row(Revision.objects.filter(mlmodel=mlmodel).latest("pk"))
        graph.graph_hash = digest
        graph.save()
    target, _ = shopfloor.make_machine()
    source = shopfloor.make_blob(b"loops")
    digests = sorted({digest for _, _, digest in MODELS})
    made = {}
    for count in range(len(digests) + 1):
        for users in combinations(digests, count):
            task = ScheduleTask.objects.create(
                key=f"{len(made):064x}", target=target, toolchain="tvm 1", name="conv2d",
                anchor="conv2d", flops=1.0, source=source,
            )  # fmt: skip
            for digest in users:
                ScheduleUse.objects.create(task=task, graph_hash=digest, calls=1)
            made[str(task.uuid)] = set(users)
    assert len(made) == 16
    return made


def by_token(name: str, namespace: str) -> Actor:
    """A person with a token that is limited to a namespace."""
    limit = Namespace.objects.get(name=namespace)
    return user_of_token(make_token(member(name), Scope.READ, namespace=limit))


def test_workloads_are_those_of_networks_that_a_reader_may_see(
    workloads: dict[str, set[str]],
) -> None:
    inactive = member("charlie")
    inactive.is_active = False
    #: Each actor, and who it is to each namespace.
    actors: list[tuple[str, Actor, str, set[str]]] = [
        ("nobody", AnonymousUser(), "", set()),
        ("inactive", inactive, "", set()),
        *((name, member(name), name, set(MEMBERS)) for name in ("alice", "bob", "charlie", *ROLES)),
        ("limited to lab", by_token("rita", "lab"), "rita", {"lab"}),
        ("limited elsewhere", by_token("charlie", "elsewhere"), "charlie", set()),
    ]
    for case, actor, name, namespaces in actors:
        visible = set()
        for full_name, private, digest in MODELS:
            namespace = full_name.partition("/")[0]
            if not private or (namespace in namespaces and name in MEMBERS[namespace]):
                visible.add(digest)
        expected = {uuid for uuid, users in workloads.items() if users & visible}
        rows = [str(row.uuid) for row in readable_workloads(actor)]
        assert len(rows) == len(set(rows)), case
        assert set(rows) == expected, case


def test_the_hub_reads_also_those_that_no_network_uses(workloads: dict[str, set[str]]) -> None:
    assert {str(row.uuid) for row in readable_workloads(None)} == set(workloads)
