"""Several worker processes behind one URL."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.servers.running import post, serve, tool_call


def test_two_workers_answer_interleaved_calls_of_both_eras(tmp_path: Path) -> None:
    """S26-BASE-20: no request needs the process of another."""
    with serve("gevent-2", tmp_path) as running, ThreadPoolExecutor(8) as pool:

        def call(number: int) -> tuple[int, Any]:
            revision = ("2026-07-28", "2025-11-25")[number % 2]
            status, body = post(running, *tool_call("process", revision))
            return status, json.loads(body)

        answers: list[tuple[int, Any]] = []
        pids: set[str] = set()
        # Which process takes a connection is the system's choice, and it may long choose the same one.
        while len(pids) < 2 and len(answers) < 10_000:
            answers += pool.map(call, range(200))
            pids = {answer["result"]["content"][0]["text"] for _, answer in answers}
    assert {status for status, _ in answers} == {200}
    assert len(pids) == 2
