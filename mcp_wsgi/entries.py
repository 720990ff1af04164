"""From a function to what a server keeps of it: the listed value, the checks and the way to call it."""

from __future__ import annotations

import types
from collections.abc import Callable, Collection, Mapping
from typing import Any, Union, get_args, get_origin

import msgspec

from mcp_wsgi.checks import ContentError
from mcp_wsgi.completers import Completers
from mcp_wsgi.content import ResourceContents
from mcp_wsgi.context import Context
from mcp_wsgi.descriptions import Prompt, PromptArgument, Resource, ResourceTemplate, Tool
from mcp_wsgi.errors import InvalidParams, MissingArgument, RegistrationError
from mcp_wsgi.functions import Caller, Function, caller, inspect_function, schema_caller
from mcp_wsgi.inputs import InputRequired
from mcp_wsgi.returns import ToolResult, resource_contents
from mcp_wsgi.schema import (
    ArgumentErrors,
    Arguments,
    Output,
    OutputError,
    StringArguments,
    describe,
    promises_content_list,
    to_json,
)
from mcp_wsgi.signatures import return_hint
from mcp_wsgi.uris import Template

__all__ = [
    "PromptEntry",
    "ResourceEntry",
    "TemplateEntry",
    "ToolEntry",
    "own_words",
    "prompt_entry",
    "resource_entry",
    "template_entry",
    "tool_entry",
    "written_tool_entry",
]


class ToolEntry(msgspec.Struct, frozen=True):
    """A registered tool; ``call`` takes what ``item.arguments.bind`` gives."""

    item: Tool
    label: str
    call: Caller


class ResourceEntry(msgspec.Struct, frozen=True):
    """A registered resource; ``call`` takes no arguments."""

    item: Resource
    label: str
    call: Caller
    completers: Completers


class TemplateEntry(msgspec.Struct, frozen=True):
    """A registered resource template; ``call`` takes what ``match`` gives."""

    item: ResourceTemplate
    label: str
    call: Caller
    template: Template
    arguments: StringArguments
    completers: Completers

    def match(self, uri: str) -> dict[str, Any] | None:
        """The arguments that a URI has for the function; ``None`` if it is no URI of the template.

        A value that does not convert makes it none: where orders have numbers, ``orders://x`` is no
        bad request but the name of nothing.
        """
        values = self.template.match(uri)
        if values is None:
            return None
        try:
            return self.arguments.bind(values)
        except ArgumentErrors:
            return None


class PromptEntry(msgspec.Struct, frozen=True):
    """A registered prompt; ``call`` takes what ``bind`` gives."""

    item: Prompt
    label: str
    call: Caller
    arguments: StringArguments
    completers: Completers

    def bind(self, arguments: Mapping[str, str]) -> dict[str, Any]:
        """Check and convert a client's arguments.

        Raises:
            MissingArgument: Required ones are missing.
            InvalidParams: Others do not fit, or there are no such.
        """
        missing = [a.name for a in self.item.arguments if a.required and a.name not in arguments]
        if missing:
            raise MissingArgument(missing)
        try:
            return self.arguments.bind(dict(arguments))
        except ArgumentErrors as error:
            problems = "; ".join(str(error).splitlines())
            raise InvalidParams(f"Invalid arguments of prompt {self.item.name}: {problems}") from None


def tool_entry(
    target: Callable[..., Any],
    *,
    name: str | None = None,
    description: str | None = None,
    input_schema: Mapping[str, Any] | None = None,
    output_schema: Mapping[str, Any] | None = None,
    structured_output: bool | None = None,
    **listed: Any,
) -> ToolEntry:
    """Make a tool of a function; ``listed`` are further fields of ``Tool``.

    Raises:
        RegistrationError: The function, its signature or a schema cannot be served.
    """
    function = inspect_function(target, "tool")
    owner = function.label
    item = Tool(
        name=function.own_name() if name is None else name,
        description=_description(function, description),
        arguments=Arguments.from_schema(input_schema, owner=owner)
        if input_schema is not None
        else Arguments.from_function(function.target, owner=owner, skip=function.skip),
        output=_output(function, output_schema, structured_output),
        **listed,
    )
    call = caller(function) if input_schema is None else schema_caller(function, item.arguments.schema)
    return ToolEntry(item, owner, _telling_content(function, item, call))


def written_tool_entry(item: Tool, target: Callable[..., Any]) -> ToolEntry:
    """Let a function run a tool that is described by hand.

    Raises:
        RegistrationError: The function does not take what the schema admits.
    """
    function = inspect_function(target, "tool")
    call = schema_caller(function, item.arguments.schema)
    return ToolEntry(item, function.label, _telling_content(function, item, call))


def _telling_content(function: Function, item: Tool, call: Caller) -> Caller:
    """The same call, whose empty list is no data if the function says that its lists are content."""
    if item.output is not None or not promises_content_list(function.target, owner=function.label):
        return call

    def telling(arguments: dict[str, Any], ctx: Context) -> Any:
        value = call(arguments, ctx)
        return _NO_CONTENT if type(value) in (list, tuple) and not value else value

    return telling


_NO_CONTENT = ToolResult()


def resource_entry(item: Resource, content: Any) -> ResourceEntry:
    """Make a resource of a function, or of content that never changes.

    Raises:
        RegistrationError: The function takes arguments, or the content is none.
    """
    if not callable(content):
        return _constant(item, content)
    function = inspect_function(content, "resource")
    if function.parameters:
        raise RegistrationError(
            f"{function.label}: {', '.join(function.parameters)} must come out of the URI: "
            f"write them into {item.uri} as variables, in braces"
        )
    return ResourceEntry(item, function.label, caller(function), _nothing_to_complete(item))


def template_entry(
    item: ResourceTemplate, target: Callable[..., Any], unchecked: Collection[str] = ()
) -> TemplateEntry:
    """Make a resource template of a function.

    Args:
        item: As it is listed.
        target: The function.
        unchecked: Variables whose values are no paths, and may look as if they led out of a directory.

    Raises:
        RegistrationError: The template is malformed, or its variables are not the function's parameters.
    """
    function = inspect_function(target, "resource template")
    template = Template(item.uri_template, unchecked=unchecked)
    _check_variables(function, template)
    arguments = StringArguments.from_function(function.target, owner=function.label, skip=function.skip)
    completers = Completers(f"resource template {item.uri_template}", _hints(function))
    return TemplateEntry(item, function.label, caller(function), template, arguments, completers)


def prompt_entry(
    target: Callable[..., Any], *, name: str | None = None, description: str | None = None, **listed: Any
) -> PromptEntry:
    """Make a prompt of a function; ``listed`` are further fields of ``Prompt``.

    Raises:
        RegistrationError: The function or its signature cannot be served.
    """
    function = inspect_function(target, "prompt")
    own = function.own_name() if name is None else name
    arguments = StringArguments.from_function(function.target, owner=function.label, skip=function.skip)
    item = Prompt(
        name=own,
        description=_description(function, description),
        arguments=tuple(PromptArgument(key, text, required) for key, required, text in arguments.names),
        **listed,
    )
    completers = Completers(f"prompt {own}", _hints(function))
    return PromptEntry(item, function.label, caller(function), arguments, completers)


def own_words(target: Callable[..., Any], kind: str, name: str | None, description: str | None) -> dict[str, Any]:
    """The name and description of what a function becomes: those given, else its own."""
    function = inspect_function(target, kind)
    return {
        "name": function.own_name() if name is None else name,
        "description": _description(function, description),
    }


def _description(function: Function, given: str | None) -> str | None:
    return given if given is not None else describe(function.target).text or None


def _output(function: Function, schema: Mapping[str, Any] | None, structured: bool | None) -> Output | None:
    if schema is not None:
        return Output.from_schema(schema, owner=function.label)
    output = None if structured is False else Output.from_annotation(_promised(function), owner=function.label)
    if structured and output is None:
        raise RegistrationError(
            f"{function.label}: structured_output wants a return annotation of structured data, or an output_schema"
        )
    return output


def _promised(function: Function) -> Any:
    """What a function says that it returns, without the question that it may return instead."""
    hint = return_hint(function.target, owner=function.label)
    members = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    if InputRequired not in members:
        return hint
    others = tuple(member for member in members if member is not InputRequired)
    return Union[others] if others else Any  # noqa: UP007 - of as many as there are


def _constant(item: Resource, content: Any) -> ResourceEntry:
    label = f"resource {item.name} with fixed content"
    try:
        contents = resource_contents(content, uri=item.uri, to_json=to_json, mime_type=item.mime_type)
    except (ContentError, OutputError) as error:
        raise RegistrationError(f"{label}: {error}") from None
    if len(contents) == 1:
        (only,) = contents
        raw = only.blob if only.blob is not None else (only.text or "").encode()
        item = msgspec.structs.replace(
            item,
            mime_type=only.mime_type if item.mime_type is None else item.mime_type,
            size=len(raw) if item.size is None else item.size,
        )

    def call(arguments: dict[str, Any], ctx: Context) -> tuple[ResourceContents, ...]:
        return contents

    return ResourceEntry(item, label, call, _nothing_to_complete(item))


def _nothing_to_complete(item: Resource) -> Completers:
    return Completers(f"resource {item.uri}", {})


def _check_variables(function: Function, template: Template) -> None:
    variables, parameters = set(template.variables), set(function.parameters)
    if variables != parameters:
        lacking = [f"no parameter for {{{name}}}" for name in sorted(variables - parameters)]
        extra = [f"no variable for the parameter {name}" for name in sorted(parameters - variables)]
        raise RegistrationError(f"{function.label}: {template.text} has {'; '.join(lacking + extra)}")
    bare = [name for name in template.query_variables if name in function.required]
    if bare:
        raise RegistrationError(
            f"{function.label}: {', '.join(bare)} must have a default, since a client may leave out what follows ?"
        )


def _hints(function: Function) -> dict[str, Any]:
    return {name: function.hints.get(name) for name in function.parameters}
