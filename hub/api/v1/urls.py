"""URL configuration of version 1."""

from django.urls import path, re_path

from hub.api.v1.fair import assessment, doi, identifier, report
from hub.api.v1.people import account, token
from hub.api.v1.repository import equal_range, file, findings, mlmodel, revision
from hub.api.v1.results import (
    attestation,
    build,
    graph,
    profile,
    record,
    reproduction,
    resolve,
    testtensor,
    trial,
)
from hub.api.v1.storage import blob
from hub.api.v1.work import device, job, target
from registry.ids import SHA256_PATTERN

MODEL = "models/<str:namespace>/<str:name>"
DATASET = "datasets/<str:namespace>/<str:name>"

urlpatterns = [
    path("whoami", account.WhoamiView.as_view()),
    path("tokens", token.TokensView.as_view()),
    path("tokens/<uuid:uuid>", token.TokenView.as_view()),
    path("organisations", account.OrganisationsView.as_view()),
    path("organisations/<str:organisation>", account.OrganisationView.as_view()),
    path("organisations/<str:organisation>/members", account.MembersView.as_view()),
    path("organisations/<str:organisation>/members/<str:username>", account.MemberView.as_view()),
    path("models", mlmodel.MLModelsView.as_view()),
    path(MODEL, mlmodel.MLModelView.as_view()),
    path(f"{MODEL}/commits", revision.CommitsView.as_view()),
    path(f"{MODEL}/files", file.FilesView.as_view()),
    path(f"{MODEL}/revisions", revision.RevisionsView.as_view()),
    path(f"{MODEL}/revisions/<path:revision>", revision.RevisionView.as_view()),
    path(f"{MODEL}/refs", revision.RefsView.as_view()),
    re_path(
        r"^models/(?P<namespace>[^/]+)/(?P<name>[^/]+)/refs/(?P<kind>branch|tag)/(?P<ref>.+)$",
        revision.RefView.as_view(),
    ),
    path(f"{MODEL}/files/<path:path>", file.FileView.as_view()),
    path(f"{MODEL}/equal-ranges", equal_range.EqualRangesView.as_view()),
    path(f"{MODEL}/findings", findings.FindingsView.as_view()),
    path(f"{MODEL}/graph", graph.GraphView.as_view()),
    path(f"{MODEL}/identifiers", identifier.ModelIdentifiersView.as_view()),
    path(f"{MODEL}/assessment", assessment.AssessmentView.as_view()),
    path(f"{MODEL}/assessments", assessment.AssessmentsView.as_view()),
    path(f"{MODEL}/builds", build.BuildsView.as_view()),
    path(f"{MODEL}/tests", testtensor.TestsView.as_view()),
    path(f"{MODEL}/records", record.ModelRecordsView.as_view()),
    path(f"{MODEL}/resolve", resolve.ResolveView.as_view()),
    path(f"{MODEL}/tune", job.TuneView.as_view()),
    path(f"{MODEL}/doi", doi.DoiView.as_view()),
    path(f"{DATASET}/identifiers", identifier.DatasetIdentifiersView.as_view()),
    path("identifiers/<path:identifier>", identifier.IdentifierView.as_view()),
    path("blobs/missing", blob.BlobsMissingView.as_view()),
    re_path(rf"^blobs/(?P<sha256>{SHA256_PATTERN})$", blob.BlobView.as_view()),
    path("builds/<uuid:uuid>", build.BuildView.as_view()),
    path("builds/<uuid:uuid>/files/<path:path>", file.BuildFileView.as_view()),
    path("builds/<uuid:uuid>/attestation", attestation.BuildAttestationView.as_view()),
    path("builds/<uuid:uuid>/profile", profile.BuildProfileView.as_view()),
    path("builds/<uuid:uuid>/reproductions", reproduction.BuildReproductionsView.as_view()),
    path("builds/<uuid:uuid>/call-sites", profile.CallSitesView.as_view()),
    path("targets", target.TargetsView.as_view()),
    path("targets/<str:slug>", target.TargetView.as_view()),
    path("devices", device.DevicesView.as_view()),
    path("devices/<path:device>", device.DeviceView.as_view()),
    path("jobs", job.JobsView.as_view()),
    path("jobs/<uuid:uuid>", job.JobView.as_view()),
    path("jobs/<uuid:uuid>/cancel", job.JobCancelView.as_view()),
    path("jobs/<uuid:uuid>/trials", trial.JobTrialsView.as_view()),
    path("jobs/<uuid:uuid>/events", job.JobEventsView.as_view()),
    path("trials/<uuid:uuid>", trial.TrialView.as_view()),
    path("records", record.RecordsView.as_view()),
    path("records/<str:record>", record.RecordView.as_view()),
    path("records/<str:record>/attestation", attestation.RecordAttestationView.as_view()),
    path("keys", attestation.KeysView.as_view()),
    path("schemas/hpcfair.bench-1.json", record.BenchSchemaView.as_view()),
    path("schemas/hpcfair.fair-1.json", assessment.FairSchemaView.as_view()),
    path("fair", report.ReportView.as_view()),
]
