from __future__ import annotations

import contextlib
import inspect
from typing import Any

import pytest

from mcp_wsgi import errors
from mcp_wsgi.errors import MCPError

# The codes of JSON-RPC 2.0 (section 5.1) and those that the 2026-07-28 schema names.
STANDARD = {
    "ParseError": -32700,
    "InvalidRequest": -32600,
    "MethodNotFound": -32601,
    "InvalidParams": -32602,
    "InternalError": -32603,
    "HeaderMismatch": -32020,
    "MissingCapability": -32021,
    "UnsupportedProtocolVersion": -32022,
}

# One of each, with the HTTP status (RFC 9110, section 15) and the JSON-RPC code it answers with.
REFUSALS = [
    (errors.ParseError(), 400, -32700),
    (errors.InvalidRequest(), 400, -32600),
    (errors.MethodNotFound("x"), 404, -32601),
    (errors.InvalidParams(), 200, -32602),
    (errors.InvalidEnvelope(), 400, -32602),
    (errors.InternalError(), 200, -32603),
    (errors.UnknownTool("x"), 200, -32602),
    (errors.UnknownPrompt("x"), 200, -32602),
    (errors.MissingArgument(["x"]), 200, -32602),
    (errors.InvalidCursor(), 200, -32602),
    (errors.ResourceNotFound("a:b"), 200, -32602),
    (errors.HeaderMismatch(), 400, -32020),
    (errors.UnsupportedProtocolVersion("1", ["2"]), 400, -32022),
    (errors.Unauthorized(), 401, -32600),
    (errors.Forbidden(), 403, -32600),
    (errors.NotFound(), 404, -32600),
    (errors.MethodNotAllowed("PUT", ["POST"]), 405, -32600),
    (errors.NotAcceptable(), 406, -32600),
    (errors.BodyTooLarge(1), 413, -32600),
    (errors.UnsupportedMediaType(), 415, -32600),
    (errors.MissingCapability(["roots"], {"roots": {}}), 400, -32021),
    (errors.SessionRequired(), 400, -32600),
    (errors.SessionNotFound(), 404, -32600),
    (errors.Overloaded(), 503, -32603),
    (errors.RegistrationError("x"), 200, -32603),
    (errors.OptionError("x"), 200, -32603),
]


def names() -> set[str]:
    return {
        name for name, value in vars(errors).items() if inspect.isclass(value) and value.__module__ == errors.__name__
    }


def test_every_class_is_exported() -> None:
    assert set(errors.__all__) == names()


def test_one_root_catches_all_but_the_two_signals() -> None:
    outside = {name for name in errors.__all__ if not issubclass(getattr(errors, name), MCPError)}
    assert outside == {"ToolError", "InputError", "InputRefused", "InputTimeout", "Cancelled"}


@pytest.mark.parametrize(("name", "code"), STANDARD.items())
def test_standard_code(name: str, code: int) -> None:
    """S26-BASE-08, S26-BASE-09: each code only in its meaning."""
    assert getattr(errors, name).code == code


@pytest.mark.parametrize(("error", "status", "code"), REFUSALS, ids=lambda value: type(value).__name__)
def test_status_and_code_of_a_refusal(error: MCPError, status: int, code: int) -> None:
    assert (error.http_status, error.code) == (status, code)


def test_every_concrete_error_is_in_the_table() -> None:
    listed = {type(error).__name__ for error, *_ in REFUSALS}
    assert names() - listed == {
        "MCPError",
        "ConfigurationError",
        "ToolError",
        "InputError",
        "InputRefused",
        "InputTimeout",
        "Cancelled",
    }


@pytest.mark.parametrize("error", [row[0] for row in REFUSALS], ids=lambda error: type(error).__name__)
def test_message_is_one_concise_sentence(error: MCPError) -> None:
    """S26-BASE-07."""
    assert error.message == str(error) == error.args[0]
    assert 0 < len(error.message) < 120
    assert "\n" not in error.message


@pytest.mark.parametrize("error", [row[0] for row in REFUSALS], ids=lambda error: type(error).__name__)
def test_codes_stay_out_of_the_reserved_ranges(error: MCPError) -> None:
    """S26-BASE-09, S26-BASE-10, S26-BASE-11."""
    assert error.code not in {-32002, -32042}
    assert not -32019 <= error.code <= -32000
    assert error.code in {-32020, -32021, -32022} or not -32099 <= error.code <= -32020


def test_an_instance_may_have_its_own_message_code_and_data() -> None:
    error = MCPError("No stock", code=409, data={"item": 7})
    assert (str(error), error.code, error.data) == ("No stock", 409, {"item": 7})
    assert (MCPError.code, MCPError.message, MCPError().data) == (-32603, "Internal error", None)


def test_resource_not_found_names_the_uri() -> None:
    """S26-RES-03, T25-RES-02."""
    assert errors.ResourceNotFound("notes://9").data == {"uri": "notes://9"}


def test_unsupported_version_lists_what_is_served() -> None:
    """S26-VER-01."""
    error = errors.UnsupportedProtocolVersion("1999-01-01", ("2026-07-28", "2025-11-25"))
    assert error.data == {"supported": ["2026-07-28", "2025-11-25"], "requested": "1999-01-01"}


def test_missing_arguments_are_all_named() -> None:
    error = errors.MissingArgument(name for name in ("city", "day"))
    assert error.names == ("city", "day")
    assert "city, day" in str(error)


@pytest.mark.parametrize(
    "error",
    [errors.UnknownTool("é" * 5000), errors.UnknownPrompt("é" * 5000), errors.MethodNotFound("é" * 5000)],
    ids=lambda error: type(error).__name__,
)
def test_a_clients_long_words_are_cut(error: MCPError) -> None:
    assert len(str(error)) < 300
    assert str(error).endswith("é...")


@pytest.mark.parametrize(
    ("error", "headers"),
    [
        (MCPError(), []),
        (errors.Unauthorized(), [("WWW-Authenticate", "Bearer")]),
        (errors.Unauthorized(challenge='Basic realm="x"'), [("WWW-Authenticate", 'Basic realm="x"')]),
        (errors.Forbidden(), []),
        (errors.Forbidden(challenge="Bearer scope=a"), [("WWW-Authenticate", "Bearer scope=a")]),
        (errors.MethodNotAllowed("PUT", ["POST", "OPTIONS"]), [("Allow", "POST, OPTIONS")]),
        (errors.Overloaded(retry_after=7), [("Retry-After", "7")]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_header_fields_of_a_refusal(error: MCPError, headers: list[tuple[str, str]]) -> None:
    assert list(error.headers) == headers


def test_the_limit_is_named_when_a_body_is_too_large() -> None:
    assert "4096 bytes" in str(errors.BodyTooLarge(4096))


def test_cancelled_passes_through_except_exception() -> None:
    # The suppress stands for what an application may write around its work.
    with pytest.raises(errors.Cancelled), contextlib.suppress(Exception):
        raise errors.Cancelled


def test_tool_error_is_an_ordinary_exception() -> None:
    assert issubclass(errors.ToolError, Exception)
    assert str(errors.ToolError("No such order")) == "No such order"


def test_a_code_is_an_integer() -> None:
    """S26-BASE-06: a mistake shows where it is made."""
    wrong: Any
    for wrong in ("x", 1.5, True):
        with pytest.raises(TypeError, match="code must be an int"):
            MCPError("x", code=wrong)


def test_a_message_that_waits_for_its_language_is_told() -> None:
    class Lazy:
        def __str__(self) -> str:
            return "verboten"

    lazy: Any = Lazy()
    assert str(MCPError(lazy)) == "verboten"
