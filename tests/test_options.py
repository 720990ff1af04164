"""The options: what each takes, what it refuses and in which words."""

from __future__ import annotations

import threading
from typing import Any, get_type_hints

import pytest

from mcp_wsgi.errors import OptionError
from mcp_wsgi.options import OPTIONS, Options
from mcp_wsgi.stores import SessionStore


def auth(request: object) -> None:
    """Stands for an application's own."""


STORE = SessionStore()
KEY, OTHER = "k" * 16, b"o" * 32
MONTH = 30 * 24 * 3600
HUGE = 10**400  # beyond a float

# Option -> what it takes: as given, as kept.
GOOD: dict[str, list[tuple[Any, Any]]] = {
    "sessions": [("auto", "auto"), (True, True), (False, False)],
    "store": [(None, None), (STORE, STORE)],
    "session_ttl": [(0.001, 0.001), (365 * 24 * 3600, 365 * 24 * 3600.0)],
    "max_sessions": [(1, 1), (10**6, 10**6)],
    "session_max_pending": [(0, 0), (10**6, 10**6)],
    "path": [("/", ""), ("/mcp", "/mcp"), ("/api/v1.0/mcp/", "/api/v1.0/mcp"), ("/~me/a-b_c", "/~me/a-b_c")],
    "auth": [(None, None), (auth, auth)],
    "origins": [
        ((), frozenset()),
        (["*"], {"*"}),
        (["null", "https://A.Example.com"], {"null", "https://a.example.com"}),
        (["http://localhost:3000", "http://[::1]:3000"], {"http://localhost:3000", "http://[::1]:3000"}),
        (["https://a.b:443", "http://a.b:80"], {"https://a.b", "http://a.b"}),
        (
            ["https://a.b:80", "http://a.b:443", "https://a.b:4430"],
            {"https://a.b:80", "http://a.b:443", "https://a.b:4430"},
        ),
        (["vscode-webview://1a2b", "chrome-extension://abc"], {"vscode-webview://1a2b", "chrome-extension://abc"}),
    ],
    "hosts": [
        ([], frozenset()),
        ({"A.Example.com", "localhost:8000"}, {"a.example.com", "localhost:8000"}),
        ((".example.com", "*", "127.0.0.1"), {".example.com", "*", "127.0.0.1"}),
        (["[::1]", "::1", "[::1]:8000", "my_service"], {"[::1]", "[::1]:8000", "my_service"}),
    ],
    "allow_remote_access": [(True, True), (False, False)],
    "max_body": [(1024, 1024), (2**40, 2**40)],
    "max_depth": [(8, 8), (256, 256)],
    "max_batch": [(1, 1), (10**6, 10**6)],
    "max_calls": [(1, 1), (10**6, 10**6)],
    "request_timeout": [(0.001, 0.001), (1, 1.0), (MONTH, MONTH)],
    "input_timeout": [(0.001, 0.001), (1, 1.0), (MONTH, MONTH)],
    "max_questions": [(None, None), (0, 0), (10**6, 10**6)],
    "state_ttl": [(0.001, 0.001), (900, 900.0)],
    "single_use": [(True, True), (False, False)],
    "stream_after": [(0, 0.0), (0.5, 0.5), (MONTH, MONTH)],
    "stream_lifetime": [(0.001, 0.001), (MONTH, MONTH)],
    "keepalive": [(0.001, 0.001), (MONTH, MONTH)],
    "stream_retry": [(0, 0.0), (0.5, 0.5), (MONTH, MONTH)],
    "max_streams": [(None, None), (0, 0), (2000, 2000)],
    "max_listens_per_principal": [(1, 1), (500, 500)],
    "event_log": [(1, 1), (10**6, 10**6)],
    "event_log_bytes": [(1024, 1024)],
    "progress_rate": [(0.1, 0.1), (1_000_000, 1e6)],
    "log_level": [("debug", "debug"), ("emergency", "emergency")],
    "page_size": [(1, 1), (10**6, 10**6)],
    "cache_ttl": [(0, 0.0), (0.5, 0.5), (365 * 24 * 3600, 31536000.0)],
    "cache_scope": [("private", "private"), ("public", "public")],
    "secret_key": [
        (None, ()),
        (KEY, (KEY.encode(),)),
        (OTHER, (OTHER,)),
        ([KEY, OTHER], (KEY.encode(), OTHER)),
        ((OTHER,), (OTHER,)),
        ("\u00e9" * 8, ("\u00e9".encode() * 8,)),
    ],
    "workers": [(name, name) for name in ("auto", "greenlets", "threads", "inline")],
    "expose_errors": [(True, True), (False, False)],
}

# Option -> what it refuses.
NO_NUMBERS = [None, True, "1", b"1", [1], 1j, float("nan"), float("inf"), -float("inf")]
NO_COUNTS = [None, True, "1", 1.0, 1.5, [1], float("nan")]
NO_FLAGS: list[Any] = [None, 0, 1, "yes", "", []]
NO_LISTS = [None, 1, "a.b", b"a.b", [""], [1], [None], [b"a.b"]]
BAD: dict[str, list[Any]] = {
    "sessions": [None, "Auto", "", 0, 1, "none"],
    "store": [SessionStore, "redis://localhost/0", object(), {}, True],
    "session_ttl": [0, -1, "300", None, True, HUGE, float("inf"), float("nan")],
    "max_sessions": [0, -1, 1.5, "1", None, True],
    "session_max_pending": [-1, 1.5, "1", None, True],
    "path": [
        *(None, b"/mcp", "", "mcp", "http://a/mcp"),
        *("/a//b", "//", "/../a", "/a/.", "/a/.."),
        *("/a?b", "/a#b", "/a b", "/a\\b", "/a%20b", "/\u00e9", "/a\n", "/\x00"),
    ],
    "auth": ["token", 1, [auth], False],
    "origins": [
        *NO_LISTS,
        *(["a.example.com"], ["https://"], ["://a.b"], ["https://a.b/"], ["https://a.b/c"], ["https://a.b?x"]),
        *(["https://a b"], ["https://u@a.b"], ["https://*.a.b"], ["https://a.b:x"], ["https://\u00e9.b"]),
        ["https://a.b\n"],
    ],
    "hosts": [
        *NO_LISTS,
        *(["https://a.b"], ["a.b/c"], ["a b"], ["*.a.b"], ["a.b:x"], ["\u00e9.b"], ["."], ["a..b"], ["u@a.b"]),
        *(["a.b\n"], [":80"], ["[::1"]),
    ],
    "allow_remote_access": NO_FLAGS,
    "max_body": [*NO_COUNTS, 1023, -1],
    "max_depth": [*NO_COUNTS, 7, 257],
    "max_batch": [*NO_COUNTS, 0],
    "max_calls": [*NO_COUNTS, 0],
    "request_timeout": [*NO_NUMBERS, 0, -1, MONTH + 1, HUGE],
    "input_timeout": [0, -1, "1", None, True, HUGE, float("inf"), float("nan")],
    "max_questions": [-1, 1.5, "1", True],
    "state_ttl": [0, -1, "1", None, True, HUGE, float("inf"), float("nan")],
    "single_use": [None, 0, 1, "yes"],
    "stream_after": [*NO_NUMBERS, -0.1, MONTH + 1, HUGE],
    "stream_lifetime": [*NO_NUMBERS, 0, MONTH + 1, HUGE],
    "keepalive": [*NO_NUMBERS, 0, -1, MONTH + 1, HUGE],
    "stream_retry": [-1, "1", None, True, HUGE, float("inf"), float("nan")],
    "max_streams": [*(bad for bad in NO_COUNTS if bad is not None), -1],
    "max_listens_per_principal": [*NO_COUNTS, 0],
    "event_log": [*NO_COUNTS, 0],
    "event_log_bytes": [*NO_COUNTS, 1023],
    "progress_rate": [*NO_NUMBERS, 0, -1, 1_000_001, HUGE],
    "log_level": [None, "trace", "INFO", 20, ""],
    "page_size": [*NO_COUNTS, 0, -1],
    "cache_ttl": [*NO_NUMBERS, -1, 10**12, HUGE],
    "cache_scope": [None, "Public", "", True],
    "secret_key": ["", "k" * 15, b"k" * 15, [], [KEY, "short"], [KEY, 1], 1, {KEY}, object(), "\ud800" * 16],
    "workers": [None, "gevent", "Threads", "", 4],
    "expose_errors": NO_FLAGS,
}


def rows(table: dict[str, list[Any]]) -> list[Any]:
    return [
        pytest.param(name, value, id=f"{name}-{number}")
        for name, values in table.items()
        for number, value in enumerate(values)
    ]


@pytest.mark.parametrize(("name", "value"), rows(GOOD))
def test_takes(name: str, value: tuple[Any, Any]) -> None:
    given, kept = value
    found = getattr(Options.build({name: given}), name)
    assert found == kept
    assert type(found) is type(kept) or isinstance(found, float | frozenset)


@pytest.mark.parametrize(("name", "value"), rows(BAD))
def test_refuses_by_name(name: str, value: Any) -> None:
    with pytest.raises(OptionError, match=rf"^option {name}: (takes|must be|needs|'utf-8')"):
        Options.build({name: value})


def test_every_option_has_its_rows() -> None:
    assert set(GOOD) == set(BAD) == set(OPTIONS) == set(Options.__struct_fields__)


def test_the_defaults_pass_their_own_checks_and_are_what_the_table_says() -> None:
    options = Options.build({})
    assert (options.request_timeout, options.stream_after, options.stream_lifetime) == (60.0, 10.0, 3600.0)
    assert (options.keepalive, options.event_log, options.event_log_bytes) == (15.0, 256, 2**20)
    assert (options.page_size, options.max_body, options.max_batch, options.max_depth) == (50, 4 * 2**20, 100, 64)
    assert (options.sessions, options.path, options.workers, options.allow_remote_access) == (
        "auto",
        "/mcp",
        "auto",
        True,
    )
    assert (options.auth, options.origins, options.hosts, options.secret_key) == (None, frozenset(), frozenset(), ())
    assert (options.cache_ttl, options.cache_scope, options.log_level, options.expose_errors) == (
        0,
        "private",
        "info",
        False,
    )


def test_what_is_kept_has_the_type_it_is_declared_with() -> None:
    options = Options.build({})
    for name, hint in get_type_hints(Options).items():
        if hint in (int, float, str, bool):
            assert type(getattr(options, name)) is hint


@pytest.mark.parametrize("name", ["request_timeout", "stream_after", "keepalive", "stream_lifetime"])
def test_the_longest_wait_is_one_that_locks_can_wait(name: str) -> None:
    assert getattr(Options.build({name: MONTH}), name) < threading.TIMEOUT_MAX


@pytest.mark.parametrize(
    ("name", "hint"), [("keep_alive", "keepalive"), ("Workers", "workers"), ("max_bodies", "max_body")]
)
def test_an_unknown_name_gets_the_closest_one(name: str, hint: str) -> None:
    with pytest.raises(OptionError, match=f"^unknown option '{name}'; did you mean '{hint}'"):
        Options.build({name: 1})


def test_an_unknown_name_like_no_other_gets_the_list() -> None:
    with pytest.raises(OptionError) as caught:
        Options.build({"zzz": 1})
    assert all(name in str(caught.value) for name in OPTIONS)


def test_a_wrong_value_is_shown_but_not_at_any_length() -> None:
    with pytest.raises(OptionError, match=r"got 'gevent'$"):
        Options.build({"workers": "gevent"})
    with pytest.raises(OptionError) as caught:
        Options.build({"path": "x" * 10_000})
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("key", ["short-secret", [KEY, "short-secret"], "secret\ud800" * 3])
def test_a_wrong_key_is_not_shown(key: Any) -> None:
    """S26-LOG-05: such a message ends up in a log."""
    with pytest.raises(OptionError) as caught:
        Options.build({"secret_key": key})
    assert "secret" not in str(caught.value).replace("secret_key", "")
    assert caught.value.__suppress_context__


def test_the_options_do_not_change() -> None:
    options = Options.build({})
    with pytest.raises(AttributeError):
        options.keepalive = 1.0  # type: ignore[misc]
    with pytest.raises(TypeError):
        OPTIONS["keepalive"] = OPTIONS["path"]  # type: ignore[index]


@pytest.mark.parametrize("option", OPTIONS.values(), ids=OPTIONS)
def test_every_option_is_described_for_the_documentation(option: Any) -> None:
    assert option.unit
    assert option.about.endswith(".")
