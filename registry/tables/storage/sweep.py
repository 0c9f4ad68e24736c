"""Positions of background tasks that go round over a whole table, a part at a time."""

from django.db import models


class Sweep(models.Model):
    """Where the last run of a task ended: the next one goes on behind ``position``."""

    name = models.CharField(max_length=32, primary_key=True)
    position = models.CharField(max_length=64, blank=True)
