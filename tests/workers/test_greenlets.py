"""Greenlets need a process that gevent has patched: the tests of this folder once more, and its ``gevent_*.py``."""

from __future__ import annotations

import pytest

from tests.patched import run_patched
from tests.workers.kit import PATCHED

if not PATCHED:

    @pytest.mark.timeout(180)
    def test_the_same_under_gevent() -> None:
        run_patched("tests/workers", "-o", "python_files=test_*.py gevent_*.py")
