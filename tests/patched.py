"""Runs test files in a process of its own that gevent has patched: ``python -m tests.patched FILE...``.

Patching cannot be undone, so it must not happen in the process that runs the other tests.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

__all__ = ["run_patched"]

ROOT = Path(__file__).parents[1]


def run_patched(*files: str) -> None:
    """Run test files, named from the project's root, under gevent; what they print is shown if one fails."""
    command = [sys.executable, "-m", "tests.patched", *files]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, done.stdout


if __name__ == "__main__":
    from gevent import monkey

    monkey.patch_all()

    import pytest

    raise SystemExit(pytest.main(["-q", "-n", "0", "-p", "no:cacheprovider", *sys.argv[1:]]))
