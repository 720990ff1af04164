"""The command ``mcp-wsgi``: serve a target, or try one out by hand.

Exit codes: 0 it worked; 1 it was tried and failed (a tool that says so counts); 2 the command line
is wrong, or what it names cannot be loaded.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from http.client import HTTPException
from pathlib import Path
from typing import Any

from mcp_wsgi import __version__
from mcp_wsgi.errors import ConfigurationError, MethodNotFound
from mcp_wsgi.handler import Handler, ListKind
from mcp_wsgi.http_client import HTTPTransport
from mcp_wsgi.rendering import block_text, listing_lines, pretty, tool_reply_text
from mcp_wsgi.revisions import LEGACY, REVISIONS
from mcp_wsgi.serving import WORKER_CLASSES, AddressError, Settings, serve
from mcp_wsgi.targets import load
from mcp_wsgi.testing import Client, Listing, Message, ProtocolError
from mcp_wsgi.wordings import ArgumentError, option_values, prompt_arguments, tool_arguments

__all__ = ["main"]
