"""People and namespaces, for operators."""

from typing import Any

from django.contrib.admin import action
from django.db.models import QuerySet
from django.http import HttpRequest

from hub.admin.site import TableAdmin, apply_to_each
from registry.selectors.people.account import named, user_find, users_by_email
from registry.services.people.account import user_enable
from registry.tables import Namespace, User


class UserAdmin(TableAdmin):
    """Accounts: without passwords, which nobody can read, and without tokens."""

    list_display = ("username", "full_name", "email", "is_active", "is_staff", "date_joined")
    fields = (
        "username", "uuid", "full_name", "email", "orcid", "affiliation", "affiliation_ror",
        "is_active", "is_staff", "date_joined", "last_login",
    )  # fmt: skip
    search_fields = ("username",)
    search_help_text = "A whole user name or e-mail address."
    actions = ("disable", "enable")

    def get_search_results(
        self,
        request: HttpRequest,  # noqa: ARG002
        queryset: QuerySet[Any],
        search_term: str,
    ) -> tuple[QuerySet[Any], bool]:
        """Those with this name or address, by an index lookup; false: none appears twice."""
        word = search_term.strip()
        if not word:
            return queryset, False
        user = user_find(word)
        rows = [user] if user else users_by_email(word)
        return queryset.filter(pk__in=[row.pk for row in rows]), False

    @action(description="Disable: end sessions and tokens, refuse to sign in")
    def disable(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        """Disable accounts."""
        self._enable(request, queryset, enabled=False)

    @action(description="Enable again")
    def enable(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        """Enable accounts."""
        self._enable(request, queryset, enabled=True)

    def _enable(self, request: HttpRequest, rows: QuerySet[User], *, enabled: bool) -> None:
        assert isinstance(request.user, User)  # noqa: S101 - the site lets nobody else in
        operator = request.user
        apply_to_each(
            request,
            rows,
            lambda row: user_enable(actor=operator, user=row, enabled=enabled),
            "accounts enabled" if enabled else "accounts disabled",
        )


class NamespaceAdmin(TableAdmin):
    """Namespaces of people and organisations, with their use and quotas."""

    list_display = ("name", "kind", "title", "used_bytes", "quota_bytes", "created_at")
    fields = (
        "name", "uuid", "kind", "title", "ror", "default_visibility", "created_at", "used_bytes",
        "quota_bytes", "quota_models", "quota_jobs", "quota_uploads",
        "quota_run_mib", "quota_run_seconds",
    )  # fmt: skip
    search_fields = ("name",)
    search_help_text = "A whole name."

    def get_search_results(
        self,
        request: HttpRequest,  # noqa: ARG002
        queryset: QuerySet[Namespace],
        search_term: str,
    ) -> tuple[QuerySet[Any], bool]:
        """That with this name in any case, by an index lookup; false: none appears twice."""
        return (named(queryset, search_term.strip()) if search_term else queryset), False
