"""Copies of ``examples/approvals.py``, each with a ledger of its own, at ``/<number>/mcp``.

``SITE_OPTIONS`` is a JSON object that says how many ``copies``.
"""

from __future__ import annotations

import json
import os
import sys
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any

from werkzeug.exceptions import NotFound
from werkzeug.middleware.dispatcher import DispatcherMiddleware

from tests.servers.running import ROOT


def copy(number: int) -> Any:
    """The application of a module that is loaded once more."""
    spec = spec_from_file_location(f"approvals_{number}", ROOT / "examples" / "approvals.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # where annotations are looked up
    spec.loader.exec_module(module)
    return module.application


application = DispatcherMiddleware(
    NotFound(), {f"/{number}": copy(number) for number in range(json.loads(os.environ["SITE_OPTIONS"])["copies"])}
)
