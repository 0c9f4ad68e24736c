"""Configuration of the manual, which ``make docs`` builds with Sphinx."""

import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
# The product's modules, and the extension ``manual``.
sys.path[:0] = [str(DOCS.parent), str(DOCS.parent / "client"), str(DOCS)]

from hub.garbage import collect_rarely  # noqa: E402

# Trees of pages live until the end: looking for garbage takes a fifth of the build.
collect_rarely()

project = "HPCFair"
author = "The HPCFair developers"
copyright = author  # noqa: A001 (Sphinx's name)
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "manual"]
exclude_patterns = ["manual"]
templates_path = ["manual/templates"]

# Markdown as on GitHub: links to headings, and diagrams as fenced blocks.
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
myst_fence_as_directive = ["mermaid"]

autodoc_typehints = "description"
autodoc_typehints_format = "short"
autodoc_typehints_description_target = "documented"
autodoc_member_order = "bysource"
napoleon_use_ivar = True

html_theme = "furo"
html_title = "HPCFair manual"
html_favicon = "../hub/static/hub/mark.svg"
html_static_path = ["manual/static"]
html_css_files = ["manual.css"]
html_js_files = ["manual.js"]
html_copy_source = False
html_use_index = False
html_domain_indices = False
html_theme_options = {"top_of_page_buttons": []}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
