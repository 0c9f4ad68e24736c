"""This hub and its repositories as metadata records name them."""

from typing import cast

from django.conf import settings

from registry.fair.addresses import RepositoryAddress
from registry.fair.description import ResourceKind
from registry.fair.parts import Hub, Organization
from registry.tables import MLModel


def this_hub() -> Hub:
    """The hub and its publisher, from the settings."""
    url = settings.HUB_URL
    return Hub(
        name=settings.HUB_NAME,
        url=url,
        policy_url=f"{url}/policy",
        shape_url=f"{url}/shapes/record",
        publisher=Organization(
            name=settings.PUBLISHER, ror=settings.PUBLISHER_ROR or None, url=url
        ),
    )


def repository_address(mlmodel: MLModel) -> RepositoryAddress:
    """The public addresses of ``mlmodel``, whose namespace must be loaded."""
    kind = cast("ResourceKind", str(mlmodel.kind))
    return RepositoryAddress(settings.HUB_URL, kind, mlmodel.full_name)
