from __future__ import annotations

import enum
import threading
from typing import Any, Literal

import pytest

from mcp_wsgi import MCPApp
from mcp_wsgi.content import ResourceContents
from mcp_wsgi.context import Context
from mcp_wsgi.descriptions import Icon, Prompt, Resource, ResourceTemplate, Tool
from mcp_wsgi.errors import (
    ConfigurationError,
    InvalidParams,
    MissingArgument,
    OptionError,
    RegistrationError,
    ResourceNotFound,
    UnknownPrompt,
    UnknownTool,
)
from mcp_wsgi.handler import Completion, CompletionArgument, InitParams, ListKind, PromptRef, ResourceRef
from mcp_wsgi.revisions import MODERN
from mcp_wsgi.schema import ArgumentErrors
from mcp_wsgi.server import Listed, MCPServer
from tests.contexts import context

CTX = context()
LISTS: tuple[ListKind, ...] = ("tools", "resources", "resource_templates", "prompts")


@pytest.fixture
def mcp() -> MCPServer:
    return MCPServer("shop")


def call(server: MCPServer, name: str, /, **arguments: Any) -> Any:
    """Call a tool as a transport does."""
    tool = server.find_tool(name, CTX)
    assert tool is not None
    return server.handle_tool(name, tool.arguments.bind(arguments), CTX)


def read(server: MCPServer, uri: str) -> str | None:
    (contents,) = server.read_resource(uri, CTX)
    assert contents.uri == uri
    return contents.text


def complete(server: MCPServer, ref: PromptRef | ResourceRef, name: str, value: str = "", **resolved: str) -> list[str]:
    return list(server.complete(ref, CompletionArgument(name, value), resolved, CTX).values)


def add(a: int, b: int = 0) -> int:
    """Add two numbers."""
    return a + b


# --- the server -----------------------------------------------------------------------------------


def test_a_server_says_who_it_is() -> None:
    icon = Icon("https://shop.example/icon.png")
    server = MCPServer(
        "shop",
        version="2",
        title="Shop",
        description="Sells.",
        instructions="Buy.",
        website_url="https://shop.example",
        icons=[icon],
    )
    assert server.server_info.wire(MODERN[0]) == {
        "name": "shop",
        "version": "2",
        "title": "Shop",
        "description": "Sells.",
        "websiteUrl": "https://shop.example",
        "icons": [{"src": "https://shop.example/icon.png"}],
    }
    assert server.instructions == "Buy."


def test_a_new_server_has_nothing(mcp: MCPServer) -> None:
    assert mcp.features() == frozenset()
    assert [list(getattr(mcp, kind)(CTX)) for kind in LISTS] == [[], [], [], []]
    assert mcp.init(InitParams(MODERN[0], {}, {})) == {}
    assert list(mcp.channels(CTX)) == []
    mcp.terminate("expired", CTX)


def test_the_hooks_of_a_session_are_functions_too() -> None:
    ended: list[str] = []
    server = MCPServer(
        "shop",
        init=lambda params: {"era": params.revision.era},
        channels=lambda ctx: [ctx.method],
        terminate=lambda reason, ctx: ended.append(reason),
    )
    server.terminate("expired", CTX)
    assert server.init(InitParams(MODERN[0], {}, {})) == {"era": "modern"}
    assert (list(server.channels(CTX)), ended) == (["tools/call"], ["expired"])


async def coroutine(*args: Any) -> Any: ...


@pytest.mark.parametrize("hook", ["init", "channels", "terminate"])
def test_an_async_hook_is_refused(hook: str) -> None:
    with pytest.raises(RegistrationError, match=f"{hook} of server 'shop' is async"):
        MCPServer("shop", **{hook: coroutine})  # type: ignore[arg-type]


def test_features_follow_what_is_registered(mcp: MCPServer) -> None:
    """T25-LIFE-07, S26-VER-04, S26-COMP-01."""
    mcp.add_tool(add)
    assert mcp.features() == {"tools"}
    note = mcp.resource("notes://{key}")(echo)
    assert mcp.features() == {"tools", "resources"}
    mcp.prompt(name="ask")(lambda day: day)
    assert mcp.features() == {"tools", "resources", "prompts"}
    note.complete("key")(lambda value: [value])
    assert mcp.features() == {"tools", "resources", "prompts", "completions"}
    mcp.remove_resource("notes://{key}")
    mcp.remove_tool("add")
    assert mcp.features() == {"prompts"}


def echo(key: str) -> str:
    return key


def test_a_static_resource_is_a_feature(mcp: MCPServer) -> None:
    mcp.add_resource(Resource(uri="a:b", name="b"), "text")
    assert mcp.features() == {"resources"}


def test_an_argument_with_few_values_is_a_completion(mcp: MCPServer) -> None:
    @mcp.prompt
    def ask(mood: Literal["good", "bad"]) -> str:
        return mood

    assert mcp.features() == {"prompts", "completions"}


def test_a_wsgi_application_is_one_call_away(mcp: MCPServer) -> None:
    app = mcp.wsgi_app(page_size=3)
    assert isinstance(app, MCPApp)
    with pytest.raises(OptionError, match="pagesize"):
        mcp.wsgi_app(pagesize=3)


# --- tools ----------------------------------------------------------------------------------------


def test_a_decorated_function_stays_as_it_is(mcp: MCPServer) -> None:
    assert mcp.tool(add) is add
    assert mcp.tool(name="plus", title="Plus")(add) is add
    assert mcp.tool("sum")(add) is add
    assert mcp.tool()(add_again) is add_again
    assert [tool.name for tool in mcp.tools(CTX)] == ["add", "plus", "sum", "add_again"]
    assert [tool.title for tool in mcp.tools(CTX)] == [None, "Plus", None, None]


def add_again(a: int) -> int:
    return a


def test_options_of_a_tool_are_listed(mcp: MCPServer) -> None:
    icon = Icon("https://shop.example/icon.png")
    tool = mcp.add_tool(
        add,
        name="plus",
        title="Plus",
        description="Adds.",
        annotations={"readOnlyHint": True},
        icons=[icon],
        meta={"shop.example/rank": 1},
    )
    assert mcp.tools(CTX) == (tool,)
    wire = tool.wire(MODERN[0])
    del wire["inputSchema"], wire["outputSchema"]
    assert wire == {
        "name": "plus",
        "title": "Plus",
        "description": "Adds.",
        "annotations": {"readOnlyHint": True},
        "icons": [{"src": "https://shop.example/icon.png"}],
        "_meta": {"shop.example/rank": 1},
    }


def test_a_tool_is_found_and_called(mcp: MCPServer) -> None:
    mcp.tool(add)
    assert call(mcp, "add", a=1, b=2) == 3
    assert call(mcp, "add", a=1) == 1
    with pytest.raises(ArgumentErrors):
        call(mcp, "add", a=1, c=2)


def test_a_tool_may_see_its_call(mcp: MCPServer) -> None:
    @mcp.tool
    def who(call: Context) -> int | str:
        return call.request_id

    assert call(mcp, "who") == CTX.request_id


def test_a_tool_written_by_hand_is_run_by_a_function(mcp: MCPServer) -> None:
    tool = Tool(
        name="plus", input_schema={"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    )
    assert mcp.add_tool(tool, add) is tool
    assert call(mcp, "plus", a=4) == 4


@pytest.mark.parametrize(("given", "options"), [((), {}), ((add,), {"name": "x"}), ((add, add), {})])
def test_a_tool_written_by_hand_takes_a_function_and_nothing_else(
    mcp: MCPServer, given: tuple[Any, ...], options: dict[str, Any]
) -> None:
    with pytest.raises(TypeError):
        mcp.add_tool(Tool(name="plus"), *given, **options)


def test_an_unknown_tool_is_no_tool(mcp: MCPServer) -> None:
    """S26-TOOL-10."""
    assert mcp.find_tool("add", CTX) is None
    with pytest.raises(UnknownTool, match="add"):
        mcp.handle_tool("add", {}, CTX)


def test_a_bound_method_is_a_tool(mcp: MCPServer) -> None:
    class Stock:
        def __init__(self) -> None:
            self.left = 5

        def take(self, count: int) -> int:
            self.left -= count
            return self.left

    stock = Stock()
    mcp.tool(stock.take)
    assert call(mcp, "take", count=2) == stock.left == 3


def test_static_methods_may_be_decorated_on_either_side(mcp: MCPServer) -> None:
    class Tools:
        @mcp.tool
        @staticmethod
        def outer(a: int) -> int:
            return a

        @staticmethod
        @mcp.tool
        def inner(a: int) -> int:
            return a

    assert (call(mcp, "outer", a=1), call(mcp, "inner", a=2)) == (1, 2)
    assert (Tools.outer(3), Tools().inner(4)) == (3, 4)


def test_two_functions_cannot_share_a_name(mcp: MCPServer) -> None:
    """S26-TOOL-04."""
    mcp.tool(add)
    with pytest.raises(RegistrationError, match=r"tool 'add' is registered twice.*\.add \(line.*\.add_again \(line"):
        mcp.tool("add")(add_again)
    assert call(mcp, "add", a=1, b=1) == 2


# --- resources ------------------------------------------------------------------------------------


def test_a_resource_is_listed_and_read(mcp: MCPServer) -> None:
    @mcp.resource("notes://today", title="Today", size=3, annotations={"priority": 1})
    def today() -> str:
        """What to do."""
        return "eat"

    (listed,) = mcp.resources(CTX)
    assert listed == Resource(
        uri="notes://today", name="today", title="Today", description="What to do.", size=3, annotations={"priority": 1}
    )
    assert mcp.read_resource("notes://today", CTX) == (
        ResourceContents("notes://today", "eat", mime_type="text/plain"),
    )
    assert today() == "eat"


def test_content_has_the_type_that_was_declared(mcp: MCPServer) -> None:
    mcp.resource("notes://page", name="page", mime_type="text/html")(lambda: "<p>")
    assert mcp.read_resource("notes://page", CTX)[0].mime_type == "text/html"


def test_a_variable_makes_a_template(mcp: MCPServer) -> None:
    @mcp.resource("orders://{order_id}{?lines}", mime_type="application/json")
    def order(order_id: int, lines: bool = False) -> dict[str, Any]:
        """An order."""
        return {"key": order_id, "lines": lines}

    assert mcp.resource_templates(CTX) == (
        ResourceTemplate(
            uri_template="orders://{order_id}{?lines}",
            name="order",
            description="An order.",
            mime_type="application/json",
        ),
    )
    assert mcp.resources(CTX) == ()
    assert read(mcp, "orders://7?lines=true") == '{"key":7,"lines":true}'
    assert order(7) == {"key": 7, "lines": False}


def test_exact_resources_win_over_templates(mcp: MCPServer) -> None:
    mcp.resource("notes://{key}", name="any")(echo)
    mcp.add_resource(Resource(uri="notes://today", name="today"), "exact")
    assert (read(mcp, "notes://today"), read(mcp, "notes://monday")) == ("exact", "monday")


def test_the_more_literal_template_wins(mcp: MCPServer) -> None:
    mcp.resource("notes://{+path}", name="any")(lambda path: f"any {path}")
    mcp.resource("notes://{key}", name="one")(lambda key: f"one {key}")
    mcp.resource("notes://old-{key}", name="old")(lambda key: f"old {key}")
    assert [read(mcp, f"notes://{rest}") for rest in ("a/b", "a", "old-a")] == ["any a/b", "one a", "old a"]


def test_a_uri_that_does_not_convert_is_tried_on_the_next_template(mcp: MCPServer) -> None:
    @mcp.resource("orders://{number}")
    def by_number(number: int) -> str:
        return f"number {number}"

    @mcp.resource("orders://{code}")
    def by_code(code: str) -> str:
        return f"code {code}"

    assert (read(mcp, "orders://7"), read(mcp, "orders://a7")) == ("number 7", "code a7")


@pytest.mark.parametrize("uri", ["orders://x", "orders://", "orders://1/2", "other://1", "", "no uri"])
def test_a_uri_of_nothing_is_not_found(mcp: MCPServer, uri: str) -> None:
    """S26-RES-03."""

    @mcp.resource("orders://{number}")
    def by_number(number: int) -> str:
        return str(number)

    with pytest.raises(ResourceNotFound) as caught:
        mcp.read_resource(uri, CTX)
    assert caught.value.data == {"uri": uri}


@pytest.mark.parametrize("raised", [ResourceNotFound(), ResourceNotFound("internal://7")])
def test_a_function_may_find_nothing(mcp: MCPServer, raised: ResourceNotFound) -> None:
    """S26-RES-03: the client is told of the URI that it asked for."""

    @mcp.resource("orders://{number}")
    def by_number(number: int) -> str:
        raise raised

    with pytest.raises(ResourceNotFound) as caught:
        mcp.read_resource("orders://7", CTX)
    assert caught.value.data == {"uri": "orders://7"}


@pytest.mark.parametrize("path", ["../etc/passwd", "%2e%2e/etc/passwd", "a/..%2f..%2fetc", "%2Fetc/passwd", "a%00b"])
def test_file_templates_stop_path_traversal(mcp: MCPServer, path: str) -> None:
    """S26-RES-11."""

    @mcp.resource("file:///srv/{+path}")
    def file(path: str) -> str:
        return path

    assert read(mcp, "file:///srv/a/b.txt") == "a/b.txt"
    with pytest.raises(ResourceNotFound):
        mcp.read_resource(f"file:///srv/{path}", CTX)


def test_a_variable_that_is_no_path_may_be_opted_out(mcp: MCPServer) -> None:
    @mcp.resource("range://{+span}", unchecked=["span"])
    def span(span: str) -> str:
        return span

    mcp.add_resource(ResourceTemplate(uri_template="other://{+x}", name="x"), lambda x: x, unchecked=["x"])
    assert (read(mcp, "range://../x"), read(mcp, "other:///x")) == ("../x", "/x")


def test_resources_may_see_their_call(mcp: MCPServer) -> None:
    mcp.resource("calls://{x}")(with_context)
    assert read(mcp, "calls://a") == "a tools/call"


def with_context(ctx: Context, x: str) -> str:
    return f"{x} {ctx.method}"


@pytest.mark.parametrize(
    ("register", "words"),
    [
        (lambda mcp: mcp.resource("today")(echo), "today.*no scheme"),
        (lambda mcp: mcp.resource("notes://today")(echo), r"echo.*key must come out of the URI"),
        (lambda mcp: mcp.resource("notes://{other}")(echo), r"echo.*no parameter for \{other\}"),
        (lambda mcp: mcp.resource("notes://{key}", size=3)(echo), "notes://{key}.*size"),
        (lambda mcp: mcp.resource("notes://{key}", unchecked=["x"])(echo), "unchecked"),
        (lambda mcp: mcp.resource(echo), r'needs a URI: @mcp.resource\("'),
        (lambda mcp: mcp.resource("notes://all")(lambda: 1), "pass name="),
        (lambda mcp: mcp.resource("notes://{key}")(coroutine), "is async"),
        (lambda mcp: mcp.add_resource(ResourceTemplate(uri_template="a:{b}", name="b"), "text"), "no function"),
        (lambda mcp: mcp.add_resource(Resource(uri="a:b", name="b"), None), "fixed content"),
    ],
)
def test_a_resource_that_cannot_be_served_is_refused(mcp: MCPServer, register: Any, words: str) -> None:
    with pytest.raises(RegistrationError, match=words):
        register(mcp)
    assert mcp.features() == frozenset()


@pytest.mark.parametrize("uri", ["notes://today", "notes://{key}"])
def test_two_functions_cannot_share_a_uri(mcp: MCPServer, uri: str) -> None:
    function: Any = echo if "{" in uri else no_arguments
    mcp.resource(uri)(function)
    with pytest.raises(RegistrationError, match=f"(?s)'{uri}' is registered twice.*line.*line"):
        mcp.resource(uri)(function)


def no_arguments() -> str:
    return "x"


def test_fixed_content_needs_no_function(mcp: MCPServer) -> None:
    mcp.add_resource(Resource(uri="notes://logo", name="logo", mime_type="image/png"), b"\x89PNG")
    assert mcp.read_resource("notes://logo", CTX) == (
        ResourceContents("notes://logo", blob=b"\x89PNG", mime_type="image/png"),
    )
    assert mcp.resources(CTX)[0].size == 4


# --- prompts --------------------------------------------------------------------------------------


def test_a_prompt_is_listed_and_got(mcp: MCPServer) -> None:
    @mcp.prompt
    def greet(name: str, times: int = 1) -> str:
        """Greet somebody."""
        return f"Hello {name}" * times

    assert [(prompt.name, prompt.description) for prompt in mcp.prompts(CTX)] == [("greet", "Greet somebody.")]
    assert mcp.find_prompt("greet", CTX) is mcp.prompts(CTX)[0]
    assert mcp.get_prompt("greet", {"name": "x", "times": "2"}, CTX) == "Hello xHello x"
    assert greet("y") == "Hello y"


def test_a_prompt_may_have_options(mcp: MCPServer) -> None:
    @mcp.prompt("hello", title="Hello", meta={"shop.example/rank": 1})
    def greet(ctx: Context) -> str:
        return ctx.method

    assert mcp.prompts(CTX) == (Prompt(name="hello", title="Hello", meta={"shop.example/rank": 1}),)
    assert mcp.get_prompt("hello", {}, CTX) == "tools/call"


def test_a_prompt_says_which_arguments_do_not_fit(mcp: MCPServer) -> None:
    """S26-PRM-02."""

    @mcp.prompt
    def ask(day: int, hour: int) -> str:
        return ""

    with pytest.raises(MissingArgument, match="day, hour"):
        mcp.get_prompt("ask", {}, CTX)
    with pytest.raises(InvalidParams, match=r"day.*hour"):
        mcp.get_prompt("ask", {"day": "x", "hour": "y"}, CTX)
    with pytest.raises(InvalidParams, match="minute"):
        mcp.get_prompt("ask", {"day": "1", "hour": "2", "minute": "3"}, CTX)


def test_an_unknown_prompt_is_no_prompt(mcp: MCPServer) -> None:
    """S26-PRM-02."""
    assert mcp.find_prompt("ask", CTX) is None
    with pytest.raises(UnknownPrompt, match="ask"):
        mcp.get_prompt("ask", {}, CTX)


def test_two_prompts_cannot_share_a_name(mcp: MCPServer) -> None:
    mcp.prompt(echo)
    with pytest.raises(RegistrationError, match="prompt 'echo' is registered twice"):
        mcp.prompt("echo")(no_arguments)


# --- completion -----------------------------------------------------------------------------------


class Mood(enum.Enum):
    GOOD = "good"
    BAD = "bad"


@pytest.fixture
def completing(mcp: MCPServer) -> MCPServer:
    @mcp.prompt
    def ask(city: str, mood: Mood, other: str = "") -> str:
        return city

    @ask.complete("city")
    def cities(value: str, resolved: dict[str, str]) -> list[str]:
        return [value, *resolved.values()]

    @mcp.resource("repos://{owner}/{repo}")
    def repo(owner: str, repo: str) -> str:
        return repo

    @repo.complete("owner")
    def owners(value: str, ctx: Context) -> Completion:
        return Completion([value, ctx.method], total=9)

    mcp.add_resource(Resource(uri="notes://today", name="today"), "text")
    return mcp


ASK, REPO = PromptRef("ask"), ResourceRef("repos://{owner}/{repo}")


def test_suggestions_come_from_the_registered_function(completing: MCPServer) -> None:
    """S26-COMP-03."""
    assert complete(completing, ASK, "city", "B", mood="bad") == ["B", "bad"]
    found = completing.complete(REPO, CompletionArgument("owner", "o"), {}, CTX)
    assert found == Completion(["o", "tools/call"], total=9)


def test_suggestions_come_from_the_signature_otherwise(completing: MCPServer) -> None:
    assert complete(completing, ASK, "mood", "b") == ["bad"]


def test_where_nobody_knows_there_are_no_suggestions(completing: MCPServer) -> None:
    assert complete(completing, ASK, "other") == []
    assert complete(completing, REPO, "repo") == []


@pytest.mark.parametrize(
    ("ref", "name", "words"),
    [
        (PromptRef("aks"), "city", "Unknown prompt: aks"),
        (ResourceRef("repos://{x}"), "x", "Unknown resource template: repos"),
        (ResourceRef("repos://a/b"), "repo", "Unknown resource template"),
        (ASK, "town", "Unknown argument of prompt ask: town"),
        (REPO, "city", "Unknown argument of resource template repos"),
        (ResourceRef("notes://today"), "x", "Unknown argument of resource notes://today"),
        (ResourceRef("x" * 5000), "x", r"Unknown resource template: x{100}\.{3}$"),
    ],
    ids=["prompt", "template", "uri", "argument", "variable", "static", "long"],
)
def test_what_does_not_exist_cannot_be_completed(
    completing: MCPServer, ref: PromptRef | ResourceRef, name: str, words: str
) -> None:
    """S26-COMP-04."""
    with pytest.raises(InvalidParams, match=words) as caught:
        complete(completing, ref, name)
    assert caught.value.code == -32602


def test_a_completer_of_nothing_is_refused(mcp: MCPServer) -> None:
    static = mcp.resource("notes://today")(no_arguments)
    prompt = mcp.prompt(echo)
    with pytest.raises(RegistrationError, match="resource notes://today has no argument 'x'"):
        static.complete("x")(lambda value: [])
    with pytest.raises(RegistrationError, match=r"prompt echo has no argument 'ident'.*key"):
        prompt.complete("ident")(lambda value: [])


def test_one_function_may_be_several_things(mcp: MCPServer) -> None:
    @mcp.tool
    @mcp.prompt
    @mcp.resource("first://{x}")
    @mcp.resource("second://{x}")
    def thing(x: str) -> str:
        """A thing."""
        return x

    thing.complete("x")(lambda value: ["p"])
    assert complete(mcp, PromptRef("thing"), "x") == ["p"]
    assert complete(mcp, ResourceRef("first://{x}"), "x") == []
    assert (call(mcp, "thing", x="a"), read(mcp, "first://b"), read(mcp, "second://c")) == ("a", "b", "c")
    assert {
        item.description for kind in ("tools", "resource_templates", "prompts") for item in getattr(mcp, kind)(CTX)
    } == {"A thing."}


# --- a live server --------------------------------------------------------------------------------


def test_a_list_changes_its_state_with_its_content(mcp: MCPServer) -> None:
    before = {kind: mcp.catalogue(kind) for kind in LISTS}
    mcp.tool(add)
    after = {kind: mcp.catalogue(kind) for kind in LISTS}
    assert [kind for kind in LISTS if before[kind] != after[kind]] == ["tools"]
    listed = mcp.tools(CTX)
    assert mcp.tools(CTX) is listed
    mcp.remove_tool("add")
    assert mcp.catalogue("tools") not in {before["tools"], after["tools"]}
    assert (mcp.tools(CTX), [tool.name for tool in listed]) == ((), ["add"])


def test_servers_built_alike_have_lists_of_equal_state() -> None:
    first, second = MCPServer("a"), MCPServer("b")
    for server in (first, second):
        server.tool(add)
        server.prompt(echo)
    assert [first.catalogue(kind) for kind in LISTS] == [second.catalogue(kind) for kind in LISTS]


@pytest.mark.parametrize(
    ("register", "remove", "kind"),
    [
        (lambda mcp: mcp.tool(add), lambda mcp: mcp.remove_tool("add"), "tools"),
        (lambda mcp: mcp.prompt(echo), lambda mcp: mcp.remove_prompt("echo"), "prompts"),
        (lambda mcp: mcp.resource("a:b")(no_arguments), lambda mcp: mcp.remove_resource("a:b"), "resources"),
        (lambda mcp: mcp.resource("a:{key}")(echo), lambda mcp: mcp.remove_resource("a:{key}"), "resource_templates"),
    ],
    ids=LISTS[:1] + LISTS[3:] + LISTS[1:3],
)
def test_a_subclass_can_announce_changes(register: Any, remove: Any, kind: str) -> None:
    class Announcing(MCPServer):
        def _changed(self, kind: ListKind) -> None:
            super()._changed(kind)
            announced.append((kind, len(getattr(self, kind)(CTX))))

    announced: list[tuple[str, int]] = []
    server = Announcing("shop")
    register(server)
    remove(server)
    assert announced == [(kind, 1), (kind, 0)]
    with pytest.raises(RegistrationError, match="is not registered"):
        remove(server)


def test_tools_come_and_go_while_others_are_called(mcp: MCPServer) -> None:
    mcp.tool(add)
    stop, failures = threading.Event(), []

    def calling() -> None:
        while not stop.is_set():
            if call(mcp, "add", a=1) != 1 or "add" not in [tool.name for tool in mcp.tools(CTX)]:
                failures.append("lost")

    caller = threading.Thread(target=calling)
    caller.start()
    for i in range(200):
        mcp.tool(f"tool{i}")(add)
    for i in range(200):
        mcp.remove_tool(f"tool{i}")
    stop.set()
    caller.join()
    assert failures == []
    assert [tool.name for tool in mcp.tools(CTX)] == ["add"]


# --- policy ---------------------------------------------------------------------------------------


class Guarded(MCPServer):
    """Shows what is named ``secret`` only to its principal."""

    def allows(self, item: Listed, ctx: Context) -> bool:
        return item.name != "secret" or ctx.principal == "owner"


@pytest.fixture
def guarded() -> Guarded:
    server = Guarded("shop")
    server.tool("secret")(add)
    server.tool("open")(add)
    server.prompt("secret")(echo).complete("key")(lambda value: ["x"])
    server.resource("notes://{key}", name="open")(echo)
    server.add_resource(Resource(uri="notes://secret", name="secret"), "s")
    server.resource("secrets://{key}", name="secret")(echo)
    return server


OWNER, GUEST = context(principal="owner"), context(principal="guest")


def test_each_caller_sees_what_is_allowed(guarded: Guarded) -> None:
    """S26-TOOL-02, S26-CACHE-05."""
    assert [[item.name for item in getattr(guarded, kind)(GUEST)] for kind in LISTS] == [["open"], [], ["open"], []]
    assert [[item.name for item in getattr(guarded, kind)(OWNER)] for kind in LISTS] == [
        ["secret", "open"],
        ["secret"],
        ["open", "secret"],
        ["secret"],
    ]


def test_what_is_not_allowed_does_not_exist(guarded: Guarded) -> None:
    """S26-CACHE-05, S26-TOOL-15."""
    assert (guarded.find_tool("secret", GUEST), guarded.find_prompt("secret", GUEST)) == (None, None)
    with pytest.raises(UnknownPrompt):
        guarded.get_prompt("secret", {"key": "x"}, GUEST)
    with pytest.raises(UnknownPrompt):
        guarded.complete(PromptRef("secret"), CompletionArgument("key", ""), {}, GUEST)
    with pytest.raises(InvalidParams, match="Unknown resource template"):
        guarded.complete(ResourceRef("secrets://{key}"), CompletionArgument("key", ""), {}, GUEST)
    for uri in ("notes://secret", "secrets://1"):
        with pytest.raises(ResourceNotFound):
            guarded.read_resource(uri, GUEST)


def test_what_is_allowed_works(guarded: Guarded) -> None:
    assert guarded.find_tool("secret", OWNER) is not None
    assert guarded.find_prompt("secret", OWNER) is not None
    assert guarded.get_prompt("secret", {"key": "x"}, OWNER) == "x"
    assert guarded.complete(PromptRef("secret"), CompletionArgument("key", ""), {}, OWNER) == Completion(("x",))
    assert [c.text for uri in ("notes://secret", "secrets://1") for c in guarded.read_resource(uri, OWNER)] == [
        "s",
        "1",
    ]


def test_a_server_allows_everything_unless_told(mcp: MCPServer) -> None:
    assert mcp.allows(Tool(name="secret"), GUEST)


def test_lists_that_differ_between_callers_are_not_kept(guarded: Guarded) -> None:
    assert [guarded.catalogue(kind) for kind in LISTS] == [None] * 4


def test_a_subclass_may_make_a_list_itself() -> None:
    class Dynamic(MCPServer):
        def tools(self, ctx: Context) -> list[Tool]:
            return [*super().tools(ctx), Tool(name="made")]

        def prompts(self, ctx: Context) -> list[Prompt]:
            return [Prompt(name="made")]

    server = Dynamic("shop")
    assert server.features() == {"tools", "prompts"}
    server.tool(add)
    assert [server.catalogue(kind) is None for kind in LISTS] == [True, False, False, True]
    found = [server.find_tool(name, CTX) for name in ("add", "made", "other")]
    assert [tool and tool.name for tool in found] == ["add", "made", None]
    prompt = server.find_prompt("made", CTX)
    assert prompt is not None
    assert prompt.name == "made"


@pytest.mark.parametrize("options", [{"name": None}, {"instructions": 5}, {"icons": 5}, {"version": 1}])
def test_a_server_says_in_text_how_it_is_used(options: Any) -> None:
    with pytest.raises(ConfigurationError, match="server"):
        MCPServer(**{"name": "x", **options})
