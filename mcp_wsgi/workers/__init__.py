"""What callbacks run in: greenlets, threads, or the caller's own thread.

Each kind of worker offers the same two things: a ``Crew`` starts jobs, and a ``Job`` carries what its
callback emits to whoever answers the request.
"""

from __future__ import annotations

from mcp_wsgi.errors import OptionError
from mcp_wsgi.workers.base import NOTHING, Crew, Job, Signal
from mcp_wsgi.workers.budget import Budget
from mcp_wsgi.workers.greenlets import GreenletCrew
from mcp_wsgi.workers.inline import InlineCrew
from mcp_wsgi.workers.patching import guard, patched_by_gevent
from mcp_wsgi.workers.threads import ThreadCrew

__all__ = ["NOTHING", "Budget", "Crew", "Job", "Signal", "crew_for", "guard", "patched_by_gevent"]

_CREWS: dict[str, type[Crew]] = {crew.kind: crew for crew in (GreenletCrew, ThreadCrew, InlineCrew)}


def crew_for(choice: str, limit: int) -> Crew:
    """The crew for option ``workers``.

    Args:
        choice: ``auto``, ``greenlets``, ``threads`` or ``inline``.
        limit: Jobs that may run at the same time.

    Raises:
        OptionError: Greenlets were asked for in a process that gevent has not patched, where a
            blocking callback would block every request.
    """
    patched = patched_by_gevent()
    if choice == "auto":
        choice = "greenlets" if patched else "threads"
    if choice == "greenlets" and not patched:
        raise OptionError('option workers: "greenlets" needs a process patched by gevent (gunicorn -k gevent)')
    return _CREWS[choice](limit)
