"""Addresses of the pages. A namespace's and a model's come last: they match almost anything."""

from django.urls import path

from hub.pages import account, docs, home, job, mlmodel, record, target

urlpatterns = [
    path("", home.home, name="home"),
    path("models", home.catalogue, name="catalogue"),
    path("new", mlmodel.new, name="new"),
    path("targets", target.targets, name="targets"),
    path("targets/<slug:slug>", target.target, name="target"),
    path("jobs", job.jobs, name="jobs"),
    path("jobs/<uuid:uuid>", job.job, name="job"),
    path("jobs/<uuid:uuid>/cancel", job.cancel, name="job-cancel"),
    path("records", record.records, name="records"),
    path("records/<str:record_id>", record.record, name="record"),
    path("docs/errors", docs.errors, name="docs-errors"),
    path("login", account.Login.as_view(), name="login"),
    path("logout", account.Logout.as_view(), name="logout"),
    path("signup", account.signup, name="signup"),
    path("settings/tokens", account.tokens, name="tokens"),
    path("settings/tokens/<uuid:uuid>/revoke", account.revoke, name="token-revoke"),
    path("<str:namespace>", account.namespace, name="namespace"),
    path("<str:namespace>/<str:name>", mlmodel.card, name="mlmodel"),
    path("<str:namespace>/<str:name>/tree/<str:revision>", mlmodel.files, name="files"),
    path("<str:namespace>/<str:name>/blob/<str:revision>/<path:path>", mlmodel.file, name="file"),
    path("<str:namespace>/<str:name>/raw/<str:revision>/<path:path>", mlmodel.raw, name="raw"),
    path("<str:namespace>/<str:name>/builds", mlmodel.builds, name="builds"),
    path("<str:namespace>/<str:name>/history", mlmodel.history, name="history"),
    path("<str:namespace>/<str:name>/jobs", mlmodel.jobs, name="mlmodel-jobs"),
    path("<str:namespace>/<str:name>/tune", mlmodel.tune, name="tune"),
    path("<str:namespace>/<str:name>/upload", mlmodel.upload, name="upload"),
]
