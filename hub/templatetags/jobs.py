"""Jobs in templates."""

from django import template

from hub.pages.progress import progress_of

register = template.Library()

register.simple_tag(progress_of, name="progress_of")
