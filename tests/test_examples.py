"""The examples, in both eras: every tool, resource, template, prompt and completion."""

from __future__ import annotations

import json
import runpy
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from examples import everything, notes
from mcp_wsgi.errors import OptionError
from mcp_wsgi.revisions import MODERN
from mcp_wsgi.server import MCPServer
from mcp_wsgi.testing import Client, ProtocolError, ToolReply
from tests.recorder import Checked

ERAS = ("2026-07-28", "2025-11-25")


def connect(server: MCPServer, revision: str) -> Client:
    """A client whose every message is judged."""
    return Client(Checked(server.wsgi_app(workers="inline")), revision=revision)


# --- notes ----------------------------------------------------------------------------------------


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "notes.sqlite3"
    monkeypatch.setenv("NOTES_DB", str(file))
    return file


@pytest.fixture(params=ERAS)
def notebook(request: pytest.FixtureRequest, database: Path) -> Iterator[Client]:
    """A client of an empty notebook."""
    with connect(notes.mcp, request.param) as client:
        yield client


@pytest.fixture
def filled(notebook: Client) -> Client:
    """A client of a notebook with three notes."""
    add(notebook, "Tea", "Buy green tea.", "shopping")
    add(notebook, "Bread", "Bake 100% rye bread.", "shopping", "kitchen")
    add(notebook, "Poem", "A line,\nanother line.")
    return notebook


def add(client: Client, title: str, text: str, *tags: str) -> dict[str, Any]:
    reply = client.call_tool("add_note", title=title, text=text, tags=list(tags))
    assert not reply.is_error, reply.text
    note: dict[str, Any] = reply.structured
    return note


def titles(reply: ToolReply) -> list[str]:
    """The titles of notes; a list has no structured form in the session era, but its text is always there."""
    return [note["title"] for note in json.loads(reply.text)]


def test_notes_lists_what_it_has(notebook: Client) -> None:
    assert notebook.list_tools().names == ["add_note", "search_notes", "delete_note", "import_notes", "stats"]
    assert [item["uri"] for item in notebook.list_resources()] == ["notes://index"]
    assert [item["uriTemplate"] for item in notebook.list_resource_templates()] == [
        "notes://{note_id}",
        "notes://tag/{tag}{?limit}",
    ]
    assert notebook.list_prompts().names == ["summarise"]
    assert [argument["name"] for argument in notebook.list_prompts()["summarise"]["arguments"]] == ["tag", "length"]


def test_every_argument_of_notes_is_described(notebook: Client) -> None:
    for tool in notebook.list_tools():
        assert tool["description"]
    properties = notebook.list_tools()["search_notes"]["inputSchema"]["properties"]
    assert properties["words"]["description"].startswith("Text that")
    assert properties["limit"] == {
        "type": "integer",
        "minimum": 1,
        "maximum": 100,
        "default": 20,
        "description": "At most so many.",
    }


def test_a_note_is_written_and_found(notebook: Client) -> None:
    note = add(notebook, "Tea", "Buy green tea.", "shopping", "kitchen", "shopping")
    assert (note["id"], note["title"], note["tags"]) == (1, "Tea", ["kitchen", "shopping"])
    assert titles(notebook.call_tool("search_notes", words="GREEN")) == ["Tea"]


def test_notes_are_searched_by_words_tag_and_limit(filled: Client) -> None:
    assert titles(filled.call_tool("search_notes")) == ["Poem", "Bread", "Tea"]
    assert titles(filled.call_tool("search_notes", limit=1)) == ["Poem"]
    assert titles(filled.call_tool("search_notes", tag="shopping", words="tea")) == ["Tea"]
    assert titles(filled.call_tool("search_notes", words="100%")) == ["Bread"]
    assert titles(filled.call_tool("search_notes", words="%")) == ["Bread"]
    assert titles(filled.call_tool("search_notes", words="nothing of the kind")) == []


def test_arguments_that_do_not_fit_are_told_at_once(notebook: Client) -> None:
    reply = notebook.call_tool("add_note", title="", text="x", tags=["Upper Case"])
    assert reply.is_error
    assert "title" in reply.text
    assert "tags[0]" in reply.text


def test_a_note_is_deleted_with_its_tags(filled: Client, database: Path) -> None:
    assert filled.call_tool("delete_note", note_id=1).text == "Deleted note 1."
    assert titles(filled.call_tool("search_notes")) == ["Poem", "Bread"]
    with sqlite3.connect(database) as db:
        assert db.execute("SELECT count(*) FROM tag WHERE note_id = 1").fetchone() == (0,)
    db.close()


def test_deleting_what_is_not_there_tells_the_model(filled: Client) -> None:
    reply = filled.call_tool("delete_note", note_id=99)
    assert reply.is_error
    assert reply.text == "There is no note 99; search_notes tells which there are."


def test_an_import_reports_its_progress(notebook: Client) -> None:
    new = [{"title": f"Note {n}", "text": "x", "tags": ["import"]} for n in range(3)]
    reply = notebook.call_tool("import_notes", notes=new, progress_token="p")
    assert reply.text == "Imported 3 notes."
    assert [(report.progress, report.total) for report in reply.progress] == [(1, 3), (2, 3), (3, 3)]
    assert titles(notebook.call_tool("search_notes", tag="import")) == ["Note 2", "Note 1", "Note 0"]


def test_the_application_s_own_log_reaches_the_client(filled: Client) -> None:
    reply = filled.call_tool("delete_note", note_id=1, log_level="info" if filled.revision in MODERN else None)
    assert [(entry.level, entry.data, entry.logger) for entry in reply.logs] == [("info", "deleted note 1", "notes")]


def test_statistics_are_structured(filled: Client) -> None:
    assert filled.call_tool("stats").structured == {"notes": 3, "words": 11, "tags": {"kitchen": 1, "shopping": 2}}


def test_the_index_names_every_note(filled: Client) -> None:
    reply = filled.read_resource("notes://index")
    assert reply.contents[0]["mimeType"] == "application/json"
    assert [entry["uri"] for entry in json.loads(reply.text)] == ["notes://3", "notes://2", "notes://1"]


def test_notes_are_read_by_number_and_by_tag(filled: Client) -> None:
    assert filled.read_resource("notes://2").text == "# Bread\n\nBake 100% rye bread.\n\n#kitchen #shopping"
    assert filled.read_resource("notes://3").text == "# Poem\n\nA line,\nanother line."
    assert filled.read_resource("notes://tag/shopping?limit=1").text.startswith("# Bread")
    assert filled.read_resource("notes://tag/shopping").text.count("\n# ") == 1


@pytest.mark.parametrize("uri", ["notes://9", "notes://nine", "notes://tag/No Tag", "notes://tag/x?limit=0", "a://b"])
def test_what_is_no_note_is_not_found(filled: Client, uri: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        filled.read_resource(uri)
    assert caught.value.code == filled.revision.not_found_code


def test_a_prompt_carries_the_notes(filled: Client) -> None:
    notes_sent, question = filled.get_prompt("summarise", tag="shopping", length="full").messages
    assert "green tea" in notes_sent["content"]["resource"]["text"]
    assert question["content"]["text"] == "Sum up these notes in one page."
    assert "one paragraph" in filled.get_prompt("summarise", tag="shopping").text


def test_tags_and_lengths_are_completed(filled: Client) -> None:
    assert filled.complete("summarise", "tag", "").values == ["shopping", "kitchen"]
    assert filled.complete("notes://tag/{tag}{?limit}", "tag", "k").values == ["kitchen"]
    assert filled.complete("summarise", "length", "f").values == ["full"]


def test_calls_in_many_threads_do_not_get_in_each_other_s_way(database: Path) -> None:
    application = notes.mcp.wsgi_app(workers="threads")
    new = [{"title": f"Note {n}", "text": "x"} for n in range(5)]
    failures: list[Any] = []

    def work() -> None:
        reply = Client(application).call_tool("import_notes", notes=new, progress_token="p")
        if reply.is_error:
            failures.append(reply.text)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert Client(application).call_tool("stats").structured["notes"] == 20


# --- everything -----------------------------------------------------------------------------------


@pytest.fixture(params=ERAS)
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    """A client of the server with everything."""
    with connect(everything.mcp, request.param) as client:
        yield client


def test_everything_lists_what_it_has(client: Client) -> None:
    assert client.list_tools().names == [
        "test_simple_text",
        "test_image_content",
        "test_audio_content",
        "test_embedded_resource",
        "test_multiple_content_types",
        "test_error_handling",
        "test_tool_with_progress",
        "test_tool_with_logging",
        "test_reconnection",
        "test_logging_tool",
        "test_x_mcp_header",
        "json_schema_2020_12_tool",
        "test_trigger_tool_change",
        "test_trigger_prompt_change",
        "test_elicitation",
        "test_sampling",
        "test_elicitation_sep1034_defaults",
        "test_elicitation_sep1330_enums",
        "test_missing_capability",
        "test_streaming_elicitation",
        "test_input_required_result_elicitation",
        "test_input_required_result_sampling",
        "test_input_required_result_list_roots",
        "test_input_required_result_request_state",
        "test_input_required_result_multiple_inputs",
        "test_input_required_result_multi_round",
        "test_input_required_result_tampered_state",
        "test_input_required_result_capabilities",
    ]
    assert [item["uri"] for item in client.list_resources()] == [
        "test://static-text",
        "test://watched-resource",
        "test://static-binary",
    ]
    assert [item["uriTemplate"] for item in client.list_resource_templates()] == ["test://template/{id}/data"]
    assert client.list_prompts().names == [
        "test_input_required_result_prompt",
        "test_simple_prompt",
        "test_prompt_with_arguments",
        "test_prompt_with_embedded_resource",
        "test_prompt_with_image",
    ]
    listed = [*client.list_tools(), *client.list_resources(), *client.list_resource_templates(), *client.list_prompts()]
    assert all(item["description"] for item in listed)


@pytest.mark.parametrize(
    ("tool", "kinds"),
    [
        ("test_simple_text", ["text"]),
        ("test_image_content", ["image"]),
        ("test_audio_content", ["audio"]),
        ("test_embedded_resource", ["resource"]),
        ("test_multiple_content_types", ["text", "image", "resource"]),
    ],
)
def test_each_kind_of_content_is_there(client: Client, tool: str, kinds: list[str]) -> None:
    reply = client.call_tool(tool)
    assert [block["type"] for block in reply.content] == kinds
    mime_types = {block["type"]: block.get("mimeType") for block in reply.content}
    assert mime_types.get("image", "image/png") == "image/png"
    assert mime_types.get("audio", "audio/wav") == "audio/wav"


def test_the_first_tool_takes_no_arguments(client: Client) -> None:
    """The suite calls it without any to look at the header rules."""
    assert not client.call_tool(client.list_tools()[0]["name"]).is_error


def test_an_error_is_told_in_band(client: Client) -> None:
    reply = client.call_tool("test_error_handling")
    assert reply.is_error
    assert reply.text


def test_progress_is_0_50_100(client: Client) -> None:
    reply = client.call_tool("test_tool_with_progress", progress_token="progress-test-1")
    assert [(r.progress, r.total, r.token) for r in reply.progress] == [
        (progress, 100, "progress-test-1") for progress in (0, 50, 100)
    ]


def test_logs_come_at_the_level_that_was_asked_for(client: Client) -> None:
    modern = client.revision in MODERN
    reply = client.call_tool("test_tool_with_logging", log_level="info" if modern else None)
    assert [entry.level for entry in reply.logs] == ["info"] * 3
    reply = client.call_tool("test_logging_tool", log_level="warning" if modern else None)
    assert [entry.level for entry in reply.logs] == (["warning", "error"] if modern else ["info", "warning", "error"])


def test_the_hand_written_schema_arrives_whole(client: Client) -> None:
    schema = client.list_tools()["json_schema_2020_12_tool"]["inputSchema"]
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$defs"]["address"]["$anchor"] == "addressDef"
    assert "anyOf" in schema["allOf"][0]
    assert {"if", "then", "else"} <= schema.keys()
    assert schema["additionalProperties"] is False


def test_the_hand_written_schema_is_kept_to(client: Client) -> None:
    person = {"name": "Ann", "contactMethod": "phone", "phone": "1"}
    assert json.loads(client.call_tool("json_schema_2020_12_tool", person).text) == person
    assert client.call_tool("json_schema_2020_12_tool", {**person, "phone": 1}).is_error
    assert client.call_tool("json_schema_2020_12_tool", {"contactMethod": "phone", "email": "a@b.c"}).is_error


def test_an_argument_is_repeated_in_a_header(client: Client) -> None:
    properties = client.list_tools()["test_x_mcp_header"]["inputSchema"]["properties"]
    assert properties["region"]["x-mcp-header"] == "Region"
    assert client.call_tool("test_x_mcp_header", region="eu").text == "Region: eu"
    assert client.call_tool("test_x_mcp_header").text == "Region: none"


def test_resources_are_text_bytes_and_data(client: Client) -> None:
    text = client.read_resource("test://static-text")
    assert (text.contents[0]["mimeType"], bool(text.text)) == ("text/plain", True)
    binary = client.read_resource("test://static-binary")
    assert (binary.contents[0]["mimeType"], binary.blob) == ("image/png", everything.PNG)
    assert json.loads(client.read_resource("test://template/123/data").text)["id"] == "123"


def test_prompts_are_text_a_resource_and_a_picture(client: Client) -> None:
    assert client.get_prompt("test_simple_prompt").text
    text = client.get_prompt("test_prompt_with_arguments", arg1="first", arg2="second").text
    assert "first" in text
    assert "second" in text
    embedded = client.get_prompt("test_prompt_with_embedded_resource", resourceUri="test://example").messages[0]
    assert embedded["content"]["resource"]["uri"] == "test://example"
    assert client.get_prompt("test_prompt_with_image").messages[0]["content"]["mimeType"] == "image/png"


def test_an_argument_is_completed(client: Client) -> None:
    assert client.complete("test_prompt_with_arguments", "arg1", "li").values == ["Lima", "Lisbon"]
    assert client.complete("test_prompt_with_arguments", "arg2", "li").values == []


# --- the options of everything --------------------------------------------------------------------


def application(monkeypatch: pytest.MonkeyPatch, **environment: str) -> Any:
    """The application as the file makes it under an environment."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return runpy.run_path(everything.__file__)["application"]


def test_the_environment_chooses_the_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    assert application(monkeypatch).options.sessions is True
    assert application(monkeypatch, EVERYTHING_SESSIONS="auto").options.sessions == "auto"
    assert application(monkeypatch, EVERYTHING_SESSIONS="false").options.sessions is False


def test_the_environment_is_passed_on_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be served is refused by the option's own check."""
    assert application(monkeypatch, EVERYTHING_SESSIONS="true").options.sessions is True
    monkeypatch.delenv("EVERYTHING_SESSIONS")
    with pytest.raises(OptionError, match="store"):
        application(monkeypatch, EVERYTHING_STORE="memory://")


def test_an_unknown_word_in_the_environment_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="EVERYTHING_SESSIONS takes auto, true, false, not 'yes'"):
        application(monkeypatch, EVERYTHING_SESSIONS="yes")


@pytest.mark.parametrize(
    ("tool", "wanted", "method"),
    [
        ("test_trigger_tool_change", "toolsListChanged", "notifications/tools/list_changed"),
        ("test_trigger_prompt_change", "promptsListChanged", "notifications/prompts/list_changed"),
    ],
)
def test_everything_tells_of_its_changes(tool: str, wanted: str, method: str) -> None:
    app = everything.mcp.wsgi_app(workers="threads")
    with Client(app).stream("subscriptions/listen", {"notifications": {wanted: True}}) as stream:
        assert next(stream)["method"] == "notifications/subscriptions/acknowledged"
        assert not Client(app).call_tool(tool).is_error
        assert next(stream)["method"] == method
