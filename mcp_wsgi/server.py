"""MCPServer: a ``Handler`` made of decorated functions.

Rules of this file:

* Whatever can be wrong with a registration is refused at that line.
* Registering and removing may go on while calls are served; a call that has found its function keeps it.
* Who may see what is one question, ``allows``: lists, look-ups, reads and completions all ask it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeAlias, TypeVar, overload
from weakref import WeakMethod

from mcp_wsgi.checks import check_texts
from mcp_wsgi.content import ResourceContents
from mcp_wsgi.context import Context
from mcp_wsgi.descriptions import Icon, Prompt, Resource, ResourceTemplate, ServerInfo, Tool
from mcp_wsgi.entries import (
    PromptEntry,
    ResourceEntry,
    TemplateEntry,
    ToolEntry,
    own_words,
    prompt_entry,
    resource_entry,
    template_entry,
    tool_entry,
    written_tool_entry,
)
from mcp_wsgi.errors import (
    ConfigurationError,
    InvalidParams,
    RegistrationError,
    ResourceNotFound,
    UnknownPrompt,
    UnknownTool,
)
from mcp_wsgi.excerpts import shorten
from mcp_wsgi.functions import Completable, refuse_async
from mcp_wsgi.handler import (
    Completion,
    CompletionArgument,
    Feature,
    Handler,
    InitParams,
    ListKind,
    PromptRef,
    ResourceRef,
    overridden_features,
)
from mcp_wsgi.inputs import InputRequired
from mcp_wsgi.registry import Registry
from mcp_wsgi.returns import resource_contents
from mcp_wsgi.schema import to_json

if TYPE_CHECKING:
    from mcp_wsgi.wsgi.app import MCPApp

__all__ = ["MCPServer"]

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound="Callable[..., Any]")

Listed: TypeAlias = Tool | Resource | ResourceTemplate | Prompt

_LISTS: tuple[ListKind, ...] = ("tools", "resources", "resource_templates", "prompts")


class MCPServer(Handler):
    """An MCP server whose tools, resources and prompts are decorated functions.

    A parameter annotated ``Context``, whatever its name, gets the call's context.

    Args:
        name: Short programmatic name.
        version: The application's own version.
        title: Display name; default ``name``.
        description: One sentence; default: none.
        instructions: How a model should use the server; default: none.
        website_url: Where people read about it; default: none.
        icons: Pictures; default: none.
        init: Makes the state that ``ctx.state`` starts with; default: an empty dict.
        channels: Names the broadcast channels that a caller listens to; default: none.
        terminate: Releases what a session held; default: nothing.
    """

    def __init__(
        self,
        name: str,
        *,
        version: str = "0",
        title: str | None = None,
        description: str | None = None,
        instructions: str | None = None,
        website_url: str | None = None,
        icons: Sequence[Icon] = (),
        init: Callable[[InitParams], dict[str, Any]] | None = None,
        channels: Callable[[Context], Iterable[str]] | None = None,
        terminate: Callable[[str, Context], None] | None = None,
    ) -> None:
        self.server_info = ServerInfo(name, version, title, description, website_url, icons)
        check_texts(f"server {name!r}", instructions=instructions, error=ConfigurationError)
        self.instructions = instructions
        for hook, function in (("init", init), ("channels", channels), ("terminate", terminate)):
            if function is not None:
                refuse_async(function, f"{hook} of server {name!r}")
        self._init, self._channels, self._terminate = init, channels, terminate
        self._lock = threading.RLock()
        self._observers: list[WeakMethod[Callable[[ListKind], object]]] = []
        self._tools: Registry[ToolEntry] = self._registry("tool", "tools")
        self._resources: Registry[ResourceEntry] = self._registry("resource", "resources")
        self._templates: Registry[TemplateEntry] = self._registry("resource template", "resource_templates")
        self._prompts: Registry[PromptEntry] = self._registry("prompt", "prompts")
        self._versions: dict[ListKind, int] = dict.fromkeys(_LISTS, 0)
        # A subclass that picks by caller, or makes a list itself, gives lists that may differ by caller.
        self._allows_all = type(self).allows is MCPServer.allows
        self._own_lists = frozenset(kind for kind in _LISTS if getattr(type(self), kind) is getattr(MCPServer, kind))
        self._most_literal_first: Sequence[TemplateEntry] = ()
        self._features = self._find_features()

    # --- registering ------------------------------------------------------------------------------

    @overload
    def tool(self, function: F, /) -> F: ...

    @overload
    def tool(
        self,
        name: str | None = None,
        *,
        title: str | None = None,
        description: str | None = None,
        annotations: Mapping[str, Any] | None = None,
        icons: Sequence[Icon] = (),
        meta: Mapping[str, Any] | None = None,
        input_schema: Mapping[str, Any] | None = None,
        output_schema: Mapping[str, Any] | None = None,
        structured_output: bool | None = None,
        requires: Sequence[str] = (),
    ) -> Callable[[F], F]: ...

    def tool(self, name: Any = None, **options: Any) -> Any:
        """Register the decorated function as a tool, with or without options; the function stays as it is.

        Without ``input_schema``, the schema comes from the signature and the docstring. With it, the
        function gets the checked arguments by name, or as one dict if its one parameter is named
        ``arguments``.

        Args:
            name: 1-128 of ``A-Za-z0-9_-.``; default: the function's name.
            title: Display name; default: the name.
            description: What the model reads to choose it; default: the docstring.
            annotations: ``readOnlyHint``, ``destructiveHint``, ``idempotentHint``, ``openWorldHint``.
            icons: Pictures; default: none.
            meta: The ``_meta`` object; default: none.
            input_schema: JSON Schema of the arguments; default: made from the signature.
            output_schema: JSON Schema of the structured result; default: made from the return annotation.
            structured_output: ``False`` for no structured result whatever the annotation says,
                ``True`` to insist on one; default: as the annotation says.
            requires: What the client must have declared, such as ``elicitation`` or ``sampling``: any
                other is told so before the function runs; default: nothing.

        Raises:
            RegistrationError: A taken or wrong name, a signature or schema that cannot be served.

        Source: server/tools.
        """
        if callable(name):
            self.add_tool(name, **options)
            return name

        def decorator(function: F) -> F:
            self.add_tool(function, name=name, **options)
            return function

        return decorator

    @overload
    def add_tool(self, tool: Tool, function: Callable[..., Any], /) -> Tool: ...

    @overload
    def add_tool(
        self,
        function: Callable[..., Any],
        /,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        annotations: Mapping[str, Any] | None = None,
        icons: Sequence[Icon] = (),
        meta: Mapping[str, Any] | None = None,
        input_schema: Mapping[str, Any] | None = None,
        output_schema: Mapping[str, Any] | None = None,
        structured_output: bool | None = None,
        requires: Sequence[str] = (),
    ) -> Tool: ...

    def add_tool(self, tool: Any, /, *function: Any, **options: Any) -> Tool:
        """Register a function as a tool, or a ``Tool`` written by hand with the function that runs it.

        Options are those of ``tool``.

        Returns:
            The tool as it is listed.

        Raises:
            RegistrationError: As ``tool``.
        """
        make = written_tool_entry if isinstance(tool, Tool) else tool_entry
        entry: ToolEntry = make(tool, *function, **options)
        self._tools.add(entry.item.name, entry)
        return entry.item

    def remove_tool(self, name: str) -> None:
        """Remove a tool.

        Raises:
            RegistrationError: There is none of that name.
        """
        self._tools.remove(name)

    def resource(
        self,
        uri: str,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        size: int | None = None,
        annotations: Mapping[str, Any] | None = None,
        icons: Sequence[Icon] = (),
        meta: Mapping[str, Any] | None = None,
        unchecked: Collection[str] = (),
    ) -> Callable[[Callable[P, R]], Completable[P, R]]:
        """Register the decorated function as a resource; with variables in the URI, as a template.

        The variables must be the function's parameters. They come percent-decoded and converted by
        the signature; a URI with a value that does not convert names no resource. Exact resources
        win over templates, and of templates the more literal one. A function that has nothing
        behind a URI raises ``ResourceNotFound``.

        Args:
            uri: An absolute URI, or an RFC 6570 template: ``{name}``, ``{+path}``, ``{?query}``.
            name: Short programmatic name; default: the function's name.
            title: Display name; default: the name.
            description: What it holds; default: the docstring.
            mime_type: Of the content; default: after what the function returns.
            size: Bytes of the content; default: unknown. Templates have none.
            annotations: ``audience``, ``priority``, ``lastModified``.
            icons: Pictures; default: none.
            meta: The ``_meta`` object; default: none.
            unchecked: Variables that are no paths, whose values may look as if they led out of a
                directory (``..``, ``/etc``); default: such a value names no resource.

        Raises:
            RegistrationError: A taken or malformed URI, a function that cannot be served.

        Source: server/resources.
        """
        if not isinstance(uri, str):
            raise RegistrationError('a resource needs a URI: @mcp.resource("scheme://path")')
        fields: dict[str, Any] = {
            "title": title,
            "mime_type": mime_type,
            "annotations": annotations,
            "icons": icons,
            "meta": meta,
        }

        def decorator(function: Callable[P, R]) -> Completable[P, R]:
            own = own_words(function, "resource", name, description)
            item: Resource | ResourceTemplate
            if "{" not in uri:
                item = Resource(uri=uri, size=size, **own, **fields)
            elif size is None:
                item = ResourceTemplate(uri_template=uri, **own, **fields)
            else:
                raise RegistrationError(f"resource template {uri}: a size is of one resource, not of many")
            return self._completable(function, self._add(item, function, unchecked))

        return decorator

    def add_resource(
        self, resource: Resource | ResourceTemplate, content: Any, *, unchecked: Collection[str] = ()
    ) -> None:
        """Register a resource written by hand, with its content or the function that makes it.

        Args:
            resource: As it is listed. With fixed content, its ``mime_type`` and ``size`` are filled in.
            content: A function as ``resource`` takes it; or text, bytes or JSON data that never change.
            unchecked: As of ``resource``.

        Raises:
            RegistrationError: As ``resource``; or it is no content.
        """
        self._add(resource, content, unchecked)

    def remove_resource(self, uri: str) -> None:
        """Remove the resource, or the resource template, that was registered with that text.

        Raises:
            RegistrationError: There is neither.
        """
        (self._templates if uri in self._templates.entries else self._resources).remove(uri)

    @overload
    def prompt(self, function: Callable[P, R], /) -> Completable[P, R]: ...

    @overload
    def prompt(
        self,
        name: str | None = None,
        *,
        title: str | None = None,
        description: str | None = None,
        icons: Sequence[Icon] = (),
        meta: Mapping[str, Any] | None = None,
    ) -> Callable[[Callable[P, R]], Completable[P, R]]: ...

    def prompt(self, name: Any = None, **options: Any) -> Any:
        """Register the decorated function as a prompt, with or without options.

        Its arguments are the function's parameters, converted by the signature. It returns text, a
        ``Message``, a list of them, or a ``PromptResult``.

        Args:
            name: 1-128 of ``A-Za-z0-9_-.``; default: the function's name.
            title: Display name; default: the name.
            description: What it is for; default: the docstring.
            icons: Pictures; default: none.
            meta: The ``_meta`` object; default: none.

        Raises:
            RegistrationError: A taken or wrong name, a function that cannot be served.

        Source: server/prompts.
        """
        if callable(name):
            return self._add_prompt(name, options)
        return lambda function: self._add_prompt(function, {"name": name, **options})

    def remove_prompt(self, name: str) -> None:
        """Remove a prompt.

        Raises:
            RegistrationError: There is none of that name.
        """
        self._prompts.remove(name)

    def _registry(self, noun: str, kind: ListKind) -> Registry[Any]:
        return Registry(noun, self._lock, lambda: self._changed(kind))

    def _add(
        self, item: Resource | ResourceTemplate, content: Any, unchecked: Collection[str]
    ) -> ResourceEntry | TemplateEntry:
        if isinstance(item, ResourceTemplate):
            template = template_entry(item, content, unchecked)
            self._templates.add(item.uri_template, template)
            return template
        entry = resource_entry(item, content)
        self._resources.add(item.uri, entry)
        return entry

    def _add_prompt(self, function: Callable[..., Any], options: dict[str, Any]) -> Completable[Any, Any]:
        entry = prompt_entry(function, **options)
        self._prompts.add(entry.item.name, entry)
        return self._completable(function, entry)

    def _completable(self, function: Any, entry: ResourceEntry | TemplateEntry | PromptEntry) -> Completable[Any, Any]:
        def add(argument: str, completer: Callable[..., Any]) -> None:
            with self._lock:
                entry.completers.add(argument, completer)
                self._features = self._find_features()

        return Completable(function, add)

    def _changed(self, kind: ListKind) -> None:
        """Follow up a change of a list, in the thread that made it, and announce it."""
        with self._lock:
            self._versions[kind] += 1
            templates = self._templates.entries.values()
            self._most_literal_first = sorted(templates, key=lambda entry: entry.template.specificity, reverse=True)
            self._features = self._find_features()
            observers = tuple(self._observers)
        for kept in observers:
            announce = kept()
            if announce is not None:
                announce(kind)

    # --- policy -----------------------------------------------------------------------------------

    def allows(self, item: Listed, ctx: Context) -> bool:
        """Whether this caller may see and use a tool, resource, resource template or prompt.

        Override it to decide by ``ctx.principal``. What is not allowed looks as if it did not exist.
        """
        return True

    def features(self) -> frozenset[Feature]:
        """What is advertised: what is registered, and what a subclass adds."""
        return self._features

    def catalogue(self, kind: ListKind) -> int | None:
        """How often a list has changed; ``None`` if a subclass may show it differently to each caller."""
        return self._versions[kind] if self._allows_all and kind in self._own_lists else None

    def _find_features(self) -> frozenset[Feature]:
        found = set(overridden_features(type(self), MCPServer))
        if self._tools.entries:
            found.add("tools")
        if self._resources.entries or self._templates.entries:
            found.add("resources")
        if self._prompts.entries:
            found.add("prompts")
        completing: list[TemplateEntry | PromptEntry] = [*self._templates.entries.values()]
        completing += self._prompts.entries.values()
        if any(entry.completers for entry in completing):
            found.add("completions")
        return frozenset(found)

    def _seen(self, listed: tuple[Any, ...], ctx: Context) -> tuple[Any, ...]:
        return listed if self._allows_all else tuple(item for item in listed if self.allows(item, ctx))

    def _is_open(self, entry: ToolEntry | ResourceEntry | TemplateEntry | PromptEntry, ctx: Context) -> bool:
        return self._allows_all or self.allows(entry.item, ctx)

    # --- serving ----------------------------------------------------------------------------------

    def init(self, params: InitParams) -> dict[str, Any]:
        """Call the ``init`` that the server was made with."""
        return {} if self._init is None else self._init(params)

    def channels(self, ctx: Context) -> Iterable[str]:
        """Call the ``channels`` that the server was made with."""
        return () if self._channels is None else self._channels(ctx)

    def terminate(self, reason: str, ctx: Context) -> None:
        """Call the ``terminate`` that the server was made with."""
        if self._terminate is not None:
            self._terminate(reason, ctx)

    def tools(self, ctx: Context) -> Sequence[Tool]:
        """The tools that this caller may use, in the order of registration."""
        return self._seen(self._tools.listed, ctx)

    def find_tool(self, name: str, ctx: Context) -> Tool | None:
        """The tool of that name, if this caller may use it."""
        if "tools" not in self._own_lists:
            return super().find_tool(name, ctx)
        entry = self._tools.entries.get(name)
        return entry.item if entry is not None and self._is_open(entry, ctx) else None

    def handle_tool(self, name: str, arguments: dict[str, Any], ctx: Context) -> Any:
        """Call the function of a tool that was found, with the arguments that its ``bind`` gave."""
        entry = self._tools.entries.get(name)
        if entry is None:
            raise UnknownTool(name)
        return entry.call(arguments, ctx)

    def resources(self, ctx: Context) -> Sequence[Resource]:
        """The resources that this caller may read, in the order of registration."""
        return self._seen(self._resources.listed, ctx)

    def resource_templates(self, ctx: Context) -> Sequence[ResourceTemplate]:
        """The resource templates that this caller may read from, in the order of registration."""
        return self._seen(self._templates.listed, ctx)

    def read_resource(self, uri: str, ctx: Context) -> tuple[ResourceContents, ...]:
        """Call the function behind a URI.

        Raises:
            ResourceNotFound: No resource and no template answers to it, or the function says so.
        """
        entry, arguments = self._find_resource(uri, ctx)
        try:
            value = entry.call(arguments, ctx)
        except ResourceNotFound:
            raise ResourceNotFound(uri) from None  # the client knows the URI only as it was asked for
        if isinstance(value, InputRequired):
            raise value
        return resource_contents(value, uri=uri, to_json=to_json, mime_type=entry.item.mime_type)

    def may_subscribe(self, uri: str, ctx: Context) -> bool:
        """Whether a resource or template that this caller may read answers to the URI; nothing is called."""
        try:
            self._find_resource(uri, ctx)
        except ResourceNotFound:
            return False
        return True

    def observe(self, announce: Callable[[ListKind], object]) -> None:
        """Keep a method, weakly, that is to be told of each list that changes from now on."""
        with self._lock:
            self._observers = [kept for kept in self._observers if kept() is not None]
            self._observers.append(WeakMethod(announce))

    def _find_resource(self, uri: str, ctx: Context) -> tuple[ResourceEntry | TemplateEntry, dict[str, Any]]:
        exact = self._resources.entries.get(uri)
        if exact is not None:
            # One that is not allowed must not be reached through a template either.
            if self._is_open(exact, ctx):
                return exact, {}
            raise ResourceNotFound(uri)
        for entry in self._most_literal_first:
            arguments = entry.match(uri)
            if arguments is not None and self._is_open(entry, ctx):
                return entry, arguments
        raise ResourceNotFound(uri)

    def prompts(self, ctx: Context) -> Sequence[Prompt]:
        """The prompts that this caller may get, in the order of registration."""
        return self._seen(self._prompts.listed, ctx)

    def find_prompt(self, name: str, ctx: Context) -> Prompt | None:
        """The prompt of that name, if this caller may get it."""
        if "prompts" not in self._own_lists:
            return super().find_prompt(name, ctx)
        entry = self._prompts.entries.get(name)
        return entry.item if entry is not None and self._is_open(entry, ctx) else None

    def get_prompt(self, name: str, arguments: dict[str, str], ctx: Context) -> Any:
        """Check and convert the arguments and call the function of a prompt.

        Raises:
            UnknownPrompt: There is none of that name.
            InvalidParams: The arguments do not fit.
        """
        entry = self._prompts.entries.get(name)
        if entry is None or not self._is_open(entry, ctx):
            raise UnknownPrompt(name)
        return entry.call(entry.bind(arguments), ctx)

    def complete(
        self,
        ref: PromptRef | ResourceRef,
        argument: CompletionArgument,
        context: Mapping[str, str],
        ctx: Context,
    ) -> Completion:
        """Suggest values by the registered completer, or from the few values that an argument may have.

        Raises:
            InvalidParams: No such prompt, resource, template or argument.
        """
        return self._referenced(ref, ctx).completers.complete(argument, context, ctx)

    def _referenced(self, ref: PromptRef | ResourceRef, ctx: Context) -> PromptEntry | ResourceEntry | TemplateEntry:
        entry: PromptEntry | ResourceEntry | TemplateEntry | None
        if isinstance(ref, PromptRef):
            entry = self._prompts.entries.get(ref.name)
        else:
            entry = self._templates.entries.get(ref.uri) or self._resources.entries.get(ref.uri)
        if entry is not None and self._is_open(entry, ctx):
            return entry
        if isinstance(ref, PromptRef):
            raise UnknownPrompt(ref.name)
        raise InvalidParams(f"Unknown resource template: {shorten(ref.uri)}")

    # --- running ----------------------------------------------------------------------------------

    def wsgi_app(self, **options: Any) -> MCPApp:
        """Make the WSGI application that serves this server.

        Args:
            options: As ``MCPApp`` takes them.

        Raises:
            OptionError: An unknown option, or a wrong value.
        """
        from mcp_wsgi.wsgi.app import MCPApp  # the one import that points down: sugar for MCPApp(self)

        return MCPApp(self, **options)
