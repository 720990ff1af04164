"""What ``TARGET`` on a command line names: an ``MCPServer``, another ``Handler``, or a WSGI application."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import operator
import os
import sys
import sysconfig
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from mcp_wsgi.errors import ConfigurationError
from mcp_wsgi.handler import Handler
from mcp_wsgi.http_client import WSGIApplication
from mcp_wsgi.wsgi.app import MCPApp

__all__ = ["DEFAULT_NAMES", "TargetError", "file_of", "load"]

#: The names that are looked for, in this order, when ``TARGET`` gives none.
DEFAULT_NAMES = ("mcp", "server", "application", "app")

_FOREIGN = ("<frozen ", str(Path(__file__).parent.parent) + os.sep, sysconfig.get_path("stdlib") + os.sep)
_SHOWN_FRAMES = 4


class TargetError(ConfigurationError):
    """``TARGET`` cannot be loaded; the text says what is wrong, in one line or with the lines to look at."""


class _Place(msgspec.Struct, frozen=True):
    """Where to look: a file or an importable module, and the name in it."""

    module: str
    attribute: str | None

    @property
    def is_file(self) -> bool:
        return self.module.endswith(".py") or "/" in self.module or os.sep in self.module


def load(target: str) -> Handler | WSGIApplication:
    """Import what a target names.

    Args:
        target: ``module``, ``module:attribute``, ``path/to/file.py`` or ``path/to/file.py:attribute``;
            the default attribute is the first of ``DEFAULT_NAMES`` that fits.

    Returns:
        A handler (a class is instantiated) or a WSGI application.

    Raises:
        TargetError: There is no such thing, it is of another kind, or importing it failed.
    """
    place = _place(target)
    module = _import(place)
    found = _named(module, place) if place.attribute else _default(module, place)
    if not isinstance(found, type):
        return found  # type: ignore[no-any-return]
    try:
        handler: Handler = found()
    except Exception as error:
        raise TargetError(f"{target} cannot be instantiated:\n{_outline(error)}") from error
    return handler


def file_of(target: str) -> Path | None:
    """The file that a target names; ``None`` if it names a module."""
    place = _place(target)
    return Path(place.module).resolve() if place.is_file else None


def _place(target: str) -> _Place:
    module, colon, attribute = target.rpartition(":")
    # The colon of a path such as C:\server.py separates nothing.
    if not colon or target.endswith(".py"):
        return _Place(target, None)
    return _Place(module, attribute)


# --- importing ------------------------------------------------------------------------------------


def _import(place: _Place) -> ModuleType:
    try:
        return _import_file(Path(place.module)) if place.is_file else _import_module(place.module)
    except TargetError:
        raise
    except SystemExit as error:
        raise TargetError(
            f"{place.module} ends the process when it is imported (exit code {error.code}); "
            'what runs a server belongs below: if __name__ == "__main__"'
        ) from error
    except Exception as error:
        raise TargetError(f"importing {place.module} failed:\n{_outline(error)}") from error


def _import_file(path: Path) -> ModuleType:
    path = path.resolve()
    if not path.is_file():
        raise TargetError(f"there is no file {path}")
    # As for a script: its neighbours can be imported.
    _look_first_in(path.parent)
    # A name that is taken (such as that of a module of this process) must not be taken over.
    name = path.stem if path.stem.isidentifier() and path.stem not in sys.modules else f"_target_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise TargetError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _import_module(name: str) -> ModuleType:
    _look_first_in(Path.cwd())
    if not all(part.isidentifier() for part in name.split(".")):
        raise TargetError(f"{name!r} is neither a Python file nor the name of a module")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        # Only if the target itself is missing, rather than something that it imports.
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            raise TargetError(f"there is no module {error.name} in {Path.cwd()} or on the Python path") from error
        raise


def _look_first_in(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _outline(error: BaseException) -> str:
    """The end of a traceback, without the frames that say nothing about the user's own code."""
    frames = traceback.extract_tb(error.__traceback__)
    shown = [frame for frame in frames if not _is_foreign(frame.filename)]
    if not shown and not isinstance(error, SyntaxError):  # which says by itself where it is
        shown = list(frames)
    lines = traceback.format_list(shown[-_SHOWN_FRAMES:])
    return "".join([*lines, *traceback.format_exception_only(type(error), error)]).rstrip()


def _is_foreign(filename: str) -> bool:
    return filename.startswith(_FOREIGN) or f"{os.sep}site-packages{os.sep}" in filename


# --- finding --------------------------------------------------------------------------------------


def _named(module: ModuleType, place: _Place) -> Any:
    try:
        found = operator.attrgetter(str(place.attribute))(module)
    except AttributeError:
        raise TargetError(f"{place.module} has no {place.attribute!r}; {_candidates(module)}") from None
    if not _fits(found):
        raise TargetError(
            f"{place.module}:{place.attribute} is {_described(found)}, not an MCPServer, a Handler or a "
            f"WSGI application; {_candidates(module)}"
        )
    return found


def _default(module: ModuleType, place: _Place) -> Any:
    for name in DEFAULT_NAMES:
        found = getattr(module, name, None)
        if _fits(found):
            return found
    raise TargetError(
        f"{place.module} has no server named {', '.join(DEFAULT_NAMES)}; name yours as "
        f"{place.module}:NAME; {_candidates(module)}"
    )


def _fits(found: Any) -> bool:
    if isinstance(found, type):
        return issubclass(found, Handler)
    return isinstance(found, Handler) or _is_application(found)


def _is_application(found: Any) -> bool:
    # Of our own objects only one is an application, whatever others can be called.
    if not callable(found) or (type(found).__module__.startswith("mcp_wsgi.") and not isinstance(found, MCPApp)):
        return False
    try:
        inspect.signature(found).bind({}, print)
    except TypeError:
        return False
    except ValueError:  # built-in callables may have no signature to look at
        return True
    return True


def _candidates(module: ModuleType) -> str:
    names = [
        f"{name} ({type(found).__name__ if not isinstance(found, type) else 'Handler class'})"
        for name, found in vars(module).items()
        if not name.startswith("_") and _is_own_server(found)
    ]
    return f"it has {', '.join(names)}" if names else "it has no server at all"


def _is_own_server(found: Any) -> bool:
    if isinstance(found, type):
        return issubclass(found, Handler) and not found.__module__.startswith("mcp_wsgi.")
    # Any function of two parameters could be an application: only what says so by its type counts.
    return isinstance(found, Handler) or (_is_application(found) and not inspect.isroutine(found))


def _described(found: Any) -> str:
    if isinstance(found, type):
        return f"the class {found.__name__}"
    if inspect.isroutine(found):
        return f"the function {found.__name__}{inspect.signature(found)}"
    return f"of type {type(found).__name__}"
