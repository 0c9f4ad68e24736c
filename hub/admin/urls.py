"""URL configuration of the operators' pages."""

from django.urls import path
from django.views.generic import RedirectView

from hub.admin.audit import AuditEntryAdmin
from hub.admin.people import NamespaceAdmin, UserAdmin
from hub.admin.repository import RepositoryAdmin
from hub.admin.site import OperatorSite
from hub.admin.work import BanAdmin, DeviceAdmin, JobAdmin, TargetAdmin
from registry.tables import AuditEntry, Ban, Device, Job, MLModel, Namespace, Target, User

SITE = OperatorSite()
SITE.register(User, UserAdmin)
SITE.register(Namespace, NamespaceAdmin)
SITE.register(MLModel, RepositoryAdmin)
SITE.register(Job, JobAdmin)
SITE.register(Target, TargetAdmin)
SITE.register(Device, DeviceAdmin)
SITE.register(Ban, BanAdmin)
SITE.register(AuditEntry, AuditEntryAdmin)

urlpatterns = [
    path("admin", RedirectView.as_view(pattern_name="admin:index")),
    path("admin/", SITE.urls),
]
