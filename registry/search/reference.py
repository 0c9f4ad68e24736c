"""The page docs/search.md: the reference of the query grammar, from ``vocabulary.py``."""

from collections.abc import Iterable

from registry.search.vocabulary import FILTERS, NUMBERS, SORTS, Filter, FilterKind

_HEAD = """# Search

The query of the catalogue: in the search box, as `q` of `GET /api/v1/models`, in
`hpcfair.search(...)` and on the command line. Every filter is also a parameter of its own in all of
these, with the same name and value. This page is generated from `registry/search/vocabulary.py`:
change it there and run `make docs-search`.

```
galaxy "spiral arms" task:image-classification by:lab
latency:<5ms target:x86-64-avx512 tolerance:int8 sort:gain
```

```
curl -G https://hub.example.org/api/v1/models --data-urlencode "latency=<5ms" -d sort=gain
hpcfair search galaxy --latency "<5ms" --target auto --tolerance int8 --sort latency
hpcfair.search("galaxy", latency="<5ms", target="auto", tolerance="int8", sort="latency")
```

Items are separated by white space, and all must match. A word matches in names, titles, tags,
descriptions and cards, in names and titles also as the beginning of a word; `"a phrase"` matches as
it stands. A word with letters before its first colon is a filter; `"in quotation marks"` a colon
has no meaning. Values with spaces are quoted: `tag:"two words"`. Case has no meaning. In Python,
which reserves the word, `class` is `architecture_class`. A persistent identifier, such as
`ark:/99999/h2...`, `doi:10...` or its address, finds the model that it leads to, also one of
another hub by its mirror.

"""
_FILTERS = """Of filters with one value per model, several values match any of them; of `tag` and
`target` all must match. An unknown filter, class, tolerance class, target or order is refused with
the valid ones. Where models decide which values there are, an empty result comes with `hints`: the
values that no model has, and those most alike.

"""
_NUMBERS = """## Numbers

`latency`, `gain` and `accuracy` are of the best build within the tolerance class of `tolerance`, by
default `exact`: the build that a machine of the target loads. They must hold on each `target` of
the query. Without a target each is the model's best on any target. Models without such a number do
not match.

Numbers are compared with `<`, `<=`, `>` or `>=`, exactly. A filter may be repeated:
`size:>1MB size:<10MB`.

"""
_ORDERS = """## Orders

Written as `sort:latency`. Of equal numbers the newest model comes first; models without the number
come last. Orders by `latency`, `gain` and `accuracy` take at most one target.

"""


def document() -> str:
    """The page, as Markdown."""
    compared = [one for one in FILTERS.values() if one.kind == FilterKind.NUMBER]
    others = [one for one in FILTERS.values() if one.kind != FilterKind.NUMBER]
    return (
        "".join(
            [
                _HEAD,
                "## Filters\n\n",
                _FILTERS,
                _table(("filter", "meaning", "values"), map(_filter, others)),
                _NUMBERS,
                _table(("filter", "meaning", "units"), map(_number, compared)),
                _ORDERS,
                _table(("order", "first"), ((f"`{name}`", text) for name, text in SORTS.items())),
            ]
        ).rstrip("\n")
        + "\n"
    )


def _filter(one: Filter) -> tuple[str, str, str]:
    alias = f" Also `{one.alias}`." if one.alias else ""
    values = ", ".join(f"`{value}`" for value in one.values)
    return f"`{one.in_query}`", f"{one.help}{alias}", values


def _number(one: Filter) -> tuple[str, str, str]:
    units = ", ".join(f"`{unit}`" for unit in NUMBERS[one.name].units if unit)
    return f"`{one.in_query}`", one.help, units


def _table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [header, ("---",) * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines) + "\n"
