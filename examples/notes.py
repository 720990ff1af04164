"""A notebook over SQLite: tools, resources, templates, prompts, completion, progress and logs.

    mcp-wsgi serve examples/notes.py
    gunicorn -k gevent examples.notes:application

The notes are kept in the file that ``NOTES_DB`` names, else in ``notes.sqlite3`` where the server starts.
"""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Annotated, Literal

from msgspec import Meta

from mcp_wsgi import (
    Context,
    ContextLogHandler,
    EmbeddedResource,
    MCPServer,
    Message,
    ResourceContents,
    ResourceNotFound,
    ToolError,
)

mcp = MCPServer(
    "notes",
    version="1.0",
    title="Notebook",
    instructions="Search before you add a note: there may be one on the subject already.",
)

# What the code below logs is also sent to the client whose call it serves, if that client wants logs.
log = logging.getLogger("notes")
log.setLevel(logging.INFO)
log.addHandler(ContextLogHandler())

Title = Annotated[str, Meta(min_length=1, max_length=200)]
Tag = Annotated[str, Meta(pattern="^[a-z0-9-]{1,40}$", description="Lower-case word, such as shopping.")]
Limit = Annotated[int, Meta(ge=1, le=100)]


@dataclass(frozen=True)
class NewNote:
    """A note to be written.

    Attributes:
        title: One line.
        text: Markdown.
        tags: What it is about.
    """

    title: Title
    text: str
    tags: tuple[Tag, ...] = ()


@dataclass(frozen=True)
class Note:
    """A note that is kept."""

    id: int
    title: str
    text: str
    tags: list[str]
    written: datetime


@dataclass(frozen=True)
class Statistics:
    """The size of the notebook."""

    notes: int
    words: int
    tags: dict[str, int]


# --- storage --------------------------------------------------------------------------------------

SCHEMA = """
CREATE TABLE IF NOT EXISTS note (
    id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL, text TEXT NOT NULL, written TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS tag (
    note_id INTEGER NOT NULL REFERENCES note ON DELETE CASCADE, name TEXT NOT NULL, PRIMARY KEY (note_id, name)
);
PRAGMA foreign_keys = ON;
"""


@contextmanager
def database() -> Iterator[sqlite3.Connection]:
    """One connection and one transaction, for one piece of work.

    Nothing is shared, so threads, greenlets and processes may all do this at once. Never report
    progress inside: another call may then have its turn, and wait in vain for the lock held here.
    """
    db = sqlite3.connect(os.environ.get("NOTES_DB", "notes.sqlite3"))
    try:
        db.row_factory = sqlite3.Row
        db.executescript(SCHEMA)
        with db:
            yield db
    finally:
        db.close()


def insert(db: sqlite3.Connection, new: NewNote) -> Note:
    """Write one note."""
    written = datetime.now(timezone.utc).replace(microsecond=0)
    db.execute("INSERT INTO note (title, text, written) VALUES (?, ?, ?)", (new.title, new.text, written.isoformat()))
    (note_id,) = db.execute("SELECT last_insert_rowid()").fetchone()
    tags = sorted(set(new.tags))
    db.executemany("INSERT INTO tag VALUES (?, ?)", [(note_id, tag) for tag in tags])
    return Note(note_id, new.title, new.text, tags, written)


def select(db: sqlite3.Connection, where: str, *values: object) -> list[Note]:
    """The notes that a condition picks, newest first."""
    rows = db.execute(
        # Only fixed text is pasted in here; what a client says goes through the placeholders.
        "SELECT note.*, (SELECT group_concat(name, ' ') FROM tag WHERE note_id = note.id) AS tags"  # noqa: S608
        f" FROM note WHERE {where}",
        values,
    )
    return [
        Note(
            row["id"],
            row["title"],
            row["text"],
            sorted((row["tags"] or "").split()),
            datetime.fromisoformat(row["written"]),
        )
        for row in rows
    ]


def tag_names(prefix: str = "") -> list[str]:
    """The tags that begin with a text, the most used first."""
    with database() as db:
        rows = db.execute("SELECT name FROM tag GROUP BY name ORDER BY count(*) DESC, name")
        return [row["name"] for row in rows if row["name"].startswith(prefix)]


# --- tools ----------------------------------------------------------------------------------------


@mcp.tool(annotations={"destructiveHint": False})
def add_note(title: Title, text: str, tags: tuple[Tag, ...] = ()) -> Note:
    """Write a note.

    Args:
        title: One line.
        text: Markdown.
        tags: What it is about.
    """
    with database() as db:
        return insert(db, NewNote(title, text, tags))


@mcp.tool(annotations={"readOnlyHint": True})
def search_notes(words: str = "", tag: Tag | None = None, limit: Limit = 20) -> list[Note]:
    """Find notes, newest first.

    Args:
        words: Text that the title or the body must hold; upper and lower case are the same.
        tag: Only notes with this tag.
        limit: At most so many.
    """
    with database() as db:
        return select(
            db,
            "instr(lower(title || ' ' || text), lower(?))"
            " AND (? IS NULL OR id IN (SELECT note_id FROM tag WHERE name = ?))"
            " ORDER BY id DESC LIMIT ?",
            words,
            tag,
            tag,
            limit,
        )


@mcp.tool(annotations={"destructiveHint": True, "idempotentHint": True})
def delete_note(note_id: int) -> str:
    """Delete a note for good."""
    with database() as db:
        if not db.execute("DELETE FROM note WHERE id = ?", (note_id,)).rowcount:
            raise ToolError(f"There is no note {note_id}; search_notes tells which there are.")
    log.info("deleted note %d", note_id)
    return f"Deleted note {note_id}."


@mcp.tool(annotations={"destructiveHint": False})
def import_notes(notes: list[NewNote], ctx: Context) -> str:
    """Write many notes; those already written stay if the import is cancelled."""
    for new in ctx.track(notes):
        with database() as db:
            insert(db, new)
    log.info("imported %d notes", len(notes))
    return f"Imported {len(notes)} notes."


@mcp.tool(annotations={"readOnlyHint": True})
def stats() -> Statistics:
    """How many notes and words there are, and how often each tag is used."""
    with database() as db:
        texts = [row["text"] for row in db.execute("SELECT text FROM note")]
        tags = {row["name"]: row["n"] for row in db.execute("SELECT name, count(*) AS n FROM tag GROUP BY name")}
    return Statistics(len(texts), sum(len(text.split()) for text in texts), tags)


# --- resources ------------------------------------------------------------------------------------


@mcp.resource("notes://index", mime_type="application/json")
def index() -> list[dict[str, str]]:
    """Titles and addresses of all notes, newest first."""
    with database() as db:
        return [{"uri": f"notes://{note.id}", "title": note.title} for note in select(db, "true ORDER BY id DESC")]


@mcp.resource("notes://{note_id}", mime_type="text/markdown")
def note(note_id: int) -> str:
    """One note as Markdown."""
    with database() as db:
        found = select(db, "id = ?", note_id)
    if not found:
        raise ResourceNotFound(f"notes://{note_id}")
    return markdown(found[0])


@mcp.resource("notes://tag/{tag}{?limit}", mime_type="text/markdown")
def notes_with_tag(tag: Tag, limit: Limit = 20) -> str:
    """The newest notes with a tag, as one Markdown text."""
    return "\n\n".join(map(markdown, search_notes(tag=tag, limit=limit)))


def markdown(note: Note) -> str:
    """A note as a Markdown text."""
    tags = " ".join(f"#{tag}" for tag in note.tags)
    return "\n\n".join(filter(None, [f"# {note.title}", note.text, tags]))


# --- prompts --------------------------------------------------------------------------------------


@mcp.prompt
def summarise(tag: Tag, length: Literal["short", "full"] = "short") -> list[Message]:
    """Sum up what the notes say on a subject.

    Args:
        tag: The subject.
        length: One paragraph, or a page.
    """
    size = {"short": "one paragraph", "full": "one page"}[length]
    source = ResourceContents(f"notes://tag/{tag}", text=notes_with_tag(tag), mime_type="text/markdown")
    return [
        Message("user", EmbeddedResource(source)),
        Message("user", f"Sum up these notes in {size}."),
    ]


@notes_with_tag.complete("tag")
@summarise.complete("tag")
def complete_tag(value: str) -> list[str]:
    """Suggest the tags in use."""
    return tag_names(value)


application = mcp.wsgi_app()
