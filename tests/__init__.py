"""The tests; this file is read before all others of them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

# A run starts some hundred processes. Where the environment forbids bytecode, each would compile everything it imports;
# what is kept for them stays out of the folders of the sources.
if sys.dont_write_bytecode:
    sys.dont_write_bytecode = False
    sys.pycache_prefix = sys.pycache_prefix or str(Path(__file__).parents[1] / ".cache" / "bytecode")
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
