"""Settings for all tests."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

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


def pytest_configure(config: pytest.Config) -> None:
    """Keep the options of this run, such as coverage, from the runs that a test starts."""
    # Not in the process that runs no tests itself: those that do are still to be told.
    if hasattr(config, "workerinput") or not config.option.numprocesses:
        os.environ.pop("PYTEST_ADDOPTS", None)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Spread a run over processes unless it is of single files; servers and clients leave half of each core idle."""
    whole = all(Path(argument.partition("::")[0]).is_dir() for argument in config.args)
    return min(8, 2 * (os.cpu_count() or 1)) if whole else 0


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable() -> Generator[None, Any, Any]:
    """Escape the lone surrogates that tests log and print: they do not get from one process to another."""
    return _escaped((yield))


def _escaped(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {key: _escaped(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(_escaped, value))
    return value


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
