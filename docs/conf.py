"""Settings of the documentation."""

from __future__ import annotations

import sys
from pathlib import Path

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
autodoc_typehints = "signature"
autodoc_default_options = {"members": True, "show-inheritance": True, "ignore-module-all": True}
autodoc_use_type_comments = False
napoleon_numpy_docstring = False
napoleon_use_rtype = False
