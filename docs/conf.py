"""How `make docs` builds the site. Pages are Markdown (MyST); references come from docstrings."""

project = "numelt"
author = "the numelt authors"

extensions = [
    "myst_parser",  # pages in Markdown
    "sphinx.ext.autodoc",  # references from docstrings
    "numpydoc",  # docstrings in NumPy's style
]
source_suffix = {".md": "markdown"}
autosummary_generate = False  # numpydoc loads the extension
exclude_patterns: list[str] = []

myst_heading_anchors = 3
# links that lead out of this folder, to files of the repository
suppress_warnings = ["myst.xref_missing", "myst.header", "misc.highlighting_failure"]

html_theme = "furo"
html_title = "numelt"

autodoc_member_order = "bysource"
numpydoc_show_class_members = False
