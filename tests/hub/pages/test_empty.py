"""A hub on which there is nothing yet says how to begin."""

import pytest
from django.test import Client

from tests.hub.pages.test_reading import text

pytestmark = pytest.mark.django_db


def test_an_empty_hub_says_how_to_begin(client: Client) -> None:
    front = text(client, "/")
    for words in (
        "Nothing is published yet",
        "No build is faster than the defaults yet",
        "Nothing has been measured yet",
        "No job is running",
        "Publish the first model",
    ):
        assert words in front
    assert "hpcfair.load" not in front
    assert "No device has registered yet" in text(client, "/targets")
    assert "They start when a model is published" in text(client, "/jobs")
    assert "--repo-type dataset" in text(client, "/datasets")
    assert "No model is published yet" in text(client, "/models")
    assert "No model matches" in text(client, "/models?q=stars")
