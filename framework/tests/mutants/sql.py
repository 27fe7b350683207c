"""Mistakes in SQL with Jinja: tokens are lost, doubled, swapped and mistyped, clauses and blocks are left open."""

from __future__ import annotations

import re
from random import Random

_TOKEN = re.compile(
    r"(?P<jinja>\{[{%#][-+]?.*?[-+]?[}%#]\})|(?P<comment>--[^\n]*)|(?P<string>'(?:[^'\\]|\\.|'')*')"
    r"|(?P<word>[A-Za-z_]\w*)|(?P<number>\d+(?:\.\d+)?)|(?P<sign><=|>=|<>|->|\|\||[^\s\w])",
    re.DOTALL,
)
_CLAUSES = (
    "select",
    "from",
    "where",
    "group by",
    "having",
    "join",
    "on",
    "as",
    "case",
    "when",
    "then",
    "end",
    "with",
)
_ODD = [
    "9" * 25, "null", "''", "'x'", "1 / 0", "cast('x' as int)", "count(*)", "sum(1)", "nofunction(1)", "*", "x.*", "(select 1)",
    "explode(array(1))", "current_timestamp()", "window.start", "row_number() over ()", "$1", "?", ":p", "`open", '"x"', "@x", "/* open",
    "interval 1 day", "array[1]", "a -> a", "exists (select 1)", "x'zz'", "1e999", "cast(1 as nothing)", "case when true then 1 end",
    "sel\u0435ct", "\u00a0", "\u200b", "\x07", "é", "; select 1", "-- ", "(" * 60 + "1" + ")" * 60, "(" * 400 + "1", "1" + " + 1" * 300,
    "struct(1 as a).a", "lag(1) over (order by 1)", "lateral view explode(array(1)) t", "in ()", "between", "not", "rand()",
]  # fmt: skip
_JINJA = [
    "{{ nothing }}", "{{ nothing.more }}", "{{ ref('nothing') }}", "{{ ref() }}", "{{ ref(1) }}", "{{ ref(ref) }}", "{{ source('a') }}",
    "{{ source('a', 'b') }}", "{{ source(", "{% if true %}", "{% endif %}", "{% for x in 5 %}{{ x }}{% endfor %}",
    "{% for x in range(10 ** 9) %}x{% endfor %}", "{{ 'x' * 10 ** 10 }}", "{{ 1 / 0 }}", "{{ var('nothing') }}", "{{ env_var('HOME') }}",
    "{{ config(nothing=1) }}", "{{ config(materialized='nothing') }}", "{{ config(materialized=1) }}", "{{ config(unique_key=[[]]) }}",
    "{{ config(materialized='table') }}", "{{ config(tags=5) }}", "{{ config(enabled=false) }}", "{{ ''.__class__ }}", "{{ self }}",
    "{{ loop.index }}", "{% include 'x' %}", "{% import 'x' as y %}", "{% macro m() %}{% endmacro %}", "{% set x = [] %}{{ x[5] }}",
    "{% raw %}", "{#", "{{", "}}", "%}", "{{ x|nofilter }}", "{{ 5 is notest }}", "{{ caller() }}", "{% call %}", "{% block b %}{% endblock %}",
    "{{ this }}", "{{ [1,2]|join(3) }}", "{{ namespace(a=1).b }}", "{{ range(3)|list|pprint }}", "{{ dict(a=1).items() }}", "{% do 1 %}",
    "{{ exceptions.raise_compiler_error('x') }}", "{{ ref | pprint }}", "{% set ref = 1 %}", "{% set source = none %}",
]  # fmt: skip


def sql(text: str, random: Random) -> tuple[str, str]:
    """Return the name of a mistake, and the text with it."""
    if "{" in text and random.random() < 0.25:
        return _jinja(text, random)
    mutate = random.choice(
        [_lost, _lost, _twice, _swapped, _typo, _typo, _other, _odd, _odd, _clause, _line, _quote, _cut]
    )
    return mutate(text, random)


def _tokens(text: str) -> list[re.Match[str]]:
    return [token for token in _TOKEN.finditer(text) if token.lastgroup != "comment"]


def _words(text: str) -> list[re.Match[str]]:
    """Return the words; all tokens if a file is nothing but Jinja."""
    return [token for token in _tokens(text) if token.lastgroup == "word"] or _tokens(text)


def _put(text: str, token: re.Match[str], other: str) -> str:
    return text[: token.start()] + other + text[token.end() :]


def _lost(text: str, random: Random) -> tuple[str, str]:
    token = random.choice(_tokens(text))
    return f"{token.lastgroup}_lost", _put(text, token, "")


def _twice(text: str, random: Random) -> tuple[str, str]:
    token = random.choice(_tokens(text))
    return f"{token.lastgroup}_twice", _put(text, token, f"{token[0]} {token[0]}")


def _swapped(text: str, random: Random) -> tuple[str, str]:
    tokens = _tokens(text)
    index = random.randrange(len(tokens) - 1)
    first, second = tokens[index : index + 2]
    between = text[first.end() : second.start()]
    return "swapped", text[: first.start()] + second[0] + between + first[0] + text[second.end() :]


def _typo(text: str, random: Random) -> tuple[str, str]:
    token = random.choice(_words(text))
    word = token[0]
    position = random.randrange(len(word))
    homoglyphs = {"a": "\u0430", "e": "\u0435", "o": "\u043e", "c": "\u0441"}
    other = random.choice(
        [
            word[:position] + word[position + 1 :],
            word + "x",
            word[:position] + homoglyphs.get(word[position], "é") + word[position + 1 :],
            word.upper(),
        ]
    )
    return "typo", _put(text, token, other)


def _other(text: str, random: Random) -> tuple[str, str]:
    """Put a word where another one is."""
    words = _words(text)
    return "other_word", _put(text, random.choice(words), random.choice(words)[0])


def _odd(text: str, random: Random) -> tuple[str, str]:
    token = random.choice(_tokens(text))
    odd = random.choice(_ODD)
    return "odd", _put(text, token, odd if random.random() < 0.5 else f"{token[0]} {odd}")


def _clause(text: str, random: Random) -> tuple[str, str]:
    token = random.choice(_tokens(text))
    return "clause", _put(text, token, f"{random.choice(_CLAUSES)} {token[0]}")


def _line(text: str, random: Random) -> tuple[str, str]:
    lines = text.splitlines(keepends=True)
    index = random.randrange(len(lines))
    return random.choice(
        [
            ("line_lost", "".join([*lines[:index], *lines[index + 1 :]])),
            ("line_twice", "".join([*lines[:index], lines[index], *lines[index:]])),
        ]
    )


def _quote(text: str, random: Random) -> tuple[str, str]:
    position = random.randrange(len(text))
    return "quote", text[:position] + random.choice("'\"`()[]{}") + text[position:]


def _cut(text: str, random: Random) -> tuple[str, str]:
    return "cut", text[: random.randrange(len(text))]


def _jinja(text: str, random: Random) -> tuple[str, str]:
    blocks = [token for token in _TOKEN.finditer(text) if token.lastgroup == "jinja"]
    if not blocks:
        return "jinja_odd", random.choice(_JINJA) + text
    block = random.choice(blocks)
    inner = block[0]
    match random.choice(["lost", "letter", "odd", "word", "argument", "added"]):
        case "lost":
            return "jinja_lost", _put(text, block, "")
        case "letter":
            position = random.randrange(len(inner))
            return "jinja_letter", _put(text, block, inner[:position] + inner[position + 1 :])
        case "odd":
            return "jinja_odd", _put(text, block, random.choice(_JINJA))
        case "added":
            return "jinja_added", _put(text, block, f"{random.choice(_JINJA)} {inner}")
        case "word":
            words = [*re.finditer(r"\w+", inner)]
            word = random.choice(words) if words else block
            other = random.choice(
                [f"{word[0]}x", "", "5", "none", "[]", random.choice(words)[0] if words else "x"]
            )
            return "jinja_word", _put(text, block, inner[: word.start()] + other + inner[word.end() :])
        case _:
            return "jinja_argument", _put(
                text, block, inner.replace(")", f", {random.choice(['1', 'x=1', '*[]', '**5'])})", 1)
            )
