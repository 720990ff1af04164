"""URIs are checked, templates match what they expand to, and no value leads out of a directory."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from mcp_wsgi.errors import RegistrationError, ResourceNotFound
from mcp_wsgi.uris import Template, check_uri, is_uri, safe_file_path

# --- syntax ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        # RFC 3986, section 1.1.2
        "ftp://ftp.is.co.za/rfc/rfc1808.txt",
        "http://www.ietf.org/rfc/rfc2396.txt",
        "ldap://[2001:db8::7]/c=GB?objectClass?one",
        "mailto:John.Doe@example.com",
        "news:comp.infosystems.www.servers.unix",
        "tel:+1-816-555-1212",
        "telnet://192.0.2.16:80/",
        "urn:oasis:names:specification:docbook:dtd:xml:4.1.2",
        "file:///a/b%20c",
        "x+y-z.1://user:pw@host:8080/p;q=1/@:?a=b/c?d#e?f",
        "note:",
        "note:///",
        "note:/a//b",
        "x://h?#",
    ],
)
def test_a_uri_passes(text: str) -> None:
    """S26-RES-10"""
    assert is_uri(text)
    check_uri(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no scheme"),
        ("/a/b", "no scheme"),
        ("notes", "no scheme"),
        ("1a://b", "no scheme"),
        ("é://b", "no scheme"),
        ("x://a b", "percent-encode ' ' at position 5"),
        ("x://café", "percent-encode 'é' at position 7"),
        ("x://a\n", "percent-encode"),
        ("x:\\a", "percent-encode"),
        ("x://a/%4", "percent-encode '%' at position 6"),
        ("x://a/{b}", "percent-encode '{'"),
        ("x://a:b", "out of place"),
        ("x://a/[b]", "out of place"),
        ("x://a#b#c", "out of place"),
        ("x://[", "out of place"),
    ],
)
def test_what_is_no_uri_is_refused_by_position(text: str, words: str) -> None:
    """S26-RES-10, S26-RES-11"""
    assert not is_uri(text)
    with pytest.raises(RegistrationError, match=re.escape(words)):
        check_uri(text, owner="note")
    with pytest.raises(LookupError, match="note"):
        check_uri(text, owner="note", error=LookupError)


def test_a_uri_is_text() -> None:
    with pytest.raises(RegistrationError, match="type bytes"):
        check_uri(b"x://y")  # type: ignore[arg-type]


# --- reading templates ----------------------------------------------------------------------------


def test_a_template_names_its_variables_in_order() -> None:
    template = Template("x://{b}/{+a}{?d,c}{&e}")
    assert template.variables == ("b", "a", "d", "c", "e")
    assert template.query_variables == ("d", "c", "e")
    assert template.text == "x://{b}/{+a}{?d,c}{&e}"
    assert repr(template) == "Template('x://{b}/{+a}{?d,c}{&e}')"


def test_a_uri_without_variables_is_a_template_too() -> None:
    template = Template("x://a?b=c")
    assert template.variables == ()
    assert template.match("x://a?b=c") == {}
    assert template.match("x://a?b=cd") is None


@pytest.mark.parametrize(
    ("text", "position", "words"),
    [
        ("{a}", 0, "no scheme"),
        ("x{a}://b", 0, "no scheme"),
        ("", 0, "no scheme"),
        ("x://{#a}", 4, "'#' is not served; leave the fragment out"),
        ("x://a{.b}", 5, "write '.{name}'"),
        ("x://a{/b}", 5, "write '/{name}'"),
        ("x://a{;b}", 5, "write ';name={name}'"),
        ("x://{!a}", 4, "'!' is no operator"),
        ("x://{a*}", 4, "modifiers"),
        ("x://{a:3}", 4, "modifiers"),
        ("x://{}", 4, "'' is no name"),
        ("x://{+}", 4, "'' is no name"),
        ("x://{a-b}", 4, "'a-b' is no name"),
        ("x://{é}", 4, "'é' is no operator"),
        ("x://{?a,}", 4, "'' is no name"),
        ("x://{a}/{a}", 8, "'a' comes twice"),
        ("x://{a}{?a}", 7, "'a' comes twice"),
        ("x://{a}{b}", 7, "two variables touch"),
        ("x://{a,b}", 4, "several variables"),
        ("x://{+a}/{+b}", 9, "hold slashes"),
        ("x://{?a}/b", 8, "text follows the query"),
        ("x://{?a}{b}", 8, "a variable follows the query"),
        ("x://{?a}{?b}", 8, "write {&name}"),
        ("x://a?b=c{?d}", 9, "write {&name}"),
        ("x://a{&b}", 5, "write {?name}"),
        ("x://a?b={b}{&c}", 11, "holds a {name} too"),
        ("x://{a", 4, "no partner"),
        ("x://a}", 5, "no partner"),
        ("x://{{a}}", 4, "no partner"),
        ("x://{a}/}/{b}", 8, "no partner"),
    ],
)
def test_a_wrong_template_is_refused_by_position(text: str, position: int, words: str) -> None:
    with pytest.raises(RegistrationError) as caught:
        Template(text)
    assert f"position {position}:" in str(caught.value)
    assert words in str(caught.value)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize("text", ["x://a b/{c}", "x://é/{c}", "x://a/{c}#d#e"])
def test_the_text_around_the_variables_must_make_a_uri(text: str) -> None:
    """S26-RES-10"""
    with pytest.raises(RegistrationError, match="is no URI"):
        Template(text)


def test_a_variable_may_be_a_port_or_a_host() -> None:
    assert Template("x://{host}:{port}/").match("x://h:80/") == {"host": "h", "port": "80"}


def test_a_query_may_follow_a_port() -> None:
    assert Template("x://h:80{?a}").match("x://h:80?a=1") == {"a": "1"}


def test_a_template_is_text() -> None:
    with pytest.raises(RegistrationError, match="type NoneType"):
        Template(None)  # type: ignore[arg-type]


def test_unchecked_names_variables() -> None:
    with pytest.raises(RegistrationError, match="'unchecked' names b"):
        Template("x://{a}", unchecked=["b"])


def test_the_more_literal_template_is_greater() -> None:
    least_first = ["x://{+p}", "x://{a}", "x://{a}/{b}", "x://a/{+p}", "x://a/{b}", "x://a/b{?c}", "x://a/b?d=e{&c}"]
    templates = [Template(text) for text in least_first]
    assert [t.text for t in sorted(templates, key=lambda t: t.specificity)] == least_first


# --- matching -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "uri", "expected"),
    [
        ("x://{a}", "x://1", {"a": "1"}),
        ("x://{a}", "x://ab:c@d,e", {"a": "ab:c@d,e"}),
        ("x://{a}", "x://", None),
        ("x://{a}", "x://1/2", None),
        ("x://{a}", "x://1?b=2", None),
        ("x://{a}", "x://1#2", None),
        ("x://{a}", "X://1", None),
        ("x://{a}", "y://1", None),
        ("x://{a}/", "x://1", None),
        ("x://{a}/b", "x://1/b", {"a": "1"}),
        ("x://{a}/b", "x:///b", None),
        ("x://{a}/b", "x://1/c", None),
        ("x://{a}/{b}", "x://1/2", {"a": "1", "b": "2"}),
        ("x://{a}/{b}", "x://1/2/3", None),
        ("x://{a}-{b}", "x://1-2-3", {"a": "1", "b": "2-3"}),
        ("x://{a}-{b}", "x://--3", {"a": "-", "b": "3"}),
        ("x://{a}.json", "x://1.json.json", {"a": "1.json"}),
        ("x://{a}.json", "x://.json", None),
        ("x://{a}bb", "x://bb", None),
        ("x://{+p}", "x://1/2?3", {"p": "1/2?3"}),
        ("x://{+p}/end", "x://1/end/end", {"p": "1/end"}),
        ("x://{a}/{+p}", "x://1/2/3", {"a": "1", "p": "2/3"}),
        ("x://{+p}/{b}", "x://1/2/3", {"p": "1/2", "b": "3"}),
        ("x://{+p}/x/{b}", "x://p/x/q/x/r", {"p": "p/x/q", "b": "r"}),
        ("x://{a}/{+p}/{b}.{c}", "x://1/2/3/4.5.6", {"a": "1", "p": "2/3", "b": "4.5", "c": "6"}),
        ("x://{+p}/{b}", "x://1", None),
        ("x://a{?b,c}", "x://a", {}),
        ("x://a{?b,c}", "x://a?c=2&b=1", {"b": "1", "c": "2"}),
        ("x://a{?b}", "x://a?b=", {"b": ""}),
        ("x://a{?b}", "x://a?b", {"b": ""}),
        ("x://a{?b}", "x://a?b=1=2?3/4", {"b": "1=2?3/4"}),
        ("x://a{?b}", "x://a?b=1+2", {"b": "1+2"}),
        ("x://a{?b}", "x://a?", None),
        ("x://a{?b}", "x://a?b=1&", None),
        ("x://a{?b}", "x://a?b=1&b=2", None),
        ("x://a{?b}", "x://a?z=1", None),
        ("x://a{?b}", "x://a?b=1#2", None),
        ("x://a{?b}", "x://a?b=%zz", None),
        ("x://{a}{?b}", "x://1?b=2", {"a": "1", "b": "2"}),
        ("x://{+p}{?b}", "x://1/2?b=3", {"p": "1/2", "b": "3"}),
        ("x://a?k=v&l{&b}", "x://a?l&b=1&k=v", {"b": "1"}),
        ("x://a?k=v{&b}", "x://a?b=1", None),
        ("x://a?k=v{&b}", "x://a?k=v&k=v", None),
        ("x://{a}?k=v{&b}", "x://1?k=v", {"a": "1"}),
        ("x://a?k={k}", "x://a?k=1", {"k": "1"}),
    ],
)
def test_a_template_reads_a_uri(text: str, uri: str, expected: dict[str, str] | None) -> None:
    assert Template(text).match(uri) == expected


@pytest.mark.parametrize(
    ("uri", "value"),
    [
        ("x://caf%C3%A9", "café"),
        ("x://a%20b", "a b"),
        ("x://a%2Fb", "a/b"),
        ("x://a%2fb", "a/b"),
        ("x://a%252Fb", "a%2Fb"),
        ("x://%25", "%"),
        ("x://%", None),
        ("x://%4", None),
        ("x://%G1", None),
        ("x://%FF", None),
        ("x://%ED%A0%80", None),
        ("x://café", None),
        ("x://a b", None),
        ("x://a\n", None),
        ("x://\ud800", None),
    ],
)
def test_a_value_is_decoded_exactly_once(uri: str, value: str | None) -> None:
    """S26-RES-11: and only if it is encoded as RFC 3986 has it, in UTF-8."""
    assert Template("x://{a}").match(uri) == (None if value is None else {"a": value})


values = st.text(min_size=1)
TEMPLATES = [
    ("x://{a}", ["a"], []),
    ("x://{a}/b/{c}", ["a", "c"], []),
    ("x://h/{a}/{+p}", ["a", "p"], []),
    ("x://h/{+p}/{a}", ["a", "p"], []),
    ("x://h/{a}{?q,r}", ["a"], ["q", "r"]),
    ("x://h/{+p}?k=v{&q,r}", ["p"], ["q", "r"]),
]


def may_stand(value: str) -> bool:
    parts = re.split(r"[/\\]", value)
    drive = re.match("[A-Za-z]:", value)
    return not ("\0" in value or (parts[0] == "" and len(parts) > 1) or drive or {".", ".."} & set(parts))


@pytest.mark.parametrize(("text", "path", "query"), TEMPLATES)
@given(data=st.data())
def test_what_is_expanded_is_read_back(text: str, path: list[str], query: list[str], data: st.DataObject) -> None:
    wanted = data.draw(
        st.fixed_dictionaries(
            {name: values.filter(may_stand) for name in path},
            optional={name: st.text().filter(may_stand) for name in query},
        )
    )
    template = Template(text)
    uri = template.expand(wanted)
    assert is_uri(uri)
    assert template.match(uri) == wanted


@given(st.lists(st.sampled_from(["..", ".", "/", "\\", "C:", "\0", "a"]), min_size=1).map("".join))
def test_what_leads_out_is_neither_expanded_nor_read(value: str) -> None:
    assume(not may_stand(value))
    with pytest.raises(ValueError, match="read back"):
        Template("x://{a}").expand({"a": value})


@pytest.mark.parametrize(
    ("text", "wanted", "words"),
    [
        ("x://{a}/{b}", {"a": "1"}, "lacks a value for b"),
        ("x://{a}", {"a": "1", "z": "2"}, "read back"),
        ("x://{a}", {"a": ""}, "read back"),
        ("x://{a}-{b}", {"a": "1-2", "b": "3"}, "read back"),
        ("x://{a}", {"a": "\ud800"}, "surrogates"),
    ],
)
def test_values_without_a_uri_are_refused(text: str, wanted: dict[str, str], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Template(text).expand(wanted)


def test_expansion_is_that_of_rfc_6570() -> None:
    """RFC 6570, sections 3.2.2, 3.2.3 and 3.2.8, with the values of section 3.2."""
    hello, path = "Hello World!", "foo/bar"
    assert Template("x:{hello}").expand({"hello": hello}) == "x:Hello%20World%21"
    assert Template("x:{+hello}").expand({"hello": hello}) == "x:Hello%20World!"
    assert Template("x:{path}/here").expand({"path": path}) == "x:foo%2Fbar/here"
    assert Template("x:{+path}/here").expand({"path": path}) == "x:foo/bar/here"
    assert Template("x:{?x,y}").expand({"x": "1024", "y": "768"}) == "x:?x=1024&y=768"
    assert Template("x:?fixed=yes{&x}").expand({"x": "1024"}) == "x:?fixed=yes&x=1024"


def test_a_question_mark_is_kept_where_no_query_follows() -> None:
    assert Template("x:{+p}").expand({"p": "a?b"}) == "x:a?b"
    assert Template("x:{+p}{?q}").expand({"p": "a?b", "q": "c"}) == "x:a%3Fb?q=c"


segments = st.text(alphabet="ab-/", max_size=4)


@given(
    literals=st.lists(segments.filter(bool), min_size=1, max_size=3),
    ends=st.tuples(segments, segments),
    wide=st.none() | st.integers(0, 3),
    uri=st.text(alphabet="ab-/", max_size=14),
)
@example(["/x/"], ("", ""), 0, "p/x/q/x/r")
@example(["-"], ("", ""), 0, "a-b-")
@example(["-"], ("", ""), 1, "-a--b")
def test_a_match_is_found_wherever_there_is_one(
    literals: list[str], ends: tuple[str, str], wide: int | None, uri: str
) -> None:
    """Held against a regular expression that backtracks."""
    texts = [*literals, ends[1]]
    template, pattern = "x:" + ends[0], "x:" + re.escape(ends[0])
    for index, literal in enumerate(texts):
        template += f"{{{'+' if index == wide else ''}v{index}}}{literal}"
        pattern += ("(.+)" if index == wide else "([^/]+)") + re.escape(literal)
    found = Template(template, unchecked=[f"v{index}" for index in range(len(texts))]).match("x:" + uri)
    assert (found is not None) == (re.fullmatch(pattern, "x:" + uri) is not None)
    if found is not None:
        joined = "".join(found[f"v{index}"] + literal for index, literal in enumerate(texts))
        assert joined == uri.removeprefix(ends[0])


def test_matching_takes_time_in_proportion_to_the_uri() -> None:
    template = Template("x:{a}-{b}-{c}-{d}-{e}-{f}!")
    started = time.process_time()
    assert template.match("x:" + "-" * 1_000_000) is None
    assert not is_uri("x://" + "a" * 1_000_000 + "\n")
    # A quadratic search would take hours.
    assert time.process_time() - started < 5


# --- paths that lead out --------------------------------------------------------------------------

LEADING_OUT = [
    "..",
    ".",
    "%2e%2e",
    "%2E",
    ".%2e",
    "a%2F..%2Fb",
    "..%2Fetc",
    "..%5Cetc",
    "%2Fetc",
    "%5Cetc",
    "%00",
    "a%00",
]
LEADING_OUT += ["C:", "c%3A", "C:%5Ca", "%2e%2e%2fetc%2fpasswd"]


@pytest.mark.parametrize("value", LEADING_OUT)
@pytest.mark.parametrize("text", ["file:///d/{a}", "note://{a}", "note://d/{+a}", "note://d{?a}"])
def test_no_value_leads_out_of_a_directory(text: str, value: str) -> None:
    """S26-RES-11: in no scheme, since handlers make paths of custom ones too."""
    template = Template(text)
    good, _, _ = text.partition("{")
    assert template.match(good + ("?a=" if "?" in text else "") + "fine.txt") == {"a": "fine.txt"}
    assert template.match(good + ("?a=" if "?" in text else "") + value) is None


@pytest.mark.parametrize("value", ["../etc", "a/../../b", "./a", "a/..", "/etc/passwd", "a/./b", "a/%2e%2E/b"])
@pytest.mark.parametrize("text", ["file:///d/{+p}", "note://{+p}"])
def test_no_wide_value_leads_out_of_a_directory(text: str, value: str) -> None:
    """S26-RES-11"""
    assert Template(text).match(text.replace("{+p}", value)) is None


@pytest.mark.parametrize("value", ["a..b", "...", "..a", "a.", ".env", "HEAD~3..HEAD", "a:b", "ab:c"])
def test_dots_and_colons_are_else_as_good_as_letters(value: str) -> None:
    expected = None if value == "a:b" else {"a": value}
    assert Template("note://{a}").match(f"note://{value}") == expected


@pytest.mark.parametrize("value", ["a%2Fb", "a%5Cb", "%252e%252e", "a%252Fb", "%255c", "%2500", "%25252e"])
def test_a_file_segment_hides_no_separator(value: str) -> None:
    """S26-RES-11: encoded slash, backslash, double encoding."""
    assert Template("file:///d/{a}").match(f"file:///d/{value}") is None
    assert Template("FILE:///d/{a}").match(f"FILE:///d/{value}") is None
    assert Template("note://d/{a}").match(f"note://d/{value}") is not None


def test_a_file_path_hides_no_backslash() -> None:
    """S26-RES-11"""
    template = Template("file:///d/{+p}")
    assert template.match("file:///d/a/b%2Fc") == {"p": "a/b/c"}
    assert template.match("file:///d/a%5Cb") is None
    assert template.match("file:///d/a%252fb") is None


def test_an_unchecked_variable_takes_anything() -> None:
    template = Template("file:///{a}{?q}", unchecked=["q"])
    assert template.match("file:///x?q=..%2F%00%5C") == {"a": "x", "q": "../\0\\"}
    assert template.match("file:///..?q=x") is None


# --- files ----------------------------------------------------------------------------------------


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "root"
    (root / "sub").mkdir(parents=True)
    (root / "sub" / "a b.txt").write_text("x")
    (tmp_path / "secret").write_text("x")
    (tmp_path / "root2").mkdir()
    (root / "out").symlink_to(tmp_path / "secret")
    (root / "in").symlink_to(root / "sub")
    return root


def test_a_path_below_the_root_is_given(root: Path) -> None:
    expected = root / "sub" / "a b.txt"
    for prefix in ("file://", "file://localhost", "file:", "FILE://LOCALHOST"):
        assert safe_file_path(f"{prefix}{root}/sub/a%20b.txt", root) == expected
    assert safe_file_path(f"file://{root}/in/a%20b.txt", str(root)) == expected
    assert safe_file_path(f"file://{root}", root) == root
    assert safe_file_path(f"file://{root}/none", root) == root / "none"


@pytest.mark.parametrize(
    "uri",
    [
        "file://{root}/../secret",
        "file://{root}/sub/../../secret",
        "file://{root}/sub/../sub/a%20b.txt",
        "file://{root}/./sub",
        "file://{root}/%2e%2e/secret",
        "file://{root}/.%2E/secret",
        "file://{root}/..%2fsecret",
        "file://{root}/sub%2Fa%20b.txt",
        "file://{root}/%252e%252e/secret",
        "file://{root}/..%5csecret",
        "file://{root}/sub%5Ca",
        "file://{root}/sub\\a",
        "file://{root}/sub%00",
        "file://{root}/%FF",
        "file://{root}/a%2",
        "file://{root}/a b.txt",
        "file://{root}2/x",
        "file://{root}/out",
        "file://{root}/../root2",
        "file:///C:/Windows",
        "file:///c%3A/Windows",
        "file://evil{root}/sub",
        "file://user@localhost{root}/sub",
        "file:////{root}/sub",
        "file://{root}/sub?x",
        "file://{root}/sub#x",
        "http://{root}/sub",
        "file:{relative}",
        "file://",
        "",
        "/",
        "{root}/sub",
    ],
)
def test_what_is_not_below_the_root_is_not_found(uri: str, root: Path) -> None:
    """S26-RES-11"""
    asked = uri.replace("{root}", str(root)).replace("{relative}", "sub")
    with pytest.raises(ResourceNotFound) as caught:
        safe_file_path(asked, root)
    assert caught.value.data == {"uri": asked}


def test_the_root_of_the_file_system_may_be_served(root: Path) -> None:
    assert safe_file_path(f"file://{root}/sub", "/") == root / "sub"
    for uri in ("file:///C:/x", "file:////x", "file:///../x", "file:///.%2e"):
        with pytest.raises(ResourceNotFound):
            safe_file_path(uri, "/")
