"""Texts with marks of code."""

import re

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

register = template.Library()

_CODE = re.compile("`([^`]+)`")


@register.filter
def coded(text: str) -> SafeString:
    """Plain text whose `words` between backticks are code."""
    return mark_safe(_CODE.sub(r"<code>\1</code>", escape(text)))  # noqa: S308 - escaped before
