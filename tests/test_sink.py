"""Where messages of a call go: nowhere."""

from __future__ import annotations

import pytest

from mcp_wsgi.call import Call, ClientInfo
from mcp_wsgi.context import Context
from mcp_wsgi.errors import InputError
from mcp_wsgi.sink import SILENCE
from tests.asking import ALL
from tests.sinks import LEGACY


def test_there_is_nobody_to_ask_behind_silence() -> None:
    call = Call("tools/call", {}, 1, LEGACY, client=ClientInfo({}, ALL))
    with pytest.raises(InputError, match="cannot be asked here"):
        Context(call, SILENCE).list_roots()
