"""The command ``mcp-wsgi``: serve an MCP server, or try one out by hand.

Exit codes: 0 it worked; 1 it was tried and failed (a tool that says so counts); 2 the command line
is wrong, or what it names cannot be loaded.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence

from mcp_wsgi import __version__
from mcp_wsgi.cli import serving, trying
from mcp_wsgi.cli.arguments import UsageError, is_text, options
from mcp_wsgi.errors import ConfigurationError
from mcp_wsgi.levels import LEVELS
from mcp_wsgi.results import ProtocolError
from mcp_wsgi.revisions import SUPPORTED

__all__ = ["main"]

Run = Callable[[argparse.Namespace], int]
Describe = Callable[[argparse.ArgumentParser], None]

_TARGET = "module:attribute or path/to/file.py[:attribute]; default attribute: mcp, server, application or app"
_EPILOG = "Exit codes: 0 it worked, 1 it was tried and failed, 2 the command line or the target is wrong."

# Which exit code a failure has; the first class that fits decides.
_CODES: tuple[tuple[type[Exception], int], ...] = (
    (serving.AddressError, 1),
    (UsageError, 2),
    (ConfigurationError, 2),
    (ProtocolError, 1),
    (OSError, 1),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        argv: Its arguments; default: those of this process.

    Returns:
        The exit code.
    """
    args = _parser().parse_args(argv)
    run: Run = args.run
    try:
        code = run(args)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever reads our output has seen enough; Python's own flush at exit must not complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130
    except tuple(kind for kind, _ in _CODES) as failure:
        _complain(_text(failure))
        return next(code for kind, code in _CODES if isinstance(failure, kind))
    return code


def _text(failure: Exception) -> str:
    if isinstance(failure, ProtocolError) and failure.data is not None:
        return f"{failure}: {failure.data}"
    return str(failure)


def _complain(text: str) -> None:
    sys.stderr.write(f"mcp-wsgi: {text}\n")
    sys.stderr.flush()


# --- the command line -----------------------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mcp-wsgi", description="Serve an MCP server, or try one out by hand.", epilog=_EPILOG
    )
    parser.add_argument("--version", action="version", version=f"mcp-wsgi {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, (about, describe, run) in _COMMANDS.items():
        command = commands.add_parser(name, help=about, description=f"{about}.", epilog=_EPILOG)
        command.set_defaults(run=run)
        describe(command)
    return parser


def _describe_serve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", metavar="TARGET", help=_TARGET)
    add = parser.add_argument
    add("--host", default="127.0.0.1", help="name or address to listen at (default: %(default)s)")
    add("--port", type=_port, default=8000, help="TCP port; 0 for any free one (default: %(default)s)")
    add("--path", help="URL path of the endpoint (default: /mcp)")
    add("--workers", type=_positive, default=1, metavar="N", help="processes (default: %(default)s)")
    add("--worker-class", choices=serving.WORKER_CLASSES, default="gevent", help="default: %(default)s")
    add("--threads", type=_positive, metavar="N", help="threads of each gthread worker (default: 16)")
    add(
        "--allow-origin", action="append", default=[], metavar="ORIGIN", help="browser origin that may call; repeatable"
    )
    add("--allow-host", action="append", default=[], metavar="HOST", help="value of Host to serve; repeatable")
    add("--reload", action="store_true", help="restart the workers when a source file changes")
    add("--log-level", choices=("debug", "info", "warning", "error", "critical"), default="warning")
    add("--option", action="append", default=[], metavar="NAME=VALUE", help="any option of MCPApp; repeatable")


def _serve(args: argparse.Namespace) -> int:
    if args.threads is not None and args.worker_class != "gthread":
        raise UsageError("--threads goes with --worker-class gthread")
    settings = serving.Settings(
        target=args.target,
        host=args.host,
        port=args.port,
        path=args.path,
        workers=args.workers,
        worker_class=args.worker_class,
        threads=args.threads or 16,
        origins=tuple(args.allow_origin),
        hosts=tuple(args.allow_host),
        reload=args.reload,
        log_level=args.log_level,
        options=options(args.option),
    )
    serving.serve(settings, say=_say_at_once, warn=lambda text: _complain(f"warning: {text}"))
    return 0


def _say_at_once(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _describe_list(parser: argparse.ArgumentParser) -> None:
    _add_common(parser)
    parser.add_argument("--json", action="store_true", help="as JSON")


def _describe_call(parser: argparse.ArgumentParser) -> None:
    _add_common(parser)
    parser.add_argument("name", type=_text_argument, metavar="NAME", help="name of the tool")
    parser.add_argument(
        "arguments",
        metavar="KEY=VALUE",
        nargs="*",
        help="arguments: a string, or JSON where the tool takes no string; KEY:=JSON is always JSON; "
        "a VALUE of @PATH is the content of a file",
    )
    parser.add_argument("--json", metavar="OBJECT", help="arguments as one JSON object, or @PATH of a file with it")
    parser.add_argument("--log-level", choices=LEVELS, default="info", help="log messages to ask for (default: info)")
    _add_raw(parser)


def _describe_read(parser: argparse.ArgumentParser) -> None:
    _add_common(parser)
    parser.add_argument("uri", type=_text_argument, metavar="URI")
    _add_raw(parser)


def _describe_prompt(parser: argparse.ArgumentParser) -> None:
    _add_common(parser)
    parser.add_argument("name", type=_text_argument, metavar="NAME", help="name of the prompt")
    parser.add_argument("arguments", metavar="KEY=VALUE", nargs="*", help="arguments; @PATH is the content of a file")
    _add_raw(parser)


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", metavar="TARGET|URL", help=f"http(s) URL of an endpoint, or {_TARGET}")
    add = parser.add_argument
    add("--revision", choices=SUPPORTED, help="protocol revision (default: the newest that the server has)")
    add("--header", action="append", default=[], metavar="'NAME: VALUE'", help="header field to send; repeatable")
    add("--path", default="/mcp", help="path of the endpoint in a WSGI application (default: %(default)s)")
    add("--timeout", type=float, default=60.0, metavar="SECONDS", help="silence that a URL may keep (default: 60)")


def _add_raw(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--raw", action="store_true", help="the whole result as JSON")


_COMMANDS: Mapping[str, tuple[str, Describe, Run]] = {
    "serve": ("Serve a server over HTTP, with gunicorn", _describe_serve, _serve),
    "list": ("Show the tools, resources and prompts of a server", _describe_list, trying.list_all),
    "call": ("Call a tool and show its result", _describe_call, trying.call),
    "read": ("Read a resource", _describe_read, trying.read),
    "prompt": ("Show the messages of a prompt", _describe_prompt, trying.get_prompt),
}


def _port(text: str) -> int:
    return _number(text, range(65536), "a number from 0 to 65535")


def _positive(text: str) -> int:
    return _number(text, range(1, sys.maxsize), "a whole number from 1 on")


def _number(text: str, fitting: range, words: str) -> int:
    # Only an ArgumentTypeError has words of ours; of a ValueError argparse shows the function's name.
    try:
        number = int(text)
    except ValueError:
        number = fitting.start - 1
    if number not in fitting:
        raise argparse.ArgumentTypeError(f"takes {words}, not {text!r}")
    return number


def _text_argument(text: str) -> str:
    if not is_text(text):
        raise argparse.ArgumentTypeError("must be UTF-8")
    return text
