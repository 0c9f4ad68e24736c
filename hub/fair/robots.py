"""``/robots.txt`` (RFC 9309): crawlers may read everything but search results."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from hub.fair.public import public
from registry.selectors.fair.hub import this_hub

_RULES = """\
# The site map lists all pages; search results are unbounded.
User-agent: *
Disallow: /models?*
Disallow: /datasets?*
Allow: /

Sitemap: {hub}/sitemap.xml
"""


@require_safe
def robots(request: HttpRequest) -> HttpResponse:
    """Rules for crawlers, and the address of the site map."""
    return public(request, _RULES.format(hub=this_hub().url).encode(), "text/plain")
