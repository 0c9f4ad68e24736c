"""Targets, devices and jobs, for operators."""

from django.contrib.admin import action
from django.db.models import QuerySet
from django.http import HttpRequest

from hub.admin.site import TableAdmin, apply_to_each
from registry.services.work.ban import ban_lift
from registry.services.work.target import target_enable
from registry.tables import Ban, Job, Target, User


class TargetAdmin(TableAdmin):
    """Targets, which operators enable and disable."""

    list_display = ("slug", "title", "enabled", "architecture", "is_emulated", "rank")
    fields = (
        "slug", "title", "enabled", "architecture", "features", "memory_bytes", "cores",
        "is_emulated", "rank",
    )  # fmt: skip
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
    """Machines of the workers and agents. The page of a device has the buttons that change its
    state."""

    list_display = ("name", "target", "owner", "state", "health", "last_seen_at", "created_at")
    list_select_related = ("target", "owner")
    list_filter = ("state", "health")
    fields = (
        "name", "uuid", "target", "owner", "state", "reason", "state_at", "health", "last_seen_at",
        "checked_at", "failures_in_row", "run_s", "created_at", "is_emulated", "agent_version",
        "tools", "facts",
    )  # fmt: skip


class BanAdmin(TableAdmin):
    """Candidates that took devices down; operators may let them be tried again."""

    list_display = ("config_sha256", "target", "reason", "created_at")
    list_select_related = ("target",)
    fields = ("config_sha256", "target", "reason", "created_at")
    actions = ("lift",)

    @action(description="Lift: candidates may be tried again")
    def lift(self, request: HttpRequest, queryset: QuerySet[Ban]) -> None:
        """Lift bans."""
        assert isinstance(request.user, User)  # noqa: S101 - the site lets nobody else in
        operator = request.user
        rows = queryset.select_related("target")
        apply_to_each(request, rows, lambda row: ban_lift(actor=operator, ban=row), "bans lifted")


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
