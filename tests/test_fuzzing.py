"""A short run of the fuzzer, and that it would notice."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzzing import Fuzzer, application, check_answer, make_environ, right_request

#: A bound against hangs only: other work may slow the machine down.
PATIENCE = 30.0


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_random_requests_find_no_error_of_ours(seed: int) -> None:
    fuzzer = Fuzzer(application(), seed, PATIENCE)
    fuzzer.run(2000)
    assert sum(fuzzer.statuses.values()) == 2000
    assert {200, 202, 400, 403, 404, 405, 415} <= set(fuzzer.statuses)


def test_random_requests_find_no_error_with_threads() -> None:
    fuzzer = Fuzzer(application(workers="threads"), 4, PATIENCE)
    fuzzer.run(1000)
    assert fuzzer.statuses[200] > 100


@given(st.binary(max_size=300))
def test_any_bytes_get_a_well_formed_answer(body: bytes) -> None:
    fuzzer = Fuzzer(application(), 0, PATIENCE)
    status, headers, answer = fuzzer.send(fuzzer.app, make_environ(body, right_request()[1]))
    check_answer(status, headers, answer, repr(body))


def test_an_exception_that_escapes_is_noticed() -> None:
    def broken(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        raise RuntimeError("escaped")

    with pytest.raises(RuntimeError, match="escaped"):
        Fuzzer(broken, 1).run(1)


def test_a_status_that_nobody_expects_is_noticed() -> None:
    def broken(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        start_response("500 Internal Server Error", [("Content-Type", "application/json"), ("Content-Length", "2")])
        return [b"{}"]

    with pytest.raises(AssertionError, match="status 500"):
        Fuzzer(broken, 1).run(1)
