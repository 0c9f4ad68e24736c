"""Targets, devices and jobs, for operators."""

from django.contrib.admin import action
from django.db.models import QuerySet
from django.http import HttpRequest

from hub.admin.site import TableAdmin, apply_to_each
from registry.services.work.target import target_enable
from registry.tables import Job, Target, User


class TargetAdmin(TableAdmin):
    """Targets, which operators enable and disable."""

    list_display = ("slug", "title", "enabled", "architecture", "rank")
    fields = ("slug", "title", "enabled", "architecture", "features", "rank")
    actions = ("disable", "enable")

    @action(description="Disable: its jobs stay queued")
    def disable(self, request: HttpRequest, queryset: QuerySet[Target]) -> None:
        """Disable targets."""
        self._enable(request, queryset, enabled=False)

    @action(description="Enable")
    def enable(self, request: HttpRequest, queryset: QuerySet[Target]) -> None:
        """Enable targets."""
        self._enable(request, queryset, enabled=True)

    def _enable(self, request: HttpRequest, rows: QuerySet[Target], *, enabled: bool) -> None:
        assert isinstance(request.user, User)  # noqa: S101 - the site lets nobody else in
        operator = request.user
        apply_to_each(
            request,
            rows,
            lambda row: target_enable(actor=operator, slug=row.slug, enabled=enabled),
            "targets enabled" if enabled else "targets disabled",
        )


class DeviceAdmin(TableAdmin):
    """Machines of the workers."""

    list_display = ("name", "target", "health", "last_seen_at", "created_at")
    list_select_related = ("target",)
    fields = ("name", "uuid", "target", "health", "last_seen_at", "created_at", "facts")


class JobAdmin(TableAdmin):
    """Jobs of all people."""

    list_display = (
        "uuid", "kind", "state", "target", "device", "requested_by", "created_at", "ended_at",
        "failure_code",
    )  # fmt: skip
    # Joins would be planned anew for each size of the tables; these are three small queries.
    list_select_related = ()
    list_filter = ("state", "kind")
    fields = (
        "uuid", "kind", "state", "target", "device", "requested_by", "created_at", "started_at",
        "ended_at", "attempt", "max_attempts", "priority", "parameters", "progress", "result",
        "failure_class", "failure_code", "failure_detail",
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[Job]:
        """Jobs with what their lines name."""
        rows: QuerySet[Job] = super().get_queryset(request)
        return rows.prefetch_related("target", "device", "requested_by")
