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
    mutate = random.choice(
        [_value, _value, _key, _typo, _line_lost, _line_twice, _indent, _character, _line_swapped, _cut]
    )
    return mutate(text, random)


def toml(text: str, random: Random) -> tuple[str, str]:
    mutate = random.choice([_value, _value, _key, _typo, _line_lost, _line_twice, _character, _cut])
    return mutate(text, random)


def csv(text: str, random: Random) -> tuple[str, str]:
    lines = text.splitlines()
    index = random.randrange(len(lines))
    fields = lines[index].split(",")
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
    return name, "\n".join([*lines[:index], ",".join(fields), *lines[index + 1 :]]) + "\n"


def _pair(text: str, random: Random) -> re.Match[str]:
    return random.choice([*_PAIR.finditer(text)])


def _value(text: str, random: Random) -> tuple[str, str]:
    pair = _pair(text, random)
    return "value", text[: pair.start("value")] + random.choice(ODD) + text[pair.end("value") :]


def _key(text: str, random: Random) -> tuple[str, str]:
    pair = _pair(text, random)
    key = random.choice([pair["key"] + "x", "", random.choice(ODD), _pair(text, random)["key"]])
    return "key", text[: pair.start("key")] + key + text[pair.end("key") :]


def _typo(text: str, random: Random) -> tuple[str, str]:
    word = random.choice([*re.finditer(r"[a-z_]{3,}", text)])
    position = random.randrange(word.start(), word.end() - 1)
    return "typo", text[:position] + text[position + 1] + text[position] + text[position + 2 :]


def _line_lost(text: str, random: Random) -> tuple[str, str]:
    lines = text.splitlines(keepends=True)
    lines.pop(random.randrange(len(lines)))
    return "line_lost", "".join(lines)


def _line_twice(text: str, random: Random) -> tuple[str, str]:
    lines = text.splitlines(keepends=True)
    index = random.randrange(len(lines))
    return "line_twice", "".join([*lines[:index], lines[index], *lines[index:]])


def _line_swapped(text: str, random: Random) -> tuple[str, str]:
    lines = text.splitlines(keepends=True)
    index = random.randrange(max(1, len(lines) - 1))
    return "line_swapped", "".join([*lines[:index], *reversed(lines[index : index + 2]), *lines[index + 2 :]])


def _indent(text: str, random: Random) -> tuple[str, str]:
    lines = text.splitlines(keepends=True)
    index = random.randrange(len(lines))
    line = lines[index]
    lines[index] = random.choice([" " + line, "  " + line, "\t" + line, line[1:], line.lstrip(" ")])
    return "indent", "".join(lines)


def _character(text: str, random: Random) -> tuple[str, str]:
    positions = [position for position, letter in enumerate(text) if letter in ":=-[]{}'\",#|&"]
    position = random.choice(positions)
    other = random.choice(["", text[position] * 2, random.choice(":=-[]{}'\",#|&\t"), "\u00a0", "\u200b"])
    return "character", text[:position] + other + text[position + 1 :]


def _cut(text: str, random: Random) -> tuple[str, str]:
    return "cut", text[: random.randrange(len(text))]
