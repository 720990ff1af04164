"""The ladder before the body: path, host, origin, peer, credentials; and what browsers are told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi.errors import Forbidden, MCPError, NotFound, Unauthorized
from mcp_wsgi.options import Options
from mcp_wsgi.wsgi import guards
from mcp_wsgi.wsgi.http import HttpRequest


def request(
    path: str = "/mcp", host: str = "", origin: str | None = None, peer: str = "", scheme: str = "http", **more: str
) -> HttpRequest:
    headers: dict[str, str] = {} if origin is None else {"Origin": origin}
    headers |= {name.replace("_", "-"): value for name, value in more.items()}
    return HttpRequest("POST", path, headers, scheme, host, peer, "", {}, lambda limit: b"")


def options(**given: Any) -> Options:
    return Options.build(given)


def allowed(asked: HttpRequest, **given: Any) -> bool:
    try:
        guards.check_access(asked, options(**given))
    except Forbidden:
        return False
    return True


# --- path -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["", "/", "/mcp", "/mcp/"])
def test_the_endpoint_is_at_its_path_and_at_the_mounts_root(path: str) -> None:
    guards.check_access(request(path), options())


@pytest.mark.parametrize("path", ["/MCP", "/mcp/x", "/mcpx", "/other", "mcp", "/mcp?x"])
def test_other_paths_are_not_found(path: str) -> None:
    with pytest.raises(NotFound, match="/mcp"):
        guards.check_access(request(path), options())


def test_the_path_can_be_set_even_to_the_root_alone() -> None:
    guards.check_access(request("/api/v1/"), options(path="/api/v1"))
    guards.check_access(request("/"), options(path="/"))
    with pytest.raises(NotFound, match=r"endpoint is at /$"):
        guards.check_access(request("/mcp"), options(path="/"))


# --- Host -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "hosts", "served"),
    [
        ("", [], True),
        ("anything", [], True),
        ("mcp.example.com", ["mcp.example.com"], True),
        ("MCP.Example.COM:8443", ["mcp.example.com"], True),
        ("mcp.example.com:8443", ["mcp.example.com:8443"], True),
        ("mcp.example.com:1", ["mcp.example.com:8443"], False),
        ("mcp.example.com", ["mcp.example.com:8443"], False),
        ("a.example.com", [".example.com"], True),
        ("example.com", [".example.com"], True),
        ("badexample.com", [".example.com"], False),
        ("evil.example", ["*"], True),
        ("[::1]:8000", ["[::1]"], True),
        ("[::1]", ["[::1]"], True),
        ("[::2]:8000", ["[::1]"], False),
        ("localhost", ["127.0.0.1"], False),
        ("localhost.evil.example", ["localhost"], False),
        ("localhost,evil.example", ["localhost"], False),
        ("user@localhost", ["localhost"], False),
        ("", ["localhost"], False),
        (":8000", ["localhost"], False),
        ("localhost:", ["localhost"], True),
        (" localhost\t", ["localhost"], True),
        ("my_service:8000", ["my_service"], True),
        # No host at all, by the grammar of RFC 3986, 3.2.2.
        ("[::1", ["[::1]"], False),
        ("[::1]x", ["[::1]"], False),
        ("[::1]:80:90", ["[::1]"], False),
        ("[[::1]]", ["[::1]"], False),
        ("::1", ["[::1]", "*"], False),
        ("localhost:80:90", ["localhost"], False),
        ("localhost:port", ["localhost"], False),
        ("localhost:-1", ["localhost"], False),
        ("localhost:\xb2", ["localhost"], False),
        ("localhost\xa0", ["localhost"], False),
        ("localhost\n", ["localhost"], False),
        ("evil.example/a.example.com", [".example.com"], False),
        ("evil.example, a.example.com", [".example.com"], False),
        ("user@a.example.com", [".example.com"], False),
        ("localhost:80:90", ["*"], False),
    ],
)
def test_a_host_is_served_if_it_is_listed_or_nothing_is(host: str, hosts: list[str], served: bool) -> None:
    """S26-SEC-03: by its name; what is no host by the grammar has none."""
    assert allowed(request(host=host), hosts=hosts) is served


# --- Origin ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("origin", "origins", "passes"),
    [
        (None, [], True),
        ("https://app.example.com", ["https://app.example.com"], True),
        ("HTTPS://App.Example.com", ["https://app.example.com"], True),
        ("https://app.example.com", ["*"], True),
        ("null", ["null"], True),
        ("null", ["https://app.example.com"], False),
        ("null", [], False),
        ("", [], False),
        ("https://evil.example.com", ["https://app.example.com"], False),
        ("http://app.example.com", ["https://app.example.com"], False),
        ("https://app.example.com:8443", ["https://app.example.com"], False),
        ("https://app.example.com.evil.example", ["https://app.example.com"], False),
        ("https://app.example.com, https://app.example.com", ["https://app.example.com"], False),
    ],
)
def test_an_origin_passes_if_it_is_listed(origin: str | None, origins: list[str], passes: bool) -> None:
    assert allowed(request(host="mcp.example.com", origin=origin), origins=origins) is passes


@pytest.mark.parametrize(
    ("origin", "host", "scheme", "passes"),
    [
        ("http://localhost:8000", "localhost:8000", "http", True),
        ("http://LOCALHOST:8000", "Localhost:8000", "http", True),
        ("http://127.0.0.1:8000", "127.0.0.1:8000", "http", True),
        ("http://[::1]:8000", "[::1]:8000", "http", True),
        ("http://localhost", "localhost", "http", True),
        ("http://localhost", "localhost:80", "http", True),
        ("https://localhost", "localhost:443", "https", True),
        ("http://localhost:8000", "localhost:9000", "http", False),
        ("http://localhost:8000", "127.0.0.1:8000", "http", False),
        ("http://localhost", "localhost:8000", "http", False),
        ("ftp://localhost", "localhost", "http", False),
        ("localhost:8000", "localhost:8000", "http", False),
        ("http://", "", "http", False),
        ("https://evil.example.com", "evil.example.com", "https", False),
        ("http://localhost", "localhost:", "http", True),
        ("http://localhost:", "localhost", "http", True),
        ("http://[::1", "[::1", "http", False),
        ("http://localhost:80:90", "localhost:80:90", "http", False),
        ("http://localhost:80:90", "localhost:80", "http", False),
        ("http://localhost/", "localhost", "http", False),
        ("http://127.0.0.1.evil.example", "127.0.0.1.evil.example", "http", False),
    ],
)
def test_the_servers_own_origin_passes_on_loopback_names(origin: str, host: str, scheme: str, passes: bool) -> None:
    assert allowed(request(host=host, origin=origin, scheme=scheme)) is passes


def test_the_servers_own_origin_passes_on_a_listed_host_behind_a_tls_proxy_too() -> None:
    own = request(host="mcp.example.com", origin="https://mcp.example.com", scheme="http")
    assert allowed(own, hosts=["mcp.example.com"])
    assert not allowed(own, hosts=["mcp.example.org"])
    assert not allowed(request(host="localhost", origin="http://localhost"), hosts=["mcp.example.com"])


@given(st.text(st.characters(codec="latin-1")), st.sampled_from([["*"], ["null"], []]))
def test_whatever_passes_as_an_origin_can_stand_in_a_header(origin: str, origins: list[str]) -> None:
    asked = request(host="localhost", origin=origin)
    for _, value in guards.cors_headers(asked, options(origins=origins)):
        assert value.isascii()
        assert value.isprintable()
    if not (origin.isascii() and origin.isprintable()):
        assert not allowed(asked, origins=origins)


# --- peer -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("peer", "local"),
    [
        ("127.0.0.1", True),
        ("127.8.9.10", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("::1%lo", True),
        ("10.0.0.1", False),
        ("::ffff:10.0.0.1", False),
        ("fe80::1%eth0", False),
        ("0.0.0.0", False),
        ("", False),
        ("localhost", False),
    ],
)
def test_only_loopback_peers_are_local(peer: str, local: bool) -> None:
    assert allowed(request(peer=peer), allow_remote_access=False) is local
    assert allowed(request(peer=peer))


# --- credentials ----------------------------------------------------------------------------------


def test_without_auth_nobody_is_asked_who_they_are() -> None:
    assert guards.authenticate(request(), options()) is None


def test_auth_sees_the_request_and_names_the_principal() -> None:
    def auth(asked: HttpRequest) -> Any:
        return SimpleNamespace(id=asked.headers["Authorization"])

    assert guards.authenticate(request(Authorization="Bearer x"), options(auth=auth)).id == "Bearer x"


@pytest.mark.parametrize(
    ("returned", "raised"), [(None, Unauthorized), (object(), TypeError), (SimpleNamespace(id=None), TypeError)]
)
def test_a_principal_has_an_id(returned: Any, raised: type[Exception]) -> None:
    with pytest.raises(raised):
        guards.authenticate(request(), options(auth=lambda asked: returned))


@pytest.mark.parametrize("error", [Unauthorized("who?"), Forbidden(), MCPError("odd"), KeyError("token")])
def test_what_auth_raises_lets_nobody_in(error: Exception) -> None:
    def auth(asked: HttpRequest) -> Any:
        raise error

    with pytest.raises(type(error)) as caught:
        guards.authenticate(request(), options(auth=auth))
    assert caught.value is error


# --- CORS -----------------------------------------------------------------------------------------


def cors(origin: str | None, **given: Any) -> Mapping[str, str]:
    return dict(guards.cors_headers(request(host="localhost", origin=origin), options(**given)))


def test_a_page_of_an_allowed_origin_may_read_the_answer_and_its_headers() -> None:
    headers = cors("https://App.example.com", origins=["https://app.example.com"])
    assert headers["Access-Control-Allow-Origin"] == "https://App.example.com"
    assert headers["Vary"] == "Origin"
    exposed = {name.strip().lower() for name in headers["Access-Control-Expose-Headers"].split(",")}
    assert {"mcp-session-id", "mcp-protocol-version", "www-authenticate", "retry-after"} <= exposed


def test_other_pages_may_not_and_caches_are_told_that_it_differs() -> None:
    assert cors("https://evil.example.com", origins=["https://app.example.com"]) == {"Vary": "Origin"}
    assert cors(None, origins=["https://app.example.com"]) == {"Vary": "Origin"}
    assert cors(None) == {}


def test_a_preflight_allows_every_header_of_the_protocol() -> None:
    headers = dict(guards.preflight_headers(request()))
    allowed_headers = {name.strip().lower() for name in headers["Access-Control-Allow-Headers"].split(",")}
    assert {
        "accept",
        "authorization",
        "content-type",
        "last-event-id",
        "mcp-method",
        "mcp-name",
        "mcp-protocol-version",
        "mcp-session-id",
    } <= allowed_headers
    assert "POST" in headers["Access-Control-Allow-Methods"]


def test_a_preflight_allows_the_parameter_headers_it_asks_for_and_no_others() -> None:
    asked = "content-type, mcp-param-region, Mcp-Param-Dry-Run, x-other, mcp-param-a b, mcp-param-é"
    headers = dict(guards.preflight_headers(request(Access_Control_Request_Headers=asked)))
    allowed_headers = headers["Access-Control-Allow-Headers"]
    assert allowed_headers.endswith(", mcp-param-region, Mcp-Param-Dry-Run")
    assert "x-other" not in allowed_headers


def test_serving_any_host_does_not_make_each_the_servers_own_name() -> None:
    """S26-SEC-03: with DNS rebinding, a hostile page's Origin and Host agree."""
    assert not allowed(request(host="evil.example", origin="http://evil.example"), hosts=["*"])
    assert allowed(request(host="localhost:8000", origin="http://localhost:8000"), hosts=["*"])
    assert allowed(request(host="a.example", origin="http://a.example"), hosts=["*", "a.example"])


class Late(BaseException):
    """Like gevent's Timeout."""


def ends(error: BaseException) -> Callable[[HttpRequest], Any]:
    def auth(asked: HttpRequest) -> Any:
        raise error

    return auth


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), Late()])
def test_whatever_auth_raises_fails_its_request_and_no_thread(error: BaseException) -> None:
    with ThreadPoolExecutor(1) as pool:
        failure = pool.submit(guards.authenticate, request(), options(auth=ends(error))).exception(10)
    assert isinstance(failure, RuntimeError)
    assert failure.__cause__ is error


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()])
def test_what_ends_the_process_is_let_through_in_its_main_thread(error: BaseException) -> None:
    with pytest.raises(type(error)):
        guards.authenticate(request(), options(auth=ends(error)))


def test_a_time_out_in_the_main_thread_fails_its_request() -> None:
    with pytest.raises(RuntimeError, match="auth raised Late"):
        guards.authenticate(request(), options(auth=ends(Late())))
