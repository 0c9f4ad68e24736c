"""Holds on new models, and short names of the dynamic dimensions of stored signatures."""

import itertools
import re
from typing import Any

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

_AT_ONCE = 500
# As hpcfair.dimensions had them when this migration was written.
_MADE_UP = re.compile(
    r"[su]\d+|unk_+\w*\d+|\w*_dynamic_axes_\d+|\w*output_dim_\d+|unnamed_\d+"
    r"|DynamicDimension\.\d+|None|\?"
)
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.\d+)?|\?")
_LETTERS = "NMKLPQRSTUVW"


def _with_short_names(signature: dict[str, Any]) -> dict[str, Any]:
    sizes = [
        size
        for tensors in signature.values()
        for tensor in tensors
        for size in tensor["shape"]
        if isinstance(size, str) and size != "..."
    ]
    names = dict.fromkeys(name for size in sizes for name in _NAME.findall(size))
    own = {name for name in names if not _MADE_UP.fullmatch(name)}
    numbered = (f"N{number}" for number in itertools.count(1))
    fresh = (name for name in itertools.chain(_LETTERS, numbered) if name not in own)
    short = {name: next(fresh) for name in names if name not in own and name != "?"}

    def renamed(size: int | str) -> int | str:
        if isinstance(size, int) or size == "...":
            return size
        return _NAME.sub(lambda m: next(fresh) if m[0] == "?" else short.get(m[0], m[0]), size)

    return {
        side: [{**one, "shape": [renamed(size) for size in one["shape"]]} for one in tensors]
        for side, tensors in signature.items()
    }


def _shorten(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:  # noqa: ARG001
    graphs = apps.get_model("registry", "Graph")
    rows, last = graphs.objects.order_by("pk").only("signature"), 0
    while batch := list(rows.filter(pk__gt=last)[:_AT_ONCE]):
        changed = []
        for graph in batch:
            signature = _with_short_names(graph.signature)
            if signature != graph.signature:
                graph.signature = signature
                changed.append(graph)
        graphs.objects.bulk_update(changed, ["signature"])
        last = batch[-1].pk


class Migration(migrations.Migration):
    dependencies = [("registry", "0023_best_builds")]

    operations = [
        migrations.AddField(
            model_name="mlmodel",
            name="is_held",
            field=models.BooleanField(default=False),
        ),
        migrations.RunPython(_shorten, migrations.RunPython.noop),
    ]
