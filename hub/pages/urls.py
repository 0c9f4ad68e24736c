"""URL configuration of the pages. Namespaces come last: their addresses match almost anything."""

from django.urls import URLPattern, path
from django.views.generic import RedirectView

from hub.pages import (
    account,
    answers,
    assessment,
    build,
    bundle,
    catalogue,
    commit,
    comparison,
    device,
    devicegrant,
    discussion,
    doi,
    files,
    fleet,
    gate,
    home,
    importedprofile,
    job,
    landing,
    lineage,
    lines,
    manual,
    mlmodel,
    organisation,
    passes,
    password,
    performance,
    person,
    record,
    run,
    settings,
    talk,
    target,
    targetform,
    topology,
    tunenext,
    views,
    webhook,
)
from hub.pages.frame import View
from registry.states import RepositoryKind

#: Name, rest of the address after ``namespace/name``, and view: for models and data sets.
_SHARED: list[tuple[str, str, View]] = [
    ("card", "", landing.card),
    ("cite", "/cite", landing.cite),
    ("tree", "/tree/<path:place>", files.tree),
    ("blob", "/blob/<path:place>", files.blob),
    ("raw", "/raw/<path:place>", files.raw),
    ("upload", "/upload", mlmodel.upload),
    ("describe", "/describe", answers.describe),
    ("fair", "/fair", assessment.assessment),
    ("look", "/fair/look", assessment.assess_again),
    ("badge", "/badge/fair.svg", assessment.badge),
    ("like", "/like", mlmodel.like),
    ("ask", "/ask", gate.ask),
    ("history", "/history", commit.history),
    ("commit", "/commit/<str:oid>", commit.commit),
    ("lineage", "/lineage", lineage.lineage),
    ("discussions", "/discussions", discussion.discussions),
    ("discussion-new", "/discussions/new", discussion.new),
    ("discussion", "/discussions/<int:num>", discussion.discussion),
    ("discussion-changes", "/discussions/<int:num>/changes", discussion.changes),
    ("discussion-comment", "/discussions/<int:num>/comment", talk.comment),
    ("discussion-rename", "/discussions/<int:num>/rename", talk.rename),
    ("discussion-change", "/discussions/<int:num>/change", talk.change),
    ("comment-edit", "/discussions/<int:num>/comments/<uuid:uuid>/edit", talk.edit),
    ("comment-hide", "/discussions/<int:num>/comments/<uuid:uuid>/hide", talk.hide),
    ("discussion-merge", "/discussions/<int:num>/merge", talk.merge),
    ("settings", "/settings", settings.settings),
    ("move", "/settings/move", settings.move),
    ("delete", "/settings/delete", settings.delete),
    ("line-create", "/settings/lines", lines.create),
    ("line-delete", "/settings/lines/delete", lines.delete),
    ("doi", "/settings/doi", doi.register),
    ("grant", "/settings/access", gate.grant),
    ("answer", "/settings/access/<uuid:uuid>", gate.answer),
]
#: For models only.
_BUILT: list[tuple[str, str, View]] = [
    ("builds", "/builds", mlmodel.builds),
    ("graph", "/graph", topology.graph),
    ("perf", "/perf", performance.performance),
    ("perf-group", "/perf/groups/<int:sequence>", performance.group),
    ("jobs", "/jobs", mlmodel.jobs),
    ("jobs-summary", "/jobs/summary", job.summary),
    ("tune", "/tune", mlmodel.tune),
    ("profiles", "/profiles", importedprofile.profiles),
]


def _repository(
    kind: RepositoryKind, prefix: str, table: list[tuple[str, str, View]]
) -> list[URLPattern]:
    root = f"{prefix}<str:namespace>/<str:name>"
    return [
        path(f"{root}{tail}", view, {"kind": kind}, name=f"{kind}-{name}")
        for name, tail, view in table
    ]


urlpatterns = [
    path("", home.home, name="home"),
    path("models", catalogue.catalogue, name="catalogue"),
    path("datasets", home.datasets, name="datasets"),
    path("new", mlmodel.new, name="new"),
    path("fleet", fleet.fleet, name="fleet"),
    path("fleet/code", fleet.code, name="fleet-code"),
    path("devices/<uuid:uuid>", device.device, name="device"),
    *(
        path(f"devices/<uuid:uuid>/{name}", device.change, {"action": name}, name=f"device-{name}")
        for name in device.ACTIONS
    ),
    path("targets", target.targets, name="targets"),
    path("targets/new", targetform.new, name="target-new"),
    path("targets/<slug:slug>", target.target, name="target"),
    path("tune-next", tunenext.tune_next_page, name="tune-next"),
    path("jobs", job.jobs, name="jobs"),
    path("jobs/<uuid:uuid>", job.job, name="job"),
    path("jobs/<uuid:uuid>/cancel", job.cancel, name="job-cancel"),
    path("jobs/<uuid:uuid>/outputs", run.outputs, name="run-outputs"),
    path("jobs/<uuid:uuid>/delete", run.delete, name="run-delete"),
    path("compare", comparison.compare, name="compare"),
    path("passes", passes.passes, name="passes"),
    path("records", record.records, name="records"),
    path("records/<str:record_id>", record.record, name="record"),
    path("builds/<uuid:uuid>", build.build, name="build"),
    path("profiles/<uuid:uuid>", importedprofile.profile, name="imported-profile"),
    path("profiles/<uuid:uuid>/delete", importedprofile.delete, name="imported-profile-delete"),
    path("fair", assessment.report, name="fair"),
    path("docs/errors", views.error_codes, name="docs-errors"),
    path("docs", RedirectView.as_view(pattern_name="manual")),
    path("docs/", manual.manual, name="manual"),
    path("docs/<path:place>", manual.manual),
    path("device", devicegrant.device_grant, name="device-grant"),
    path("login", account.Login.as_view(), name="login"),
    path("logout", account.Logout.as_view(), name="logout"),
    path("login/reset", password.Reset.as_view(), name="reset"),
    path("login/reset/sent", password.ResetSent.as_view(), name="reset-sent"),
    path(
        "login/reset/<str:uidb64>/<str:token>",
        password.ResetConfirm.as_view(),
        name="reset-confirm",
    ),
    path("signup", account.signup, name="signup"),
    path("settings/profile", person.profile, name="profile"),
    path("settings/profile/<str:namespace>", person.organisation, name="profile-organisation"),
    path("settings/password", password.password, name="password"),
    path("settings/organisations", organisation.organisations, name="organisations"),
    path("settings/organisations/<str:namespace>", organisation.members, name="members"),
    path("settings/organisations/<str:namespace>/members", organisation.member, name="member-set"),
    path(
        "settings/organisations/<str:namespace>/leave",
        organisation.leave,
        name="organisation-leave",
    ),
    path(
        "settings/organisations/<str:namespace>/transfer",
        organisation.transfer,
        name="organisation-transfer",
    ),
    path(
        "settings/organisations/<str:namespace>/delete",
        organisation.delete,
        name="organisation-delete",
    ),
    path("settings/tokens", account.tokens, name="tokens"),
    path("settings/tokens/<uuid:uuid>/revoke", account.revoke, name="token-revoke"),
    path("settings/access", account.access, name="access"),
    path("settings/bundles", bundle.bundle_list, name="bundles"),
    path("settings/bundles/upload", bundle.upload, name="bundle-upload"),
    path("settings/bundles/<uuid:uuid>/file", bundle.bundle_file, name="bundle-file"),
    path("settings/bundles/<uuid:uuid>/cancel", bundle.cancel, name="bundle-cancel"),
    path("settings/webhooks", webhook.webhooks, name="webhooks"),
    path("settings/webhooks/<uuid:uuid>/switch", webhook.switch, name="webhook-switch"),
    path("settings/webhooks/<uuid:uuid>/delete", webhook.delete, name="webhook-delete"),
    path("settings/webhooks/<uuid:uuid>/<uuid:delivery>", webhook.replay, name="webhook-replay"),
    path("<str:namespace>", account.namespace, name="namespace"),
    *_repository(RepositoryKind.DATASET, "datasets/", _SHARED),
    *_repository(RepositoryKind.MODEL, "", _SHARED + _BUILT),
]
