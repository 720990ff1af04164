"""Clients of every revision; what a server sends them is judged by ``tests/conftest.py``."""

from __future__ import annotations

import pytest

from mcp_wsgi.revisions import LEGACY, REVISIONS
from tests.spec.kit import Connect, connect_to


@pytest.fixture(params=list(REVISIONS))
def revision(request: pytest.FixtureRequest) -> str:
    """Each revision by name."""
    return str(request.param)


@pytest.fixture(params=[row.name for row in LEGACY])
def session_revision(request: pytest.FixtureRequest) -> str:
    """Each revision of the session era by name."""
    return str(request.param)


@pytest.fixture
def connect() -> Connect:
    """Builds clients: ``connect()``, ``connect(server, revision, page_size=2)``."""
    return connect_to
