"""Reads of bans."""

from registry.tables import Ban, Target


def banned_on(target: Target) -> tuple[str, ...]:
    """``config_sha256`` of the candidates that are not tried on a target, in order."""
    rows = Ban.objects.filter(target=target).order_by("config_sha256")
    return tuple(rows.values_list("config_sha256", flat=True))
