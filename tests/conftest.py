"""Settings for all tests."""

from __future__ import annotations

import os

from hypothesis import settings

# "ci" keeps a whole run within seconds and prints what reproduces a failure; "thorough" is for an evening.
settings.register_profile("dev", max_examples=100, deadline=None)
settings.register_profile("ci", max_examples=60, deadline=None, print_blob=True)
settings.register_profile("thorough", max_examples=5000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev"))
