"""The navigation beside each page, which lists the titles of all pages.

Sphinx copies the headings of all pages for it, and then removes them: half the time of the build.
"""

from collections.abc import Callable
from typing import Any

from docutils import nodes
from sphinx.addnodes import toctree
from sphinx.application import Sphinx


class Navigation:
    """Lets the theme's function ``toctree`` read tables of contents without headings.

    The theme asks for titles only. Tables of contents beside a page are not affected.
    """

    def __init__(self) -> None:
        self._titles: dict[str, nodes.bullet_list] = {}

    def use(
        self, app: Sphinx, _page: str, _template: str, context: dict[str, Any], _tree: object
    ) -> None:
        """Replace the function in the context of a page."""
        if "toctree" in context:
            context["toctree"] = self._wrapped(app, context["toctree"])

    def _wrapped(self, app: Sphinx, function: Callable[..., str]) -> Callable[..., str]:
        # Pages are written once all are read.
        self._titles = self._titles or {name: _titles(toc) for name, toc in app.env.tocs.items()}

        def of_titles(**options: Any) -> str:
            complete, app.env.tocs = app.env.tocs, self._titles
            try:
                return function(**options)
            finally:
                app.env.tocs = complete

        return of_titles


def _titles(toc: nodes.bullet_list) -> nodes.bullet_list:
    """A page's title with what it lists, as Sphinx's option ``titles_only`` leaves it."""
    copied = toc.deepcopy()
    for entry in copied.children:
        if isinstance(entry, nodes.Element) and len(entry) > 1:
            if lists := list(entry.findall(toctree)):
                entry[1][:] = lists
            else:
                entry.pop(1)
    return copied
