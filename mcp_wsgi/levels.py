"""The log levels of the protocol, and how severe each is."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["LEVELS", "RANKS", "SILENT", "rank_of"]

#: The log levels of the protocol, least severe first. Source: server/utilities/logging (RFC 5424).
LEVELS: tuple[str, ...] = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
#: Level -> how severe it is, from 0.
RANKS: Mapping[str, int] = {level: rank for rank, level in enumerate(LEVELS)}
#: The rank that no level reaches.
SILENT = len(LEVELS)


def rank_of(level: str) -> int:
    """How severe a log level is, from 0.

    Raises:
        ValueError: The level does not exist.
    """
    rank = RANKS.get(level)
    if rank is None:
        raise ValueError(f"unknown log level {level!r}; the levels are {', '.join(LEVELS)}")
    return rank
