"""What a server says of itself and lists: values that are checked when built, and how each revision writes them.

``Handler`` gives them, and clients read them. A mistake in one fails where it is written, by the name of what it
describes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from mcp_wsgi.checks import check_annotations, check_meta, check_texts, kind_of
from mcp_wsgi.errors import ConfigurationError, RegistrationError
from mcp_wsgi.inputs import CAPABILITIES
from mcp_wsgi.schema import Arguments, Output, check_name
from mcp_wsgi.uris import check_uri

if TYPE_CHECKING:
    from mcp_wsgi.revisions import Revision

__all__ = [
    "Icon",
    "Prompt",
    "PromptArgument",
    "Resource",
    "ResourceTemplate",
    "ServerInfo",
    "Tool",
]


def _is_list_of(value: Any, kind: type) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(item, kind) for item in value)


class Icon(msgspec.Struct, frozen=True):
    """A picture that clients may show beside a name.

    Args:
        src: An ``https:`` or ``data:`` URI (``http:`` while developing); clients reject other schemes.
        mime_type: Such as ``image/png``; default: what ``src`` answers.
        sizes: ``WxH`` entries or ``any``; default: unknown.
        theme: ``light`` or ``dark`` background it is made for; default: either.

    Raises:
        RegistrationError: A value that is none of these.

    Source: basic/index, "Icons".
    """

    src: str
    mime_type: str | None = None
    sizes: Sequence[str] | None = None
    theme: Literal["light", "dark"] | None = None

    def __post_init__(self) -> None:
        if not str(self.src).startswith(_ICON_SCHEMES):
            raise RegistrationError(f"icon {self.src!r}: src must begin with one of {', '.join(_ICON_SCHEMES)}")
        owner = f"icon {self.src!r}"
        check_texts(owner, src=self.src, mime_type=self.mime_type, error=RegistrationError)
        if self.sizes is not None and not _is_list_of(self.sizes, str):
            raise RegistrationError(f"{owner}: sizes is a list, such as ['48x48']")
        if self.theme not in (None, "light", "dark"):
            raise RegistrationError(f"icon {self.src!r}: theme must be 'light' or 'dark'")

    def wire(self, revision: Revision) -> dict[str, Any]:
        """The icon as ``revision`` writes it."""
        return revision.shape(
            "Icon",
            {
                "src": self.src,
                "mimeType": self.mime_type,
                "sizes": list(self.sizes) if self.sizes is not None else None,
                "theme": self.theme,
            },
        )


class ServerInfo(msgspec.Struct, frozen=True):
    """What this server calls itself.

    Args:
        name: Short programmatic name.
        version: The application's own version.
        title: Display name; default ``name``.
        description: One sentence; default: none.
        website_url: Where people read about it; default: none.
        icons: Pictures; default: none.

    Source: schema, ``Implementation``.
    """

    name: str
    version: str = "0"
    title: str | None = None
    description: str | None = None
    website_url: str | None = None
    icons: Sequence[Icon] = ()

    def __post_init__(self) -> None:
        owner = f"server {self.name!r}"
        for name in ("name", "version"):
            if not isinstance(getattr(self, name), str):
                raise ConfigurationError(f"{owner}: {name} takes text, not {kind_of(getattr(self, name))}")
        texts = {name: getattr(self, name) for name in ("name", "version", "title", "description", "website_url")}
        check_texts(owner, **texts, error=ConfigurationError)
        if not _is_list_of(self.icons, Icon):
            raise ConfigurationError(f"{owner}: icons is a list of Icon")
        msgspec.structs.force_setattr(self, "icons", tuple(self.icons))

    def wire(self, revision: Revision) -> dict[str, Any]:
        """The ``Implementation`` object as ``revision`` writes it."""
        return revision.shape(
            "Implementation",
            {
                "name": self.name,
                "version": self.version,
                "title": self.title,
                "description": self.description,
                "websiteUrl": self.website_url,
                "icons": _icons(self.icons, revision),
            },
        )


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as it is listed, and the compiled checks of what goes in and out.

    Build it once and keep it: the schemas are compiled here.

    Args:
        name: 1-128 of ``A-Za-z0-9_-.``.
        description: What the model reads to choose it.
        input_schema: JSON Schema of the arguments, root ``type: object``; default: no arguments.
        output_schema: JSON Schema of the structured result; default: none.
        title: Display name; default ``name``.
        annotations: ``readOnlyHint``, ``destructiveHint``, ``idempotentHint``, ``openWorldHint``.
        icons: Pictures; default: none.
        meta: The ``_meta`` object; default: none.
        requires: What the client must have declared for the tool to run, such as ``elicitation``,
            ``elicitation.url``, ``sampling``, ``sampling.tools`` or ``roots``; default: nothing.
        arguments: The compiled input side; default: made from ``input_schema``.
        output: The compiled output side; default: made from ``output_schema``.

    Raises:
        RegistrationError: A wrong name, schema or other value.

    Source: server/tools, "Tool".
    """

    name: str
    description: str | None = None
    input_schema: Mapping[str, Any] | None = None
    output_schema: Mapping[str, Any] | None = None
    title: str | None = None
    annotations: Mapping[str, Any] | None = None
    icons: Sequence[Icon] = ()
    meta: Mapping[str, Any] | None = None
    requires: Sequence[str] = ()
    arguments: Arguments = None  # type: ignore[assignment]
    output: Output | None = None

    def __post_init__(self) -> None:
        check_name("tool", self.name)
        _check_hints(self)
        _check_parts(self, f"tool {self.name}")
        put = msgspec.structs.force_setattr
        put(self, "requires", _requirements(self.requires, self.name))
        given: Arguments | None = self.arguments
        if given is None:
            put(self, "arguments", Arguments.from_schema(self.input_schema, owner=f"tool {self.name!r}"))
        put(self, "input_schema", self.arguments.schema)
        if self.output is None and self.output_schema is not None:
            put(self, "output", Output.from_schema(self.output_schema, owner=f"tool {self.name!r}"))
        put(self, "output_schema", self.output.schema if self.output is not None else None)

    def wire(self, revision: Revision) -> dict[str, Any]:
        """The ``Tool`` object as ``revision`` writes it."""
        return revision.shape(
            "Tool",
            {
                "name": self.name,
                "title": self.title,
                "description": self.description,
                "inputSchema": self.input_schema,
                # The session era has structured results that are objects, or none at all.
                "outputSchema": self.output_schema if self._structured_in(revision) else None,
                "annotations": dict(self.annotations) if self.annotations else None,
                "icons": _icons(self.icons, revision),
                "_meta": dict(self.meta) if self.meta else None,
            },
        )

    def _structured_in(self, revision: Revision) -> bool:
        if self.output is None or revision.structured == "none":
            return False
        return revision.structured == "any" or self.output.is_object


class Resource(msgspec.Struct, frozen=True, kw_only=True):
    """A resource as it is listed.

    Args:
        uri: Its identifier (RFC 3986).
        name: Short programmatic name.
        title: Display name; default ``name``.
        description: What it holds; default: none.
        mime_type: Default: unknown.
        size: Bytes of the raw content; default: unknown.
        annotations: ``audience`` (of ``user``, ``assistant``), ``priority`` (0-1),
            ``lastModified`` (ISO 8601).
        icons: Pictures; default: none.
        meta: The ``_meta`` object; default: none.

    Raises:
        RegistrationError: The URI is none, or another value is wrong.

    Source: server/resources, "Resource".
    """

    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None
    annotations: Mapping[str, Any] | None = None
    icons: Sequence[Icon] = ()
    meta: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        owner = f"resource {self.uri}"
        check_uri(self.uri, owner=owner)
        if self.size is not None and (type(self.size) is not int or self.size < 0):
            raise RegistrationError(f"{owner}: size is a number of bytes, not {self.size!r}")
        _check_annotations(self, owner)
        _check_parts(self, owner)

    def wire(self, revision: Revision) -> dict[str, Any]:
        """The ``Resource`` object as ``revision`` writes it."""
        return revision.shape(
            "Resource",
            {
                "uri": self.uri,
                "name": self.name,
                "title": self.title,
                "description": self.description,
                "mimeType": self.mime_type,
                "size": self.size,
                "annotations": _annotations(self.annotations, revision),
                "icons": _icons(self.icons, revision),
                "_meta": dict(self.meta) if self.meta else None,
            },
        )


class ResourceTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """A family of resources as it is listed.

    Args:
        uri_template: RFC 6570 template.
        name: Short programmatic name.
        title: Display name; default ``name``.
        description: What it holds; default: none.
        mime_type: Only if all that match share it; default: unknown.
        annotations: As of ``Resource``.
        icons: Pictures; default: none.
        meta: The ``_meta`` object; default: none.

    Raises:
        RegistrationError: A wrong value; ``uris.Template`` is what checks ``uri_template``.

    Source: server/resources, "Resource Templates".
    """

    uri_template: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    annotations: Mapping[str, Any] | None = None
    icons: Sequence[Icon] = ()
    meta: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        owner = f"resource template {self.uri_template}"
        _check_annotations(self, owner)
        _check_parts(self, owner)

    def wire(self, revision: Revision) -> dict[str, Any]:
        """The ``ResourceTemplate`` object as ``revision`` writes it."""
        return revision.shape(
            "ResourceTemplate",
            {
                "uriTemplate": self.uri_template,
                "name": self.name,
                "title": self.title,
                "description": self.description,
                "mimeType": self.mime_type,
                "annotations": _annotations(self.annotations, revision),
                "icons": _icons(self.icons, revision),
                "_meta": dict(self.meta) if self.meta else None,
            },
        )


class PromptArgument(msgspec.Struct, frozen=True):
    """One argument of a prompt; its value is a string on the wire.

    Args:
        name: Name of the argument.
        description: What to give; default: none.
        required: Whether ``prompts/get`` is refused without it; default false.
        title: Display name; default ``name``.
    """

    name: str
    description: str | None = None
    required: bool = False
    title: str | None = None

    def __post_init__(self) -> None:
        owner = f"argument {self.name!r} of a prompt"
        if self.name is None:
            raise RegistrationError(f"{owner}: name takes text")
        texts = {"name": self.name, "description": self.description, "title": self.title}
        check_texts(owner, **texts, error=RegistrationError)

    def wire(self, revision: Revision) -> dict[str, Any]:
        """The ``PromptArgument`` object as ``revision`` writes it."""
        return revision.shape(
            "PromptArgument",
            {
                "name": self.name,
                "title": self.title,
                "description": self.description,
                "required": True if self.required else None,
            },
        )


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt as it is listed.

    Args:
        name: Short programmatic name.
        description: What it is for.
        arguments: What it takes; default: nothing.
        title: Display name; default ``name``.
        icons: Pictures; default: none.
        meta: The ``_meta`` object; default: none.

    Raises:
        RegistrationError: A wrong name or other value.

    Source: server/prompts, "Prompt".
    """

    name: str
    description: str | None = None
    arguments: Sequence[PromptArgument] = ()
    title: str | None = None
    icons: Sequence[Icon] = ()
    meta: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        check_name("prompt", self.name)
        _check_parts(self, f"prompt {self.name}")
        if not _is_list_of(self.arguments, PromptArgument):
            raise RegistrationError(f"prompt {self.name}: arguments is a list of PromptArgument")

    def wire(self, revision: Revision) -> dict[str, Any]:
        """The ``Prompt`` object as ``revision`` writes it."""
        return revision.shape(
            "Prompt",
            {
                "name": self.name,
                "title": self.title,
                "description": self.description,
                "arguments": [a.wire(revision) for a in self.arguments] or None,
                "icons": _icons(self.icons, revision),
                "_meta": dict(self.meta) if self.meta else None,
            },
        )


def _requirements(requires: Any, name: str) -> tuple[str, ...]:
    names = (requires,) if isinstance(requires, str) else tuple(requires)
    unknown = [each for each in names if each not in CAPABILITIES]
    if unknown:
        raise RegistrationError(f"tool {name}: requires knows {', '.join(CAPABILITIES)}, not {unknown[0]!r}")
    return names


_ICON_SCHEMES = ("https:", "data:", "http:")

# Hint -> its type. Source: schema, ``ToolAnnotations``.
_HINTS: Mapping[str, type] = {
    "title": str,
    "readOnlyHint": bool,
    "destructiveHint": bool,
    "idempotentHint": bool,
    "openWorldHint": bool,
}


def _check_hints(tool: Tool) -> None:
    if tool.annotations is None:
        return
    if not isinstance(tool.annotations, Mapping):
        raise RegistrationError(f"tool {tool.name}: annotations is a dict, not {kind_of(tool.annotations)}")
    for name, value in tool.annotations.items():
        if name not in _HINTS:
            raise RegistrationError(f"tool {tool.name}: no annotation {name!r}; there are {', '.join(_HINTS)}")
        if type(value) is not _HINTS[name]:
            raise RegistrationError(f"tool {tool.name}: the annotation {name} takes a {_HINTS[name].__name__}")
    # What is listed must not change behind the back of what was checked.
    msgspec.structs.force_setattr(tool, "annotations", dict(tool.annotations))


def _check_annotations(item: Resource | ResourceTemplate, owner: str) -> None:
    if item.annotations is not None:
        annotations = check_annotations(item.annotations, owner=owner, error=RegistrationError)
        msgspec.structs.force_setattr(item, "annotations", annotations)


def _check_parts(item: Tool | Resource | ResourceTemplate | Prompt, owner: str) -> None:
    if item.name is None:
        raise RegistrationError(f"{owner}: name takes text")
    texts = {name: getattr(item, name, None) for name in ("name", "title", "description", "mime_type")}
    check_texts(owner, **texts, error=RegistrationError)
    if not _is_list_of(item.icons, Icon):
        raise RegistrationError(f"{owner}: icons is a list of Icon")
    msgspec.structs.force_setattr(item, "icons", tuple(item.icons))
    if item.meta is not None:
        msgspec.structs.force_setattr(item, "meta", check_meta(item.meta, owner=owner, error=RegistrationError))


def _icons(icons: Sequence[Icon], revision: Revision) -> list[dict[str, Any]] | None:
    if not icons or "Icon" not in revision.fields:
        return None
    return [icon.wire(revision) for icon in icons]


def _annotations(annotations: Mapping[str, Any] | None, revision: Revision) -> dict[str, Any] | None:
    return revision.shape("Annotations", annotations) or None if annotations else None
