"""Which kind of worker option ``workers`` stands for."""

from __future__ import annotations

import pytest

from mcp_wsgi.errors import OptionError
from mcp_wsgi.workers import crew_for
from tests.workers.kit import KINDS, PATCHED


def test_auto_takes_greenlets_where_gevent_has_patched_the_process() -> None:
    assert crew_for("auto", 1).kind == ("greenlets" if PATCHED else "threads")


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_can_be_chosen(kind: str) -> None:
    assert crew_for(kind, 1).kind == kind


if not PATCHED:

    def test_greenlets_need_a_patched_process() -> None:
        with pytest.raises(OptionError, match=r"greenlets.*gunicorn -k gevent"):
            crew_for("greenlets", 1)
