"""The jobs of a target that a device does. Independent of Django, Celery and HTTP."""
