"""What a call costs, beside a bare WSGI application in the same run."""
