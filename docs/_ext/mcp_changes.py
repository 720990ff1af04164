"""``.. mcp-changes::`` puts ``CHANGES.md`` into a page; it reads the little Markdown that the file uses."""

from __future__ import annotations

import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import ExtensionMetadata

CHANGES = Path(__file__).parents[2] / "CHANGES.md"


def as_rst(text: str) -> str:
    """Headings of the second level, code and links; the title is the page's own."""
    text = re.sub(r"\A# .*\n", "", text)
    text = re.sub(r"`([^`\n]+)`", r"``\1``", text)
    text = re.sub(r"\[([^]\n]+)\]\(([^)\n]+)\)", r"`\1 <\2>`__", text)
    return re.sub(r"^## (.*)$", lambda found: f"{found[1]}\n{'-' * len(found[1])}", text, flags=re.MULTILINE)


class Changes(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        self.env.note_dependency(CHANGES)
        self.state_machine.insert_input(as_rst(CHANGES.read_text("utf-8")).splitlines(), str(CHANGES))
        return []


def setup(app: Sphinx) -> ExtensionMetadata:
    app.add_directive("mcp-changes", Changes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
