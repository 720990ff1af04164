"""``python -m mcp_wsgi`` is ``mcp-wsgi``."""

import sys

from mcp_wsgi.cli import main

if __name__ == "__main__":
    sys.exit(main())
