"""Addresses in templates."""

from django import template

from hub.pages.addresses import address, clone_address, download_address, topic_address

register = template.Library()

register.simple_tag(address, name="repo_url")
register.simple_tag(download_address, name="download_url")
register.simple_tag(clone_address, name="clone_url")
register.simple_tag(topic_address, name="topic_url")
