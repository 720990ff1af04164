"""The rules that the protocol has for servers: ID, level, status, and what each says in one line.

IDs: ``S26`` is 2026-07-28, ``T25`` the session era, ``DUAL`` both on one endpoint, ``X26`` optional
extensions, ``T24`` the transport before them, ``Q`` what the specification leaves open, ``W`` what WSGI
brings with it. Levels are the specification's keywords; INFO is a fact, OWN a decision of ours.

The status ``now`` wants a test that names the ID and fails if the rule is broken; every other status is
a key of ``REASONS``. ``python -m tests.spec.coverage`` prints how far that is true.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

__all__ = ["GROUPS", "NOW", "REASONS", "RULES", "Rule"]

NOW = "now"

#: Status -> whether it is for later, for clients only, or dealt with elsewhere; and why.
REASONS: Mapping[str, str] = {
    "author": "documented elsewhere: the application's author decides; see docs/security.rst and docs/questions.rst",
    "client": "client only: clients or authorization servers have to see to it",
    "extensions": "later: no extension is served yet",
    "oauth": "later: tokens are checked by the auth= hook; the rest of OAuth is not there yet",
    "stdio": "later: only HTTP is served yet",
    "tasks": "later: tasks are not there yet, and their methods do not exist",
    "unserved": "documented elsewhere: an optional part that is not served, by choice",
}


class Rule(NamedTuple):
    """One rule."""

    id: str
    level: str
    status: str
    text: str


GROUPS: Mapping[str, str] = {
    "1 Base": """
S26-BASE-01 MUST now messages are JSON-RPC 2.0, written in UTF-8
S26-BASE-02 MUST now a request's id is a string or an integer
S26-BASE-03 MUST now a result has the request's id, of the same JSON type, and is an object
S26-BASE-04 MUST now each result has a resultType, which is "complete" unless it asks for input
S26-BASE-05 MUST now only an advertised extension brings further values of resultType
S26-BASE-06 MUST now an error has the request's id, an integer code and a message; no id if none was readable
S26-BASE-07 SHOULD now the message of an error is one short sentence
S26-BASE-08 MUST now the five codes of JSON-RPC mean what they mean there
S26-BASE-09 MUST now of the codes that MCP reserves only the three assigned ones are sent
S26-BASE-10 MUST now -32002 and -32042 are not sent
S26-BASE-11 SHOULD now -32000...-32019 are avoided; an application's codes lie outside the reserved range
S26-BASE-12 MUST now a notification has no id and gets no response
S26-BASE-13 MUST now a server sends no requests
S26-BASE-14 MUST now without protocolVersion or clientCapabilities in _meta a request is refused: 400, -32602
S26-BASE-15 MUST now a client need not say who it is
S26-BASE-16 SHOULD now what it says of itself decides nothing
S26-BASE-17 MUST now a capability that the client did not declare is not used; one that is needed is -32021
S26-BASE-18 MUST now nothing about a client is remembered from one request to the next
S26-BASE-19 MUST now what spans requests is named by the client in each of them
S26-BASE-20 SHOULD now requests of one conversation may reach different processes, and several take turns
S26-BASE-21 SHOULD now each result names the server in _meta
S26-BASE-22 MUST now own _meta keys are well-formed
S26-BASE-23 MUST now prefixes that belong to MCP are not used for own keys
S26-BASE-24 MUST now unknown values at reserved keys are left alone
S26-BASE-25 MUST now trace keys in _meta hold what W3C says
T25-BASE-01 MUST now JSON-RPC 2.0 in UTF-8, ids strings or integers
T25-BASE-02 MUST now the server's own request ids are not used twice in a session
T25-BASE-03 MUST now a response has a result or an error, never both
T25-BASE-04 INFO now an error may lack an id that could not be read
T25-BASE-05 MUST now notifications are not answered
T25-BASE-06 MUST now 2025-03-26 takes batches
T25-BASE-07 MUST now later revisions take none
T25-BASE-08 MUST now initialize is not accepted inside of a batch
T25-BASE-09 MUST now prefixes that 2025-06-18 reserves are not used either
T25-BASE-10 MUST now ping is answered with an empty result at any time
T25-BASE-11 SHOULD unserved pings of the server are rare and can be set
""",
    "2 Versions and lifecycle": """
S26-VER-01 MUST now another version is -32022 with those that are served and the one that was asked for
S26-VER-02 MUST now server/discover exists
S26-VER-03 MUST now it tells versions, capabilities and cache hints; instructions if there are some
S26-VER-04 MUST now capabilities and methods agree
S26-VER-05 MUST extensions extensions are advertised under a prefixed name
S26-VER-06 MUST now a client without an extension is served as if there were none
S26-VER-07 MUST now no extension is on unless somebody opted in
T25-LIFE-01 MUST now initialize is answered with version, capabilities and serverInfo
T25-LIFE-02 MUST now the client's version if it is served, else the newest of the era
T25-LIFE-03 MUST now what was negotiated is kept to
T25-LIFE-04 SHOULD now nothing but pings and log messages goes out before the client is ready
T25-LIFE-05 SHOULD now requests of the server have a time limit, and are cancelled at it
T25-LIFE-06 MAY now progress may extend that limit up to a maximum
T25-LIFE-07 MUST now each feature that is served is declared
DUAL-01 MUST now the envelope in _meta makes a request modern; initialize without one opens the session era
DUAL-02 MAY now both eras are served at once
DUAL-03 MUST now the era is chosen first, so methods of the session era are 404 in the modern one
DUAL-04 MUST now initialize never agrees to 2026-07-28
DUAL-05 SHOULD now the versions in errors are those of discovery
DUAL-06 MAY now without a version header a request is of 2025-03-26, unless its _meta is modern
DUAL-07 SHOULD now what refuses initialize names the versions
DUAL-08 MUST now an unknown method is a 404 in the modern era only
DUAL-09 SHOULD now the modern era ignores session and event ids, and has no GET or DELETE
DUAL-10 MUST now each payload has the fields and codes of its request's revision
DUAL-11 MUST now a modern 400 carries an error that clients recognise
""",
    "3 Streamable HTTP": """
S26-HTTP-01 MUST now one path takes POSTs
S26-HTTP-02 MUST now a foreign Origin is a 403
S26-HTTP-03 SHOULD now a local server binds to loopback and can ask for credentials
S26-HTTP-04 MUST now a body holds one request or notification
S26-HTTP-05 MUST now a notification is a 202 without a body, or an HTTP error
S26-HTTP-06 MUST now a request is answered in JSON or in a stream
S26-HTTP-07 MUST now what a stream carries belongs to its request
S26-HTTP-08 MUST now no requests on a stream
S26-HTTP-09 SHOULD now the response ends the stream
S26-HTTP-10 SHOULD now proxies are asked not to hold a stream back
S26-HTTP-11 OWN now a silent stream is kept alive by comments
S26-HTTP-12 MUST now a stream cannot be resumed
S26-HTTP-13 MUST now hanging up cancels the request
S26-HTTP-14 MUST now the version header repeats the version in _meta
S26-HTTP-15 MUST now a version that is not served is a 400
S26-HTTP-16 MUST now an unknown method is a 404
S26-HTTP-17 MUST now a refusal is decided before a stream begins
S26-HTTP-18 MUST now Mcp-Method repeats the method
S26-HTTP-19 MUST now Mcp-Name repeats the name or URI
S26-HTTP-20 MUST now header names have no case, values have
S26-HTTP-21 MUST now white space around a value does not count
S26-HTTP-22 MUST now names and parameters may come in marked Base64
S26-HTTP-23 MUST now malformed Base64 is refused; without both markers a value is literal
S26-HTTP-24 MUST now a recognised header holds visible ASCII, spaces and tabs
S26-HTTP-25 MUST now what is wrong with a header is a 400 with -32020 and the request's id
S26-HTTP-26 MUST now a declared parameter header repeats its argument
S26-HTTP-27 MUST now there is none for an argument that is null or absent
S26-HTTP-28 INFO now strings as they are, integers in decimal, booleans as true and false
S26-HTTP-29 SHOULD now integers are compared as numbers
S26-HTTP-30 MUST now the argument is found by the properties that lead to it
S26-HTTP-31 MUST now parameter headers that nobody declared are ignored
S26-HTTP-32 MUST now their names are tokens, unique without case
S26-HTTP-33 MUST now they are for strings, booleans and integers that every client can count
S26-HTTP-34 MUST now they stand where only properties lead
S26-HTTP-35 SHOULD author they do not repeat secrets
S26-HTTP-36 MUST now access is not decided by headers
S26-HTTP-37 SHOULD now no session ids, and 405 for GET and DELETE
T25-HTTP-01 MUST now one path for POST and GET
T25-HTTP-02 MUST now a foreign Origin is a 403
T25-HTTP-03 SHOULD now a local server binds to loopback and can ask for credentials
T25-HTTP-04 MUST now a body holds one message; in 2025-03-26 also a batch
T25-HTTP-05 MUST now notifications and responses are a 202 without a body, or an HTTP error
T25-HTTP-06 MUST now a request is answered in JSON or in a stream
T25-HTTP-07 SHOULD now a stream carries a response for each request, and then ends
T25-HTTP-08 SHOULD now it does not end before
T25-HTTP-09 MAY now notifications come before the response
T25-HTTP-10 SHOULD now hanging up is no cancellation
T25-HTTP-11 MUST now GET opens a stream, or is a 405
T25-HTTP-12 SHOULD now a GET stream has nothing of running requests, and no responses
T25-HTTP-13 MUST now each message goes to one stream
T25-HTTP-14 SHOULD now 2025-11-25: a stream opens with an event that only has an id
T25-HTTP-15 MAY now 2025-11-25: the connection may be closed for the client to poll
T25-HTTP-16 MUST now event ids are unique in a session
T25-HTTP-17 MAY now a GET with Last-Event-ID replays its own stream only
T25-HTTP-18 MUST now a version header that is not served is a 400
T25-HTTP-19 SHOULD now without one a request is of 2025-03-26
T25-HTTP-20 INFO now the header of initialize does not count
T25-SESS-01 MAY now initialize may assign a session id
T25-SESS-02 MUST now an id is visible ASCII, unique and hard to guess
T25-SESS-03 SHOULD now a missing id is a 400
T25-SESS-04 MUST now an ended or unknown session is a 404
T25-SESS-05 MAY now DELETE ends a session, or is a 405
T25-SESS-06 MUST now a session is no authentication
T25-SESS-07 MUST now ids are random and bound to their user
S26-STDIO-01 MUST stdio one message on a line, and nothing else on stdout
S26-STDIO-02 MUST stdio no requests on stdout
S26-STDIO-03 MUST stdio nothing more for a cancelled request
S26-STDIO-04 SHOULD stdio the end of stdin ends the server
S26-STDIO-05 SHOULD stdio credentials come from the environment
S26-STDIO-06 MUST stdio a process is no conversation
T25-STDIO-01 MUST stdio one message on a line; in 2025-03-26 also a batch
T25-STDIO-02 MAY stdio a server may end by closing stdout
""",
    "4 Change notices": """
S26-SUB-01 MUST now only what the filter asked for is sent
S26-SUB-02 MUST now the acknowledgment comes first
S26-SUB-03 MUST now and names what will be honoured
S26-SUB-04 MUST now every message names the subscription
S26-SUB-05 MUST now a client may have several subscriptions
S26-SUB-06 MUST now the filter is required
S26-SUB-07 MUST now updates are of the resources asked for
S26-SUB-08 MUST now neither progress nor logs on that stream
S26-SUB-09 SHOULD now it ends with a result
S26-SUB-10 MUST stdio on stdio its end is announced by a cancel
S26-SUB-11 MUST now a lost connection keeps no subscription
S26-SUB-12 SHOULD now a change that was declared is told
S26-SUB-13 MUST now over HTTP the answer is always a stream
T25-SUB-01 MUST now subscribe and unsubscribe are answered with an empty result
T25-SUB-02 SHOULD now updates only for what was subscribed to
T25-SUB-03 SHOULD now a declared listChanged is told to everybody
""",
    "5 Progress and cancellation": """
S26-PROG-01 MUST now only for a token of a running request, on its own stream
S26-PROG-02 MUST now a token is a string or an integer, and comes back as it was
S26-PROG-03 MUST now progress increases; total and message are optional
S26-PROG-04 MUST now it ends with the request, and its rate is bounded
S26-CAN-01 MUST now a cancel that is late, unknown or malformed does no harm
S26-CAN-02 SHOULD now a cancelled call stops and sends nothing
T25-PROG-01 MUST now the same in the session era
T25-CAN-01 MUST now a cancel reaches only the sender's own requests
T25-CAN-02 SHOULD now a cancel is taken in, and never applies to initialize
T25-CAN-03 MUST tasks 2025-11-25: tasks have a cancel of their own
""",
    "6 Multi round-trip requests": """
S26-MRTR-01 MUST now input is asked for by a result, never by a request
S26-MRTR-02 MUST now only in calls, reads and prompts
S26-MRTR-03 MUST now with questions, a state, or both
S26-MRTR-04 MUST now questions have keys that are unique in their request
S26-MRTR-05 MUST now only kinds that the client declared on this request
S26-MRTR-06 MUST now a state that comes back is hostile until checked
S26-MRTR-07 MUST now it is sealed, and refused if the seal is broken
S26-MRTR-08 SHOULD now the seal binds caller, time, method and parameters
S26-MRTR-09 MUST now single use is enforced where it matters
S26-MRTR-10 MUST now a retry may never come
S26-MRTR-11 MUST now a retry is a new request, linked by nothing else
S26-MRTR-12 SHOULD now malformed answers are an error
S26-MRTR-13 SHOULD now unknown keys are ignored, missing ones asked again
S26-MRTR-14 INFO now answers are bare results under the same keys
S26-MRTR-15 MUST now no cache hints on such a result
""",
    "7 Caching and pagination": """
S26-CACHE-01 MUST now six methods have cache hints
S26-CACHE-02 MUST now a whole number of milliseconds; public or private
S26-CACHE-03 MUST now all pages of a list have one scope
S26-CACHE-04 MUST now what depends on the caller is private
S26-CACHE-05 MUST now access control does not lean on hints
S26-PAGE-01 MUST now cursors are the server's own; the empty text is one, too
S26-PAGE-02 SHOULD now cursors are stable; a bad one is -32602
S26-PAGE-03 INFO now four lists have pages; the last has no nextCursor
T25-PAGE-01 SHOULD now the same in the session era
""",
    "8 Tools": """
S26-TOOL-01 MUST now tools are declared, and their list is answered
S26-TOOL-02 MUST now the list does not depend on the connection or on other requests
S26-TOOL-03 SHOULD now it has one order
S26-TOOL-04 SHOULD now names are short, of a small alphabet, and unique
S26-TOOL-05 MUST now an input schema is of an object
S26-TOOL-06 MUST now keywords of a schema arrive as they were written
S26-TOOL-07 MUST now structured content conforms to the output schema
S26-TOOL-08 SHOULD now and is repeated as text
S26-TOOL-09 MUST now always so for lists and plain values
S26-TOOL-10 SHOULD now an unknown tool or malformed call is -32602
S26-TOOL-11 SHOULD now failures and wrong arguments are results that say so
S26-TOOL-12 SHOULD now linked resources need not be listed
S26-TOOL-13 MUST now images and sounds are Base64 with a type
S26-TOOL-14 INFO now hints have defaults, and titles an order
S26-TOOL-15 MUST now inputs are checked, access and rate controlled, outputs clean
T25-TOOL-01 MUST now the same in the session era
T25-TOOL-02 SHOULD now wrong arguments are results that say so; an unknown tool is -32602
T25-TOOL-03 MUST now structured content is an object that conforms; 2025-03-26 has none
T25-TOOL-04 INFO now 2025-03-26 has no links and no titles
T25-TOOL-05 SHOULD now names as in the modern era
T25-TOOL-06 MUST now results that are no objects are told in text
""",
    "9 Resources": """
S26-RES-01 MUST now resources are declared, without options that are not served
S26-RES-02 MUST now their list is answered, and varies as little as that of tools
S26-RES-03 MUST now an unknown resource is -32602 with its URI, never empty contents
S26-RES-04 SHOULD now a failure is -32603
S26-RES-05 MAY now a read may have several contents
S26-RES-06 MUST now each has a uri and text, or Base64 if it is no text
S26-RES-07 INFO now what resources and templates consist of
S26-RES-08 INFO now what annotations consist of
S26-RES-09 SHOULD author https URIs are for what clients can fetch themselves
S26-RES-10 MUST now own schemes follow RFC 3986
S26-RES-11 MUST now URIs are checked, paths stay inside, permission comes first
T25-RES-01 MUST now resources are declared
T25-RES-02 SHOULD now an unknown resource is -32002 with its URI, a failure -32603
T25-RES-03 MUST now URIs are checked, bytes are encoded
T25-RES-04 INFO now the list of templates has pages, too
""",
    "10 Prompts and completion": """
S26-PRM-01 MUST now prompts are declared and listed
S26-PRM-02 SHOULD now unknown prompts and missing arguments are -32602, failures -32603
S26-PRM-03 INFO now arguments are strings; a message has a role and one block
S26-PRM-04 MUST now blocks have their data and types
S26-PRM-05 MUST now what goes in and out is checked
T25-PRM-01 MUST now the same in the session era; 2025-03-26 has no links
S26-COMP-01 MUST now completions are declared, or do not exist
S26-COMP-02 MUST now at most 100 values, in the order of relevance
S26-COMP-03 INFO now by prompt or resource, with what is resolved already
S26-COMP-04 SHOULD now unknown prompts and arguments are -32602, failures -32603
S26-COMP-05 MUST now inputs are checked, the rate is limited, nothing hidden is suggested
T25-COMP-01 MUST now the same in the session era; context came with 2025-06-18
""",
    "11 Logging": """
S26-LOG-01 MUST now logging is declared where messages may be sent
S26-LOG-02 MUST now none for a request that did not ask
S26-LOG-03 MUST now only on that request's stream, at its level or above
S26-LOG-04 SHOULD now an unknown level is -32602
S26-LOG-05 MUST now no internals in messages, and a bounded rate
T25-LOG-01 MUST now logging is declared, and logging/setLevel answered with an empty result
T25-LOG-02 SHOULD now a bad level is -32602; before it is set the server chooses
T25-LOG-03 MUST now no secrets; eight levels
""",
    "12 Elicitation, sampling, roots": """
S26-ELI-01 MUST now only modes that the client declared
S26-ELI-02 MUST now a form has a schema, a link a URL
S26-ELI-03 MUST now forms are flat
S26-ELI-04 INFO now what fields there are
S26-ELI-05 MUST now accept, decline, cancel and silence are all handled
S26-ELI-06 MUST author secrets are not asked for by a form
S26-ELI-07 SHOULD now what comes back is checked
S26-ELI-08 MUST now a question is bound to its client and user
S26-ELI-09 MUST author links carry no user data
S26-ELI-10 MUST author who opens a link is who was asked
S26-ELI-11 MUST author links do not stand in for authorization
T25-ELI-01 MUST now only to clients that declared it; 2025-03-26 has none
T25-ELI-02 MUST now 2025-06-18 has forms only, and simpler ones
T25-ELI-03 MUST now 2025-11-25: a link has an id
T25-ELI-04 MAY now 2025-11-25: -32042 for what waits for a link
T25-ELI-05 MAY now 2025-11-25: completion is told to who asked
T25-ELI-06 MUST now 2025-11-25: its state hangs on more than the session id
S26-SMP-01 MUST now tools and context only where the client declared them
S26-SMP-02 MUST now maxTokens and messages are there
S26-SMP-03 MUST now each use of a tool is followed by its result
S26-SMP-04 SHOULD author loops are bounded, messages not kept
T25-SMP-01 MUST now only to clients that declared it, one block before 2025-11-25
S26-ROOT-01 SHOULD now paths stay within roots, which may go away
T25-ROOT-01 SHOULD now roots are asked for again when they change
""",
    "13 Tasks": """
T25-TASK-01 MUST tasks 2025-11-25: tasks are declared by request type
T25-TASK-02 MUST tasks a tool says whether it may or must be a task
T25-TASK-03 MUST tasks an accepted task is answered at once
T25-TASK-04 MUST tasks its id is the server's, and hard to guess
T25-TASK-05 MUST tasks its status moves along fixed ways
T25-TASK-06 MUST tasks it has times and a lifetime
T25-TASK-07 MUST tasks its result is what the request would have had
T25-TASK-08 MUST tasks related messages name it
T25-TASK-09 SHOULD tasks it may need input
T25-TASK-10 MUST tasks one that ended cannot be cancelled
T25-TASK-11 MUST tasks unknown ids and cursors are -32602
T25-TASK-12 SHOULD tasks a failed tool fails its task
T25-TASK-13 MUST tasks it is bound to its caller
T25-TASK-14 SHOULD tasks lifetime, number and rate are limited
X26-TASK-01 MUST tasks only for requests that declared the extension
X26-TASK-02 MUST tasks only tools become tasks, and the server decides
X26-TASK-03 MUST tasks the answer that creates one is flat
X26-TASK-04 MUST tasks it can be looked up at once
X26-TASK-05 SHOULD tasks questions come before it
X26-TASK-06 MUST tasks looking it up tells what its status needs
X26-TASK-07 MUST tasks it fails by protocol errors only
X26-TASK-08 MUST tasks keys of questions are not used twice
X26-TASK-09 MUST tasks answers are taken in with an empty result
X26-TASK-10 MUST tasks so is a cancel
X26-TASK-11 MUST tasks an unknown id is -32602
X26-TASK-12 MUST tasks without the extension its methods are -32021
X26-TASK-13 MUST tasks Mcp-Name repeats the task's id
X26-TASK-14 MAY tasks its changes may be listened to
X26-TASK-15 MUST tasks ids are hard to guess, and each request is authorized
X26-TASK-16 MUST tasks the two kinds of tasks do not mix
""",
    "14 Icons": """
S26-ICON-01 INFO now what an icon consists of, and who has some
T25-ICON-01 INFO now they came with 2025-11-25
S26-ICON-02 SHOULD now of a scheme that clients accept
""",
    "15 Authorization": """
S26-AUTH-01 SHOULD oauth HTTP servers follow what is below
S26-AUTH-02 MUST oauth the metadata of the resource is published
S26-AUTH-03 MUST oauth and can be found
S26-AUTH-04 MUST oauth at its well-known place
S26-AUTH-05 MUST oauth with the identifier that clients use
S26-AUTH-06 MUST oauth no or a bad token is a 401 with a Bearer challenge
S26-AUTH-07 SHOULD oauth the challenge names scopes
S26-AUTH-08 SHOULD oauth too little scope is a 403 that names what is needed
S26-AUTH-09 MUST oauth a malformed authorization request is a 400
S26-AUTH-10 MUST oauth tokens are validated, and are for this server
S26-AUTH-11 MUST oauth never out of the query, never passed on
S26-AUTH-12 MUST oauth a broad scope implies the narrow
S26-AUTH-13 SHOULD oauth offline access is not asked for
S26-AUTH-14 MUST now each request is authorized by itself
S26-AUTH-15 SHOULD oauth identifiers are compared without case where they have none
T25-AUTH-01 MUST oauth the same in 2025-06-18 and 2025-11-25
T25-AUTH-02 SHOULD oauth 2025-11-25: a challenge repeats granted scopes
T25-AUTH-03 MUST oauth 2025-03-26: 401, and metadata at the host's root
X26-CC-01 MAY oauth client credentials may be advertised
""",
    "16 HTTP+SSE of 2024-11-05": """
T24-SSE-01 SHOULD now a new server does not adopt it
T24-SSE-02 MUST unserved it has two endpoints
T24-SSE-03 MUST unserved which check the Origin
T24-SSE-04 INFO unserved how clients look for it
""",
    "17 JSON Schema": """
S26-JSON-01 MUST now a schema without a dialect is of 2020-12
S26-JSON-02 MUST now a declared dialect validates; an unsupported one is refused
S26-JSON-03 MUST now own schemas are valid
S26-JSON-04 MUST now references into the network are not fetched
S26-JSON-05 SHOULD now a reference to nothing is refused
S26-JSON-06 SHOULD now depth and size are bounded
T25-JSON-01 INFO now earlier revisions name no dialect
""",
    "18 Security": """
S26-SEC-01 MUST now holding a handle is no authentication
S26-SEC-02 MUST oauth tokens for others are not accepted
S26-SEC-03 SHOULD now local servers look at Host and Origin
S26-SEC-04 MUST client proxies with one client id ask for consent
S26-SEC-05 SHOULD oauth scopes are precise
""",
    "19 Other extensions": """
X26-UI-01 MUST extensions UI resources are HTML of a profile
X26-UI-02 MUST extensions a tool names its UI
X26-UI-03 MUST extensions there is content without UI, too
X26-UI-04 INFO extensions where its settings stand
X26-SKILL-01 MUST extensions skills are listed and read
X26-SKILL-02 MUST extensions their files are resources
X26-SKILL-03 MUST extensions each one that is served can be read
""",
    "20 What is left open": """
Q-01 OWN now an error about an unreadable id has none
Q-02 OWN now how a listen stream ends
Q-03 OWN now the order in which a modern request is checked
Q-04 OWN now a malformed call is -32602, wrong arguments are a result
Q-05 OWN now the HTTP status of errors that have none assigned
Q-06 OWN now a wrong Accept is a 406 only if nothing fits, a wrong Content-Type a 415
Q-07 OWN now a modern envelope with a session version is -32022; initialize with a modern header -32602
Q-08 OWN tasks where the text and the examples of tasks differ
Q-09 OWN now parameter headers may be nested, and their code is -32020
Q-10 OWN now the server is named in _meta, not in the body of discovery
Q-11 OWN now a batch without a version header is of 2025-03-26
Q-12 OWN now notifications need no Mcp-Method
""",
    "21 What WSGI brings": """
W-01 OWN now repeated headers come joined, and match nothing then; no header of ours has an underscore
W-02 OWN now header text is Latin-1; what is no plain ASCII is refused before decoding
W-03 OWN now a disconnect shows as the close of the body
W-04 OWN now status and headers are fixed before the first byte, and none is hop-by-hop
W-05 OWN oauth well-known paths lie outside of the mount
W-06 OWN now sync workers hold no streams
W-07 OWN now processes share a key, or each has its own cursors
W-08 OWN now a body is bounded before it is read, whatever its length claims
""",
}


def _rules() -> Iterator[tuple[str, tuple[Rule, ...]]]:
    for group, lines in GROUPS.items():
        yield group, tuple(Rule(*line.split(" ", 3)) for line in lines.strip().splitlines())


#: Group -> its rules, in order.
RULES: Mapping[str, tuple[Rule, ...]] = dict(_rules())
