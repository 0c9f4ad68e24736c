"""The access matrix: what is private is not there for strangers, at any address."""

import re
from collections.abc import Callable, Iterable
from typing import Any

from hub.api import schema
from registry.states import Scope
from registry.tables import User
from tests.hub.api.client import Answer, Api
from tests.hub.api.scene import Scene

#: Operations about one model or what hangs on it: how to address it for a scene.
ABOUT: dict[str, Callable[[Scene], str]] = {
    "model_get": lambda s: f"models/{s.name}",
    "model_change": lambda s: f"models/{s.name}",
    "model_delete": lambda s: f"models/{s.name}",
    "commit": lambda s: f"models/{s.name}/commits",
    "revision_list": lambda s: f"models/{s.name}/revisions",
    "revision_get": lambda s: f"models/{s.name}/revisions/{s.revision.oid}",
    "ref_list": lambda s: f"models/{s.name}/refs",
    "ref_put": lambda s: f"models/{s.name}/refs/tag/v1",
    "ref_delete": lambda s: f"models/{s.name}/refs/branch/main",
    "model_file": lambda s: f"models/{s.name}/files/README.md",
    "model_files": lambda s: f"models/{s.name}/files",
    "model_graph": lambda s: f"models/{s.name}/graph",
    "model_topology": lambda s: f"models/{s.name}/topology",
    "model_findings": lambda s: f"models/{s.name}/findings",
    "model_equal_ranges": lambda s: (
        f"models/{s.name}/equal-ranges?sha256={'0' * 64}&earlier={'1' * 64}"
    ),
    "model_identifiers": lambda s: f"models/{s.name}/identifiers",
    "identifier_get": lambda s: f"identifiers/{s.revision.identifiers.get().name}",
    "model_evidence": lambda s: f"models/{s.name}/evidence",
    "model_evidence_put": lambda s: f"models/{s.name}/evidence",
    "model_builds": lambda s: f"models/{s.name}/builds",
    "model_performance": lambda s: f"models/{s.name}/performance",
    "model_tests": lambda s: f"models/{s.name}/tests",
    "model_records": lambda s: f"models/{s.name}/records",
    "model_resolve": lambda s: f"models/{s.name}/resolve",
    "model_tune": lambda s: f"models/{s.name}/tune",
    "model_doi": lambda s: f"models/{s.name}/doi",
    "model_assessment": lambda s: f"models/{s.name}/assessment",
    "model_assess": lambda s: f"models/{s.name}/assessment",
    "model_assessments": lambda s: f"models/{s.name}/assessments",
    "model_profiles": lambda s: f"models/{s.name}/profiles",
    "model_profile_import": lambda s: f"models/{s.name}/profiles",
    "profile_get": lambda s: f"profiles/{s.profile.uuid}",
    "profile_delete": lambda s: f"profiles/{s.profile.uuid}",
    "profile_calls": lambda s: f"profiles/{s.profile.uuid}/calls",
    "build_get": lambda s: f"builds/{s.fast.uuid}",
    "build_attestation": lambda s: f"builds/{s.fast.uuid}/attestation",
    "build_reproductions": lambda s: f"builds/{s.fast.uuid}/reproductions",
    "build_profile": lambda s: f"builds/{s.fast.uuid}/profile",
    "build_call_sites": lambda s: f"builds/{s.fast.uuid}/call-sites",
    "build_group": lambda s: f"builds/{s.fast.uuid}/groups/1",
    "build_file": lambda s: f"builds/{s.fast.uuid}/files/model.ort",
    "workload_get": lambda s: f"workloads/{s.workload.uuid}",
    "workload_trials": lambda s: f"workloads/{s.workload.uuid}/trials",
    "workload_ablations": lambda s: f"workloads/{s.workload.uuid}/ablations",
    "workload_ablate": lambda s: f"workloads/{s.workload.uuid}/ablations",
    "workload_cross_applications": lambda s: f"workloads/{s.workload.uuid}/cross-applications",
    "workload_cross_apply": lambda s: f"workloads/{s.workload.uuid}/cross-applications",
    "job_get": lambda s: f"jobs/{s.job.uuid}",
    "job_cancel": lambda s: f"jobs/{s.job.uuid}/cancel",
    "job_trials": lambda s: f"jobs/{s.job.uuid}/trials",
    "job_events": lambda s: f"jobs/{s.job.uuid}/events",
    "trial_get": lambda s: f"trials/{s.trial.uuid}",
    "record_get": lambda s: f"records/{s.record.pk}",
    "record_attestation": lambda s: f"records/{s.record.pk}/attestation",
}

#: Operations about nothing private, or about the asker; what they show is tried elsewhere.
NOT_ABOUT = {
    "whoami", "key_list", "account_change", "token_list", "token_issue", "token_revoke",
    "organisation_create", "organisation_get", "organisation_change",
    "member_list", "member_set", "member_remove",
    "model_search", "model_create", "blob_missing", "blob_put", "blob_head",
    "target_list", "target_get", "target_change", "device_list", "device_get",
    "job_list", "record_list", "record_add", "record_schema", "topology_schema", "fair_report",
    "assessment_schema",
    # Of models by name in the body: tests/workers/jobs/test_modelimport.py.
    "model_import", "import_servers",
    # Their readers only: test_workload.py, tests/registry/analysis/test_comparison.py.
    "workload_list", "compare",
    # Of public models only: tests/registry/analysis/test_principle.py.
    "principle_list", "principle_get",
    "dataset_identifiers", "target_import", "target_save", "device_change", "device_code_issue",
    # Devices reach what belongs to the jobs that they hold: test_agent.py, test_agentblob.py.
    "agent_enrol", "agent_check", "agent_hello", "agent_heartbeat", "agent_leave", "agent_claim",
    "agent_job_read", "agent_job_write", "agent_job_end", "agent_blob_get", "agent_blob_put",
    # Operators only: test_bundle.py.
    "bundle_list", "bundle_get", "bundle_export", "bundle_file", "bundle_import", "bundle_cancel",
    # Their owner only: test_run.py.
    "model_run", "run_get", "run_outputs", "run_delete",
}  # fmt: skip

#: Lists over all models, and where an item names its model.
LISTS: dict[str, Callable[[dict[str, Any]], str]] = {
    "models": lambda item: item["name"],
    "jobs": lambda item: item["model"],
    "records": lambda item: item["identity"]["mlmodel"],
}

BODIES: dict[str, Any] = {
    "model_change": {"visibility": "public"},
    "commit": {"message": "x", "operations": [{"op": "delete", "path": "model.onnx"}]},
    "ref_put": {"revision": "main"},
    "model_resolve": {
        "machine": {"architecture": "x86-64", "features": ["avx2"]},
        "runtimes": {"onnxruntime": "1"},
    },
    "model_tune": {},
    "model_doi": {},
    "model_assess": {},
    "workload_ablate": {},
    "workload_cross_apply": {},
    "model_evidence_put": {"document": {}},
    "model_profile_import": {"sha256": "0" * 64, "target": "a laptop"},
}


def operations() -> dict[str, str]:
    """Operation id to method, from the API's own description."""
    return {
        operation["operationId"]: method.upper()
        for methods in schema.document()["paths"].values()
        for method, operation in methods.items()
    }


def test_every_operation_has_a_place_in_the_matrix() -> None:
    assert set(operations()) == set(ABOUT) | NOT_ABOUT
    assert not set(ABOUT) & NOT_ABOUT


#: The scene has no large files whose ranges could be equal, and was not imported.
ABSENT = {"model_equal_ranges", "model_evidence"}
READS = [o for o in ABOUT if operations()[o] == "GET" and o not in ABSENT]
#: Resolving is a question, though asked by POST.
WRITES = [o for o in ABOUT if operations()[o] != "GET" and o != "model_resolve"]


def ask(api: Api, operation: str, scene: Scene) -> Answer:
    method = operations()[operation]
    return api.send(method, ABOUT[operation](scene), BODIES.get(operation))


def statuses(api: Api, asked: Iterable[str], scene: Scene) -> dict[str, int]:
    return {operation: ask(api, operation, scene).status for operation in asked}


def codes(api: Api, asked: Iterable[str], scene: Scene) -> dict[str, str]:
    return {operation: ask(api, operation, scene).code for operation in asked}


def test_a_stranger_cannot_tell_a_private_model_from_none(alice: User, secret_scene: Scene) -> None:
    stranger = Api(alice, Scope.ADMIN)
    for operation in ABOUT:
        answer = ask(stranger, operation, secret_scene)
        assert answer.status == 404, (operation, answer.content)
        assert answer.code.endswith("_not_found")
        assert answer.headers["Cache-Control"] == "private, no-cache"
        assert not re.search(rb"galaxies|hidden|artefact", answer.content), operation


def test_nobody_but_a_member_reads_anything_of_a_private_model(
    anonymous: Api, charlie: User, secret_scene: Scene
) -> None:
    assert statuses(anonymous, ABOUT, secret_scene) == {
        operation: 401 if operation in WRITES else 404 for operation in ABOUT
    }
    member = Api(charlie, Scope.READ)
    assert statuses(member, READS, secret_scene) == dict.fromkeys(READS, 200)


def test_everybody_reads_all_of_a_public_model(anonymous: Api, scene: Scene) -> None:
    for operation in READS:
        answer = ask(anonymous, operation, scene)
        head = anonymous.send("HEAD", ABOUT[operation](scene))
        assert (answer.status, head.status, head.content) == (200, 200, b""), operation
        assert head.headers["Content-Length"] == str(len(answer.content))


def test_neither_who_may_only_read_nor_a_reading_token_may_write(
    alice: User, charlie: User, scene: Scene
) -> None:
    refused = codes(Api(alice, Scope.ADMIN), WRITES, scene)
    assert refused == dict.fromkeys(WRITES, "permission_denied")
    refused = codes(Api(charlie, Scope.READ), WRITES, scene)
    assert refused == dict.fromkeys(WRITES, "scope_missing")


def test_lists_hold_what_the_asker_may_see(
    anonymous: Api, alice: User, charlie: User, scene: Scene, secret_scene: Scene
) -> None:
    stranger, member = Api(alice), Api(charlie)
    for path, named in LISTS.items():
        assert seen(anonymous, path, named) == {"lab/galaxy-cnn"}, path
        assert seen(stranger, path, named) == {"lab/galaxy-cnn"}, path
        assert seen(member, path, named) == {"lab/galaxy-cnn", "lab/secret"}, path


def seen(api: Api, path: str, named: Callable[[dict[str, Any]], str]) -> set[str]:
    return {named(item) for item in api.all(path, limit=10)}


def test_a_model_that_becomes_private_is_gone_everywhere(
    anonymous: Api, charlie: User, scene: Scene
) -> None:
    assert set(statuses(anonymous, READS, scene).values()) == {200}
    Api(charlie).patch(f"models/{scene.name}", {"visibility": "private"}).ok()
    assert set(statuses(anonymous, READS, scene).values()) == {404}
