"""Settings of the documentation."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sphinx.addnodes import desc_annotation

if TYPE_CHECKING:
    from docutils.nodes import document
    from sphinx.application import Sphinx

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent)]

from mcp_wsgi import __version__, handler, revisions  # noqa: E402 - only now can it be found

# Imported there for type checkers only, and needed to write the signature of a value that is shown.
handler.Revision = revisions.Revision  # type: ignore[attr-defined]

project = "mcp-wsgi"
author = "the mcp-wsgi authors"
version = release = __version__

extensions = ["sphinx.ext.autodoc", "sphinx.ext.napoleon", "mcp_changes", "mcp_tables"]
exclude_patterns = ["_build"]

html_theme = "furo"
html_title = f"mcp-wsgi {__version__}"

autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "show-inheritance": True, "ignore-module-all": True}
napoleon_numpy_docstring = False
napoleon_use_rtype = False

LONGEST_VALUE = 60


def separate_plurals(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Let a letter follow code in a docstring, as in "``Fault``s", which reStructuredText does not."""
    lines[:] = [re.sub(r"(``[^`]+``)(?=\w)", r"\1\\ ", line) for line in lines]


def hide_long_values(app: Sphinx, doctree: document) -> None:
    """Leave out the value of a constant that is a table: the source shows it better."""
    for annotation in list(doctree.findall(desc_annotation)):
        text = annotation.astext()
        if text.startswith(" = ") and len(text) > LONGEST_VALUE:
            annotation.parent.remove(annotation)


def setup(app: Sphinx) -> None:
    app.connect("doctree-read", hide_long_values)
    app.connect("autodoc-process-docstring", separate_plurals)
