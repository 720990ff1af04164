"""Requirements, group 14: icons."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_wsgi import Icon, MCPServer, Prompt, Resource, ResourceLink, ResourceTemplate, Tool
from mcp_wsgi.errors import RegistrationError
from mcp_wsgi.testing import Client
from tests.spec.kit import MODERN, PREFIX, Connect

ICONS = [
    Icon("https://shop.example/icon.png", mime_type="image/png", sizes=["48x48", "any"], theme="dark"),
    Icon("data:image/png;base64,iVBORw0KGgo="),
]
WIRE = [
    {"src": "https://shop.example/icon.png", "mimeType": "image/png", "sizes": ["48x48", "any"], "theme": "dark"},
    {"src": "data:image/png;base64,iVBORw0KGgo="},
]


def iconic() -> MCPServer:
    """A server with icons wherever there can be some."""
    mcp = MCPServer("iconic", icons=ICONS)
    mcp.add_tool(lambda: ResourceLink("note://x", "x", icons=ICONS), name="x", icons=ICONS)
    mcp.add_resource(Resource(uri="note://x", name="x", icons=ICONS), "x")
    mcp.resource("note://{a}/y", name="y", icons=ICONS)(lambda a: a)
    mcp.prompt(name="x", icons=ICONS)(lambda: "x")
    return mcp


def icons(client: Client) -> list[Any]:
    """The icons of the server, a tool, a resource, a template, a prompt and a link."""
    if client.revision.name == MODERN:
        info = client.discover().meta[PREFIX + "serverInfo"]
    else:
        info = client.initialize().raw["serverInfo"]
    lists = (client.list_tools(), client.list_resources(), client.list_resource_templates(), client.list_prompts())
    (link,) = client.call_tool("x").content
    return [each.get("icons") for each in (info, *(item for listing in lists for item in listing), link)]


@pytest.mark.parametrize("later", ["2025-11-25", MODERN])
def test_icons_are_sent_with_everything_that_has_some(connect: Connect, later: str) -> None:
    """S26-ICON-01, T25-ICON-01: src, mimeType, sizes and theme."""
    assert icons(connect(iconic(), later)) == [WIRE] * 6


@pytest.mark.parametrize("earlier", ["2025-03-26", "2025-06-18"])
def test_earlier_revisions_have_no_icons(connect: Connect, earlier: str) -> None:
    """T25-ICON-01: the field is not sent to them."""
    assert icons(connect(iconic(), earlier)) == [None] * 6


@pytest.mark.parametrize("src", ["javascript:alert(1)", "ftp://a.example/i.png", "/icon.png", "file:///i.png", ""])
def test_an_icon_that_clients_would_reject_is_refused(src: str) -> None:
    """S26-ICON-01, S26-ICON-02: of the scheme https or data (or http, while developing)."""
    with pytest.raises(RegistrationError, match="src"):
        Icon(src)


@pytest.mark.parametrize("wrong", [{"theme": "blue"}, {"sizes": "48x48"}])
def test_an_icon_says_what_the_protocol_knows(wrong: dict[str, Any]) -> None:
    """S26-ICON-01: a list of sizes, one of two themes."""
    with pytest.raises(RegistrationError):
        Icon("https://shop.example/i.png", **wrong)


@pytest.mark.parametrize(
    "make",
    [
        lambda icons: Tool(name="x", icons=icons),
        lambda icons: Resource(uri="x:y", name="x", icons=icons),
        lambda icons: ResourceTemplate(uri_template="x:{y}", name="x", icons=icons),
        lambda icons: Prompt(name="x", icons=icons),
    ],
)
def test_icons_are_a_list_of_icons(make: Any) -> None:
    """S26-ICON-01: everywhere."""
    for wrong in (ICONS[0], ["https://shop.example/i.png"], [WIRE[0]]):
        with pytest.raises(RegistrationError, match="icons"):
            make(wrong)
