"""Models and data sets, for operators."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest

from hub.admin.site import TableAdmin
from registry.selectors.people.account import named
from registry.tables import Namespace


class RepositoryAdmin(TableAdmin):
    """Models and data sets, private ones too: their metadata, not their files."""

    list_display = (
        "full_name", "kind", "visibility", "gate", "used_bytes", "downloads", "updated_at",
    )  # fmt: skip
    list_select_related = ("namespace",)
    list_filter = ("kind",)
    fields = (
        "full_name", "uuid", "kind", "visibility", "gate", "default_branch", "created_by",
        "created_at", "updated_at", "downloads", "likes", "used_bytes", "title", "license", "task",
        "library", "parameters",
    )  # fmt: skip
    search_fields = ("name",)
    search_help_text = "owner, or owner/name."

    def get_search_results(
        self,
        request: HttpRequest,  # noqa: ARG002
        queryset: QuerySet[Any],
        search_term: str,
    ) -> tuple[QuerySet[Any], bool]:
        """Those of the owner, or that of the name, by index lookups; false: none appears twice."""
        owner, _, name = search_term.strip().partition("/")
        if not owner:
            return queryset, False
        rows = queryset.filter(namespace__in=named(Namespace.objects.all(), owner))
        return (named(rows, name) if name else rows), False
