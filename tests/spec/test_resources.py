"""Requirements, group 9: resources."""

from __future__ import annotations

import base64
import logging
from pathlib import Path
from typing import Any

import pytest

from mcp_wsgi import Context, Handler, MCPServer, Resource, ResourceContents, ResourceNotFound, ToolError
from mcp_wsgi.errors import MCPError, RegistrationError
from mcp_wsgi.testing import ProtocolError
from mcp_wsgi.uris import safe_file_path
from tests.spec.kit import MODERN, Connect, declared, everything, refusal, refused, send


def serving(content: Any, uri: str = "note://x", **listed: Any) -> MCPServer:
    """A server with one resource, of fixed content or made by a function."""
    mcp = MCPServer("one")
    mcp.add_resource(Resource(uri=uri, name="x", **listed), content)
    return mcp


def reading(value: Any) -> Handler:
    """A handler that reads anything as ``value``."""

    class Reading(Handler):
        def read_resource(self, uri: str, ctx: Context) -> Any:
            if isinstance(value, BaseException):
                raise value
            return value

    return Reading()


def not_found(revision: str) -> int:
    return -32602 if revision == MODERN else -32002


# --- listing --------------------------------------------------------------------------------------


def test_resources_are_declared_with_the_options_that_are_served(connect: Connect, revision: str) -> None:
    """S26-RES-01, T25-RES-01: both lists are answered, and changes told where there is a stream for them."""
    client = connect(revision=revision)
    opened = client.discover() if revision == MODERN else client.initialize()
    assert opened.raw["capabilities"]["resources"] == declared("resources", revision)
    assert client.list_resources().names == ["fixed"]
    assert client.list_resource_templates().names == ["note"]


def test_a_resource_is_listed_with_what_its_revision_has(connect: Connect, revision: str) -> None:
    """S26-RES-07, S26-RES-08: uri and name always; size in raw bytes; annotations as they were written."""
    annotations = {"audience": ["user"], "priority": 0.5, "lastModified": "2025-01-12T15:00:58Z"}
    more: dict[str, Any] = {"title": "X", "mime_type": "text/plain", "annotations": annotations, "meta": {"a": 1}}
    mcp = serving("é", description="A note.", **more)
    (listed,) = connect(mcp, revision).list_resources()
    oldest = revision == "2025-03-26"
    expected = {
        "uri": "note://x",
        "name": "x",
        "description": "A note.",
        "mimeType": "text/plain",
        "size": 2,
        "annotations": {"audience": ["user"], "priority": 0.5} if oldest else annotations,
    }
    assert listed == (expected if oldest else {**expected, "title": "X", "_meta": {"a": 1}})


@pytest.mark.parametrize(
    "annotations",
    [
        {"audience": "user"},
        {"audience": ["model"]},
        {"priority": 2},
        {"priority": float("nan")},
        {"priority": True},
        {"lastModified": "yesterday"},
        {"other": 1},
    ],
)
def test_other_annotations_are_refused_where_they_are_written(annotations: dict[str, Any]) -> None:
    """S26-RES-08: audience of user and assistant, priority from 0 to 1, lastModified in ISO 8601."""
    with pytest.raises(RegistrationError, match="annotations"):
        Resource(uri="note://x", name="x", annotations=annotations)


@pytest.mark.parametrize("uri", ["note", "note x://a", "x://a b", "://a", "x://é", "x://%zz", "", "x://a\n"])
def test_a_uri_follows_rfc_3986(uri: str) -> None:
    """S26-RES-10, S26-RES-11, T25-RES-03: also with a scheme of one's own; refused where it is written."""
    with pytest.raises(RegistrationError):
        Resource(uri=uri, name="x")


def test_templates_follow_rfc_6570_and_share_a_type_only_if_all_do(connect: Connect, revision: str) -> None:
    """S26-RES-07: ``uriTemplate`` and name; the type is what the author says of all."""
    mcp = MCPServer("templates")
    mcp.resource("x://{a}", name="any")(lambda a: a)
    mcp.resource("y://{a}/{+b}{?c}", name="typed", mime_type="text/plain")(lambda a, b, c="": a + b + c)
    any_type, typed = connect(mcp, revision).list_resource_templates()
    assert any_type == {"uriTemplate": "x://{a}", "name": "any"}
    assert typed == {"uriTemplate": "y://{a}/{+b}{?c}", "name": "typed", "mimeType": "text/plain"}
    with pytest.raises(RegistrationError):
        mcp.resource("z://{a*}", name="broken")(lambda a: a)


# --- reading --------------------------------------------------------------------------------------


def test_text_is_text_and_bytes_are_base64(connect: Connect, revision: str) -> None:
    """S26-RES-06, T25-RES-03: each with its ``uri``; ``text`` only for real text."""
    raw = bytes(range(256))
    (text,) = connect(serving("é"), revision).read_resource("note://x").contents
    (blob,) = connect(serving(raw), revision).read_resource("note://x").contents
    assert text == {"uri": "note://x", "text": "é", "mimeType": "text/plain"}
    assert (blob["uri"], base64.b64decode(blob["blob"], validate=True)) == ("note://x", raw)
    assert "text" not in blob


def test_a_read_may_have_several_contents(connect: Connect, revision: str) -> None:
    """S26-RES-05: each with a ``uri`` of its own."""
    parts = [ResourceContents("note://x/1", text="a"), ResourceContents("note://x/2", blob=b"b", mime_type="x/y")]
    contents = connect(serving(lambda: parts), revision).read_resource("note://x").contents
    assert contents == [{"uri": "note://x/1", "text": "a"}, {"uri": "note://x/2", "blob": "Yg==", "mimeType": "x/y"}]


def test_data_is_json_text(connect: Connect, revision: str) -> None:
    """S26-RES-06: what is neither text nor bytes."""
    (only,) = connect(serving(lambda: {"a": [1]}), revision).read_resource("note://x").contents
    assert only == {"uri": "note://x", "text": '{"a":[1]}', "mimeType": "application/json"}


def test_a_template_is_read_with_its_values_decoded(connect: Connect, revision: str) -> None:
    """S26-RES-07: and the exact resource wins over the template that matches it too."""
    client = connect(revision=revision)
    assert client.read_resource("note://fixed").text == "milk"
    assert client.read_resource("note://a%20%C3%A9").text == "a é"


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "uri", ["other://x", "note://none", "note://a/b", "", "note", "not a uri", "note://é", "note://%zz", "x" * 3000]
)
def test_an_unknown_resource_is_an_error_with_its_uri(connect: Connect, revision: str, uri: str) -> None:
    """S26-RES-03, S26-RES-11, T25-RES-02: never empty contents; the code is that of the revision."""
    reply = send(connect(revision=revision), "resources/read", {"uri": uri})
    assert refused(reply) == (200, not_found(revision))
    assert refusal(reply)["data"] == {"uri": uri}


def test_a_uri_that_is_none_does_not_reach_a_handler(connect: Connect, revision: str) -> None:
    """S26-RES-11, T25-RES-03: a handler written by hand is asked for URIs only."""
    client = connect(reading("x"), revision)
    for uri in ("", "note", "../../etc/passwd", "note://a b", "note://\x00", "note://é"):
        assert refused(send(client, "resources/read", {"uri": uri})) == (200, not_found(revision))
    assert client.read_resource("note:x").text == "x"


@pytest.mark.parametrize("uri", [None, 5, [], {}])
def test_a_read_without_a_uri_is_refused(connect: Connect, session_revision: str, uri: Any) -> None:
    """S26-RES-03: -32602; in the modern era the missing Mcp-Name is found first."""
    assert refused(send(connect(revision=session_revision), "resources/read", {"uri": uri})) == (200, -32602)
    assert refused(send(connect(), "resources/read", {"uri": uri})) == (400, -32020)


@pytest.mark.parametrize(
    "value", [None, [], (), object(), {"a": float("nan")}, ["x", ResourceContents("x:y", text="")]]
)
def test_contents_that_cannot_be_sent_are_an_internal_error(
    connect: Connect, revision: str, value: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """S26-RES-03, S26-RES-04, T25-RES-02: empty contents among them; logged once."""
    assert refused(send(connect(reading(value), revision), "resources/read", {"uri": "note://x"})) == (200, -32603)
    assert len([record for record in caplog.records if record.levelno >= logging.WARNING]) == 1


@pytest.mark.parametrize(
    "error", [RuntimeError("secret"), ToolError("secret"), SystemExit(1), RegistrationError("secret")]
)
def test_a_failed_read_is_an_internal_error_without_its_words(
    connect: Connect, revision: str, error: BaseException
) -> None:
    """S26-RES-04, T25-RES-02, S26-LOG-05: -32603, and the id to look for in the log."""
    reply = send(connect(reading(error), revision), "resources/read", {"uri": "note://x"})
    assert refused(reply) == (200, -32603)
    assert "secret" not in reply.text
    assert "request id 1" in refusal(reply)["message"]


def test_a_handler_may_answer_a_read_with_an_error_of_its_own(connect: Connect, revision: str) -> None:
    """S26-RES-03: not found with the URI that it names, or any other."""
    with pytest.raises(ProtocolError) as caught:
        connect(reading(ResourceNotFound("note://y")), revision).read_resource("note://x")
    assert (caught.value.code, caught.value.data) == (not_found(revision), {"uri": "note://y"})
    with pytest.raises(ProtocolError) as caught:
        connect(reading(MCPError("later", code=9)), revision).read_resource("note://x")
    assert caught.value.code == 9


# --- safety ---------------------------------------------------------------------------------------

ESCAPES = ["..%2Fsecret", "%2e%2e/secret", "a/../../secret", "/etc/passwd", "..%5Csecret", "%2e%2e%2fsecret", "a/%00"]


@pytest.mark.parametrize("path", ESCAPES)
def test_a_file_template_does_not_lead_out_of_its_directory(connect: Connect, revision: str, path: str) -> None:
    """S26-RES-11: whatever way the dots and slashes are written."""
    mcp, seen = MCPServer("files"), []

    @mcp.resource("file:///srv/{+path}")
    def file(path: str) -> str:
        seen.append(path)
        return path

    assert refused(send(connect(mcp, revision), "resources/read", {"uri": f"file:///srv/{path}"})) == (
        200,
        not_found(revision),
    )
    assert seen == []
    assert connect(mcp, revision).read_resource("file:///srv/a/b.txt").text == "a/b.txt"


def test_a_link_does_not_lead_out_of_its_directory_either(connect: Connect, tmp_path: Path) -> None:
    """S26-RES-11: ``safe_file_path`` looks at the file system."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "in.txt").write_text("inside")
    (tmp_path / "secret.txt").write_text("secret")
    (root / "out.txt").symlink_to(tmp_path / "secret.txt")
    mcp = MCPServer("files")

    @mcp.resource(f"file://{root}/{{+path}}")
    def file(path: str) -> str:
        return safe_file_path(f"file://{root}/{path}", root).read_text()

    client = connect(mcp)
    assert client.read_resource(f"file://{root}/in.txt").text == "inside"
    assert refused(send(client, "resources/read", {"uri": f"file://{root}/out.txt"})) == (200, -32602)


def test_permission_is_checked_before_the_function_runs(connect: Connect, revision: str) -> None:
    """S26-RES-11: what a caller may not see looks as if it did not exist, also through a template."""
    ran: list[str] = []

    class Closed(MCPServer):
        def allows(self, item: Any, ctx: Context) -> bool:
            return False

    mcp = Closed("closed")

    @mcp.resource("note://x")
    def exact() -> str:
        ran.append("exact")
        return "x"

    @mcp.resource("note://{a}")
    def any_note(a: str) -> str:
        ran.append(a)
        return a

    client = connect(mcp, revision)
    assert refused(send(client, "resources/read", {"uri": "note://x"})) == (200, not_found(revision))
    assert (ran, client.list_resources().names, client.list_resource_templates().names) == ([], [], [])


def test_every_revision_reads_what_the_others_read(connect: Connect) -> None:
    """S26-RES-02, S26-BASE-20: one application, whichever revision asks first."""
    app = everything().wsgi_app(workers="inline")
    texts = {connect(app, name).read_resource("note://fixed").text for name in (MODERN, "2025-03-26", "2025-11-25")}
    assert texts == {"milk"}
