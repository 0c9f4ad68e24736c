"""The site of the operators' pages, and what all its tables have in common."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.admin import AdminSite, ModelAdmin, ShowFacets
from django.contrib.admin.views.main import ChangeList
from django.contrib.auth.views import redirect_to_login
from django.core.paginator import Paginator
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.functional import cached_property

from hub.refusals import refusal
from registry.errors import Forbidden, RegistryError
from registry.tables import User

#: Rows of a table that its pages lead to, the newest; to count and to skip more takes too long.
MOST_ROWS = 10_000


class OperatorSite(AdminSite):
    """Django's admin with the hub's own way to sign in, which limits guesses of passwords."""

    site_header = site_title = "Operators of the hub"
    index_title = "Tables"

    def login(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:  # noqa: ARG002
        """Lead to the hub's sign-in page; refuse people who are signed in and no operators."""
        if request.user.is_authenticated:
            error = Forbidden(
                "permission_denied", "Only operators of the hub may see this.", "Ask an operator."
            )
            return refusal(request, error)
        return redirect_to_login(request.GET.get("next") or reverse("admin:index"))

    def password_change(  # type: ignore[override]
        self,
        request: HttpRequest,  # noqa: ARG002
        extra_context: Any = None,  # noqa: ARG002
    ) -> HttpResponse:
        """Lead to the hub's own page, which limits guesses and writes the audit log."""
        return redirect("password")


class CappedPaginator(Paginator):  # type: ignore[type-arg]
    """Pages of the first :data:`MOST_ROWS` rows."""

    @cached_property
    def count(self) -> int:
        """Number of rows, at most :data:`MOST_ROWS`."""
        rows: QuerySet[Any] = self.object_list  # type: ignore[assignment]  # of a list of rows
        return rows.order_by()[:MOST_ROWS].count()


class NewestFirst(ChangeList):
    """A list of rows in the order of their keys, whatever the address asks for."""

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[Any]:  # noqa: ARG002
        """The newest first, by the primary key."""
        return ["-pk"]


class TableAdmin(ModelAdmin):  # type: ignore[type-arg]
    """A table whose rows are shown, the newest first, and neither added, edited nor deleted."""

    # Each of these would sort or count all rows.
    sortable_by = ()
    show_full_result_count = False
    show_facets = ShowFacets.NEVER
    paginator = CappedPaginator
    list_per_page = 50

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:  # noqa: ARG002
        """The class of lists."""
        return NewestFirst

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:  # noqa: ARG002
        """Only filters that the page offers: others walk tables, or probe hashes of passwords."""
        return lookup.partition("__")[0] in self.list_filter

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:  # noqa: ARG002
        """All fields; some are computed, and have no widget."""
        return self.fields

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:  # noqa: ARG002
        """Operators see everything."""
        return isinstance(request.user, User) and request.user.is_staff

    def has_module_permission(self, request: HttpRequest) -> bool:
        """As :meth:`has_view_permission`."""
        return self.has_view_permission(request)

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002
        """Rows are added by services."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:  # noqa: ARG002
        """Rows are changed by services."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:  # noqa: ARG002
        """Rows are deleted by services."""
        return False


def apply_to_each(
    request: HttpRequest, rows: QuerySet[Any], change: Callable[[Any], object], done: str
) -> None:
    """Call a service for each row that was selected, and say how many changed or why not."""
    count = 0
    for row in rows:
        try:
            change(row)
        except RegistryError as error:
            messages.error(request, f"{row}: {error}")
        else:
            count += 1
    if count:
        messages.success(request, f"{count} {done}.")
