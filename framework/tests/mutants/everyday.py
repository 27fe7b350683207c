"""Mistakes that people make as they edit: of blocks and indentation, signatures, Jinja's tags, delimiters and names of files."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from random import Random

_TAG = re.compile(r"\{%-?\s*(?P<word>\w+)[^%]*%\}")
_EXPRESSION = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_DEF = re.compile(r"^def (?P<name>\w+)\((?P<parameters>[^()]*)\)(?P<returns> -> [^:]+)?:", re.MULTILINE)
_TAGS = ["{% if x %}", "{% endif %}", "{% for x in y %}", "{% endfor %}", "{% else %}", "{% macro m() %}", "{% raw %}", "{# note", "{% set x %}"]  # fmt: skip


def everyday(path: str, text: str, random: Random) -> tuple[str, str, str]:
    """Return the name of a mistake, the path of its file (another one if it is renamed) and its text."""
    if random.random() < 0.2 and path not in {"pyproject.toml", "profiles.yml"}:
        return "renamed", _renamed(PurePosixPath(path), random), text
    mistakes = {
        ".yml": _yaml,
        ".toml": _toml,
        ".csv": _csv,
        ".py": _python,
        ".sql": _macro if path.startswith("macros/") else _model,
    }
    name, changed = mistakes[PurePosixPath(path).suffix](text, random)
    return name, path, changed


def _renamed(path: PurePosixPath, random: Random) -> str:
    stem, suffix = path.stem, path.suffix
    names = [
        f"{stem}s{suffix}",
        f"{stem}-2{suffix}",
        f"{stem} copy{suffix}",
        f"{stem.upper()}{suffix}",
        f"2{stem}{suffix}",
        f"{stem}.bak{suffix}",
        f"{stem}{suffix.upper()}",
        f"{stem}{suffix}.txt",
        f"{stem}{ {'.yml': '.yaml', '.sql': '.sq', '.py': '.pyi', '.csv': '.tsv'}[suffix] }",
        f"select{suffix}",
    ]
    if random.random() < 0.2:
        return str(PurePosixPath(random.choice(["models", "macros", "seeds", "tests"])) / path.name)
    return str(path.with_name(random.choice(names)))


def _lines(text: str, random: Random) -> tuple[list[str], int]:
    lines = text.splitlines(keepends=True)
    written = [number for number, line in enumerate(lines) if line.strip()]
    return lines, random.choice(written)


def _block(lines: list[str], start: int) -> int:
    """Return where the block of a line ends: before the next line that is not indented deeper."""
    depth = len(lines[start]) - len(lines[start].lstrip())
    stop = start + 1
    while stop < len(lines) and (
        not lines[stop].strip() or len(lines[stop]) - len(lines[stop].lstrip()) > depth
    ):
        stop += 1
    return stop


def _yaml(text: str, random: Random) -> tuple[str, str]:
    lines, start = _lines(text, random)
    stop = _block(lines, start)
    block, line = lines[start:stop], lines[start]
    match random.choice(
        ["deeper", "shallower", "lost", "twice", "dash", "dashes", "colon", "space", "equals", "quoted"]
    ):
        case "deeper":
            name, block = "block_deeper", [f"  {block_line}" for block_line in block]
        case "shallower":
            name, block = "block_shallower", [block_line.removeprefix("  ") for block_line in block]
        case "lost":
            name, block = "block_lost", []
        case "twice":
            name, block = "block_twice", block + block
        case "dash":
            name, block = "dash_lost", [line.replace("- ", "", 1), *block[1:]]
        case "dashes":
            name, block = "dash_added", [re.sub(r"^(\s*)", r"\1- ", line), *block[1:]]
        case "colon":
            name, block = "colon_lost", [line.replace(":", "", 1), *block[1:]]
        case "space":
            name, block = "space_lost", [line.replace(": ", ":", 1), *block[1:]]
        case "equals":
            name, block = "equals_sign", [re.sub(r": ?", " = ", line, count=1), *block[1:]]
        case _:
            name, block = "all_quoted", [re.sub(r"^(\s*(?:- )?)(.*)$", r'\1"\2"', line), *block[1:]]
    return name, "".join([*lines[:start], *block, *lines[stop:]])


def _toml(text: str, random: Random) -> tuple[str, str]:
    lines, start = _lines(text, random)
    line = lines[start]
    match random.choice(["colon", "unquoted", "header", "dotted", "list"]):
        case "colon":
            name, line = "colon", line.replace("=", ":", 1)
        case "unquoted":
            name, line = "unquoted", line.replace('"', "")
        case "header":
            name, line = "header_broken", line.replace("]", "", 1)
        case "dotted":
            name, line = "header_other", line.replace("tool.millstream", "tool.milstream", 1)
        case _:
            name, line = "list", re.sub(r"= (.*)", r"= [\1]", line)
    return name, "".join([*lines[:start], line, *lines[start + 1 :]])


def _csv(text: str, random: Random) -> tuple[str, str]:
    lines = text.splitlines()
    header, *rows = lines
    names = header.split(",")
    match random.choice(
        ["semicolons", "tabs", "no_header", "renamed", "column_lost", "columns_swapped", "spaces", "decimal"]
    ):
        case "semicolons":
            return "semicolons", text.replace(",", ";")
        case "tabs":
            return "tabs", text.replace(",", "\t")
        case "no_header":
            return "header_lost", "\n".join(rows) + "\n"
        case "renamed":
            names[random.randrange(len(names))] += random.choice(["s", " ", " id", "-id", "é", ".x"])
            return "column_renamed", "\n".join([",".join(names), *rows]) + "\n"
        case "column_lost":
            gone = random.randrange(len(names))
            cut = [[f for n, f in enumerate(line.split(",")) if n != gone] for line in lines]
            return "column_lost", "\n".join(map(",".join, cut)) + "\n"
        case "columns_swapped":
            return "columns_swapped", "\n".join([",".join(reversed(names)), *rows]) + "\n"
        case "spaces":
            return "spaces", text.replace(",", ", ")
        case _:
            row = random.randrange(len(rows))
            rows[row] = re.sub(r"\d+", lambda digits: f"{digits[0]},5", rows[row], count=1)
            return "decimal_comma", "\n".join([header, *rows]) + "\n"


def _python(text: str, random: Random) -> tuple[str, str]:
    functions = [*_DEF.finditer(text)]
    if not functions:
        lines, start = _lines(text, random)
        return "line_lost", "".join([*lines[:start], *lines[start + 1 :]])
    function = random.choice(functions)
    name, returns = function["name"], function["returns"] or ""
    parameters = [parameter.strip() for parameter in function["parameters"].split(",") if parameter.strip()]
    first = parameters[:1] or ["x: int"]
    match random.choice(
        [
            "colon",
            "hint",
            "returns",
            "more",
            "fewer",
            "swapped",
            "renamed",
            "default",
            "star",
            "named",
            "case",
            "self",
        ]
    ):
        case "colon":
            mutation, new = "colon_lost", function[0][:-1]
        case "hint":
            bare = [first[0].split(":")[0], *parameters[1:]]
            mutation, new = "hint_lost", f"def {name}({', '.join(bare)}){returns}:"
        case "returns":
            mutation, new = "returns_lost", f"def {name}({', '.join(parameters)}):"
        case "more":
            mutation, new = "parameter_more", f"def {name}({', '.join([*parameters, 'more: int'])}){returns}:"
        case "fewer":
            mutation, new = "parameter_lost", f"def {name}({', '.join(parameters[1:])}){returns}:"
        case "swapped":
            mutation, new = "parameters_swapped", f"def {name}({', '.join(reversed(parameters))}){returns}:"
        case "renamed":
            mutation, new = "renamed_function", f"def {name}_2({', '.join(parameters)}){returns}:"
        case "default":
            mutation, new = (
                "default",
                f"def {name}({', '.join([f'{first[0]} = None', *parameters[1:]])}){returns}:",
            )
        case "star":
            mutation, new = "star", f"def {name}(*{', '.join(parameters)}){returns}:"
        case "named":
            mutation, new = "named_only", f"def {name}(*, {', '.join(parameters)}){returns}:"
        case "case":
            mutation, new = "keyword_case", function[0].replace("def ", "Def ", 1)
        case _:
            mutation, new = "self", f"def {name}({', '.join(['self', *parameters])}){returns}:"
    return mutation, text[: function.start()] + new + text[function.end() :]


def _macro(text: str, random: Random) -> tuple[str, str]:
    macros = [*re.finditer(r"macro (\w+)\(([^()]*)\)", text)]
    if not macros or random.random() < 0.4:
        return _model(text, random)
    macro = random.choice(macros)
    name, parameters = macro[1], [parameter.strip() for parameter in macro[2].split(",") if parameter.strip()]
    match random.choice(["renamed", "more", "fewer", "parameter", "default", "body"]):
        case "renamed":
            mutation, new = "macro_renamed", f"macro {name}_2({macro[2]})"
        case "more":
            mutation, new = "argument_more", f"macro {name}({', '.join([*parameters, 'more'])})"
        case "fewer":
            mutation, new = "argument_lost", f"macro {name}({', '.join(parameters[1:])})"
        case "parameter":
            renamed = [f"{parameter}_2" for parameter in parameters]
            mutation, new = "arguments_renamed", f"macro {name}({', '.join(renamed)})"
        case "default":
            mutation, new = "default_first", f"macro {name}({', '.join(['x=1', *parameters])})"
        case _:
            return "body_lost", re.sub(r"(%\}).*?(\{%)", r"\1\2", text, count=1, flags=re.DOTALL)
    return mutation, text[: macro.start()] + new + text[macro.end() :]


def _model(text: str, random: Random) -> tuple[str, str]:
    tags, expressions = [*_TAG.finditer(text)], [*_EXPRESSION.finditer(text)]
    positions = [match.start() for match in re.finditer(r"(?m)^", text)]
    mutation = random.choice(
        ["tag_lost", "tag_added", "braces", "unquoted", "comment", "semicolon", "alias", "comma"]
    )
    if mutation == "tag_lost" and tags:
        tag = random.choice(tags)
        return mutation, text[: tag.start()] + text[tag.end() :]
    if mutation in {"braces", "unquoted"} and expressions:
        expression = random.choice(expressions)
        inner = expression[0][2:-2]
        new = random.choice(
            [f"{{%{inner}%}}", f"{{{inner}}}", f"{{{{{inner}}}", inner, f"{{{{{{{{{inner}}}}}}}}}"]
        )
        new = new if mutation == "braces" else expression[0].replace("'", "")
        return mutation, text[: expression.start()] + new + text[expression.end() :]
    match mutation:
        case "comment":
            return mutation, text.replace("\n", random.choice([" // note\n", " # note\n", " /* note\n"]), 1)
        case "semicolon":
            return mutation, text.rstrip() + random.choice([";\n", ";;\n", ";\nselect 1;\n", "\n;"])
        case "alias":
            return mutation, re.sub(
                r" as (\w+)", random.choice([r" as '\1'", r" = \1", r" as", r" as \1 \1"]), text, count=1
            )
        case "comma":
            return mutation, re.sub(r"(\w)\n(\s*from\b)", r"\1,\n\2", text, count=1)
        case _:
            position = random.choice(positions)
            return "tag_added", text[:position] + random.choice(_TAGS) + text[position:]
