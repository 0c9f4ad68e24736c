"""The audit log, for operators."""

from hub.admin.site import TableAdmin


class AuditEntryAdmin(TableAdmin):
    """Who wrote what and when, the newest first."""

    list_display = ("at", "actor", "action", "subject", "detail")
    list_select_related = ("actor",)
    fields = ("at", "actor", "action", "subject", "namespace", "detail")
    search_fields = ("subject__exact", "namespace__exact")
    search_help_text = "The whole name of a subject, or of a namespace."
