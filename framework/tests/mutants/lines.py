"""Mistakes in files whose structure is their lines: YAML, TOML and CSV."""

from __future__ import annotations

import re
from random import Random

ODD = [
    "9" * 25, "-1", "1.5", "true", "null", "[]", "{}", "[[1, 2]]", "{a: {b: 1}}", "2026-01-01", "'x'", '"\\0"', "''",
    "!!python/object:os.system x", "&a [*a]", "*nothing", "{{ nothing }}", "{% if %}", "é🙂", "\x07", "a: b: c", "'open", '"open',
    "- x", "|", ">", "@x", "%x", "`x`", "0x1F", "1e999", ".nan", "~", "<<", "? x",
]  # fmt: skip
_PAIR = re.compile(r"(?P<key>[A-Za-z_][\w.]*)(?P<sign>\s*[:=]\s*)(?P<value>[^,}\n]*)")


def yaml(text: str, random: Random) -> tuple[str, str]:
    """Return the name of a mistake, and the text with it."""
    mistake = random.choice(
        [_value, _value, _key, _typo, _line_lost, _line_twice, _indent, _character, _line_swapped, _cut]
    )
    return mistake(text, random)


def toml(text: str, random: Random) -> tuple[str, str]:
    mistake = random.choice([_value, _value, _key, _typo, _line_lost, _line_twice, _character, _cut])
    return mistake(text, random)


def csv(text: str, random: Random) -> tuple[str, str]:
    lines = text.splitlines()
    at = random.randrange(len(lines))
    fields = lines[at].split(",")
    name = random.choice(
        [
            "field_lost",
            "field_more",
            "quote",
            "value",
            "header_twice",
            "empty",
            "bom",
            "blank",
            "crlf",
            "escape",
        ]
    )
    match name:
        case "field_lost":
            fields.pop(random.randrange(len(fields)))
        case "field_more":
            fields.insert(random.randrange(len(fields) + 1), "more")
        case "quote":
            fields[random.randrange(len(fields))] += '"'
        case "value":
            fields[random.randrange(len(fields))] = random.choice([*ODD, "", " ", "x" * 100_000])
        case "header_twice":
            lines[0] = f"{lines[0]},{lines[0].split(',')[0]}"
            return name, "\n".join(lines) + "\n"
        case "empty":
            return name, "" if random.random() < 0.5 else lines[0]
        case "bom":
            return name, "\ufeff" + text
        case "blank":
            return name, text + "\n" * random.randint(1, 1000)
        case "crlf":
            return name, text.replace("\n", random.choice(["\r\n", "\r", "\x85", "\u2028"]))
        case _:
            fields[0] = '"' + fields[0] + '\n"'
    return name, "\n".join([*lines[:at], ",".join(fields), *lines[at + 1 :]]) + "\n"


def _pair(text: str, random: Random) -> re.Match[str]:
    return random.choice([*_PAIR.finditer(text)])


def _value(text: str, random: Random) -> tuple[str, str]:
    found = _pair(text, random)
    return "value", text[: found.start("value")] + random.choice(ODD) + text[found.end("value") :]


def _key(text: str, random: Random) -> tuple[str, str]:
    found = _pair(text, random)
    key = random.choice([found["key"] + "x", "", random.choice(ODD), _pair(text, random)["key"]])
    return "key", text[: found.start("key")] + key + text[found.end("key") :]


def _typo(text: str, random: Random) -> tuple[str, str]:
    word = random.choice([*re.finditer(r"[a-z_]{3,}", text)])
    at = random.randrange(word.start(), word.end() - 1)
    return "typo", text[:at] + text[at + 1] + text[at] + text[at + 2 :]


def _line_lost(text: str, random: Random) -> tuple[str, str]:
    lines = text.splitlines(keepends=True)
    lines.pop(random.randrange(len(lines)))
    return "line_lost", "".join(lines)


def _line_twice(text: str, random: Random) -> tuple[str, str]:
    lines = text.splitlines(keepends=True)
    at = random.randrange(len(lines))
    return "line_twice", "".join([*lines[:at], lines[at], *lines[at:]])


def _line_swapped(text: str, random: Random) -> tuple[str, str]:
    lines = text.splitlines(keepends=True)
    at = random.randrange(max(1, len(lines) - 1))
    return "line_swapped", "".join([*lines[:at], *reversed(lines[at : at + 2]), *lines[at + 2 :]])


def _indent(text: str, random: Random) -> tuple[str, str]:
    lines = text.splitlines(keepends=True)
    at = random.randrange(len(lines))
    line = lines[at]
    lines[at] = random.choice([" " + line, "  " + line, "\t" + line, line[1:], line.lstrip(" ")])
    return "indent", "".join(lines)


def _character(text: str, random: Random) -> tuple[str, str]:
    places = [at for at, letter in enumerate(text) if letter in ":=-[]{}'\",#|&"]
    at = random.choice(places)
    other = random.choice(["", text[at] * 2, random.choice(":=-[]{}'\",#|&\t"), "\u00a0", "\u200b"])
    return "character", text[:at] + other + text[at + 1 :]


def _cut(text: str, random: Random) -> tuple[str, str]:
    return "cut", text[: random.randrange(len(text))]
