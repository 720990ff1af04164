"""Tests of the modules of ``mcp_wsgi.contrib``."""
