"""Settings for all tests."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from mcp_wsgi.wsgi.app import MCPApp
from tests.recorder import Checked

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

# "ci" keeps a whole run within seconds and prints what reproduces a failure; "thorough" is for an evening.
settings.register_profile("dev", max_examples=100, deadline=None)
settings.register_profile("ci", max_examples=60, deadline=None, print_blob=True)
settings.register_profile("thorough", max_examples=5000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev"))


# Options of this run, such as coverage, are not for the runs that a test starts.
os.environ.pop("PYTEST_ADDOPTS", None)


def pytest_collection_finish() -> None:
    """Set aside what has been collected: tests that look for leaks would walk over all of it each time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _every_answer_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever an application answers in this process goes through ``Checked``; no test can forget it."""
    answer = MCPApp.__call__
    judges: dict[MCPApp, Checked] = {}

    def judged(app: MCPApp, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if app not in judges:
            judges[app] = Checked(partial(answer, app))
        return judges[app](environ, start_response)

    monkeypatch.setattr(MCPApp, "__call__", judged)
