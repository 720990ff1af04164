"""Holds what the README promises: its commands are those that CI runs, and its code runs."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
CI = (ROOT / ".ci" / "run").read_text("utf-8")

# What a sample made answers a client below its mount.
_CHECK = """
from mcp_wsgi.testing import Client
assert Client({app}).call_tool("add", a=1, b=2).text == "3", "{app}"
print("answered")
"""


def blocks(language: str) -> list[str]:
    """The fenced blocks of a language, with the code that stands unseen in front of them."""
    pattern = rf"^(?:<!-- setup\n(.*?)^-->\n)?^```{language}\n(.*?)^```$"
    return [setup + code for setup, code in re.findall(pattern, README, re.MULTILINE | re.DOTALL)]


def checked_samples() -> Iterator[str]:
    """The Python samples in order, each followed by a client's call."""
    for code in blocks("python"):
        yield code
        names = {node.name for node in ast.parse(code).body if isinstance(node, ast.FunctionDef)}
        if "test_add" in names:
            yield "test_add()\nprint('answered')\n"
        else:
            yield _CHECK.format(app="app" if "Flask(" in code else "application")


def test_the_samples_run_and_what_they_mount_answers(tmp_path: Path) -> None:
    """In a process of their own: one of them sets up Django, which can be done once."""
    script = tmp_path / "samples.py"
    script.write_text("\n".join(checked_samples()), "utf-8")
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, script], env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["answered"] * 5


@pytest.mark.parametrize(("purpose", "marker"), [("serve", "mcp-wsgi serve examples/notes.py"), ("test", "-m pytest")])
def test_ci_runs_the_readme_s_own_commands(purpose: str, marker: str) -> None:
    """CI takes the one line of the README that has the marker; it has no copy that could differ."""
    (line,) = (line for line in README.splitlines() if marker in line)
    assert f"{line}\n" in blocks("sh")
    assert line.startswith("python3 -m venv .venv && .venv/bin/pip install ")
    assert re.search(rf"^{purpose}_command=\$\(grep -F .*'{marker}' README\.md\)$", CI, re.MULTILINE)
    assert re.search(rf'bash -c "\${purpose}_command"', CI)


def test_files_that_the_readme_links_to_exist() -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", README)
    assert links
    for link in links:
        assert (ROOT / link).exists(), link
