"""The HTTP edge: the guards, the two endpoints, and the WSGI application."""
