"""``/robots.txt`` (RFC 9309): programs are welcome."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from hub.fair.public import public
from registry.selectors.fair.hub import this_hub

_RULES = """\
# All there is stands in the site map; lists that were searched have no end.
User-agent: *
Disallow: /models?*
Disallow: /datasets?*
Allow: /

Sitemap: {hub}/sitemap.xml
"""


@require_safe
def robots(request: HttpRequest) -> HttpResponse:
    """What crawlers may read, and where to begin."""
    return public(request, _RULES.format(hub=this_hub().url).encode(), "text/plain")
