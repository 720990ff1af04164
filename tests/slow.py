"""What takes long to read if nothing is done about it."""

from __future__ import annotations

from typing import Any, NoReturn

import pytest

from mcp_wsgi import decoding

__all__ = ["SLOW_NUMBERS", "forbid_the_usual_decoder"]

#: Numbers, each of which takes the usual decoder about 10 us.
SLOW_NUMBERS = ",".join(["1e308"] * 2000)


def forbid_the_usual_decoder(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on JSON has to be read in the way that takes no number long.

    Which way is taken is looked at, and not how long it takes: that depends on what else a machine has to do.
    """

    def refuse(text: Any) -> NoReturn:
        raise AssertionError("read by the decoder that takes such numbers long")

    monkeypatch.setattr(decoding, "_decode", refuse)
