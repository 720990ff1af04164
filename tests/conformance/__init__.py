"""Runs the official MCP conformance suite against ``examples/everything.py``; see ``__main__.py``."""
