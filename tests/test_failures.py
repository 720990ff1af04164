"""What is told of failures: by which code, in which words."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_wsgi import Context, Handler
from mcp_wsgi.errors import (
    InternalError,
    InvalidParams,
    MCPError,
    OptionError,
    RegistrationError,
    ResourceNotFound,
    UnknownTool,
)
from mcp_wsgi.failures import error_code, is_for_client
from tests.dispatching import NEW, OLD, dispatcher, run


@pytest.mark.parametrize(
    ("error", "tells"),
    [(MCPError("x"), True), (UnknownTool("x"), True), (OptionError("x"), False), (RegistrationError("x"), False)],
)
def test_a_mistake_of_the_developer_is_not_for_the_client(error: MCPError, tells: bool) -> None:
    assert is_for_client(error) is tells
    assert not is_for_client(ValueError("x"))


@pytest.mark.parametrize(
    ("error", "modern", "legacy"),
    [
        (ResourceNotFound("x:y"), -32602, -32002),
        (MCPError("x", code=-32002), -32602, -32002),
        (InvalidParams(), -32602, -32602),
        (MCPError("x", code=42), 42, 42),
        (type("Coded", (MCPError,), {"code": "x"})(), -32603, -32603),
        (MCPError("x", code=-32001), -32001, -32001),
        (MCPError("x", code=-32019), -32019, -32019),
        (MCPError("x", code=-32020), -32020, -32020),
        (MCPError("x", code=-32022), -32022, -32022),
        (MCPError("x", code=-32023), -32603, -32023),
        (MCPError("x", code=-32042), -32603, -32042),
        (MCPError("x", code=-32099), -32603, -32099),
        (MCPError("x", code=-32100), -32100, -32100),
    ],
)
def test_a_code_is_one_that_the_revision_has(error: MCPError, modern: int, legacy: int) -> None:
    assert error_code(error, NEW) == modern
    assert error_code(error, OLD) == legacy


@pytest.mark.parametrize("method", ["resources/read", "prompts/get", "completion/complete", "tools/list"])
@pytest.mark.parametrize("error", [RuntimeError("secret"), OptionError("secret"), SystemExit("secret")])
def test_a_crash_is_an_internal_error_with_the_id(
    method: str, error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(Handler):
        def _fail(self, *args: Any) -> Any:
            raise error

        tools: Any = _fail
        read_resource: Any = _fail
        prompts: Any = _fail
        find_prompt: Any = _fail
        complete: Any = _fail

    with pytest.raises(InternalError) as caught:
        run(dispatcher(Broken()), method)
    assert str(caught.value) == "Internal error (request id 1)"
    (record,) = caplog.records
    assert record.getMessage() == f"{method} failed, request id 1"
    assert record.exc_info is not None


def test_words_are_shown_where_that_is_opted_for() -> None:
    class Broken(Handler):
        def tools(self, ctx: Context) -> Any:
            raise KeyError("secret")

    with pytest.raises(InternalError, match="KeyError: 'secret'"):
        run(dispatcher(Broken(), expose_errors=True), "tools/list")


def test_what_an_error_says_writes_no_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    error_code(MCPError("no such thing: x\n\x1b[31mERROR all is lost", code=-32050), NEW)
    (record,) = caplog.records
    assert record.getMessage().isprintable()
