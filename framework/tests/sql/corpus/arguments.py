"""Calls of every function and uses of every operator with each type in each place, right and wrong."""

import re
from itertools import product

from corpus import calls
from corpus.pairs import TYPES
from corpus.reading import expressions
from corpus.tables import COLUMNS

LITERALS = (
    "null", "'x'", "1", "-1", "2.5", "1D", "true", "date'2026-01-01'", "interval 1 day", "interval 1 month",
)  # fmt: skip
VALUES = (*COLUMNS, *LITERALS)

_GROUPS = (
    "MATHS",
    "TEXTS",
    "CONDITIONS",
    "TIMES",
    "COLLECTIONS",
    "AGGREGATES",
    "WINDOWS",
    "GROUPED",
    "GENERATORS",
)

BINARY = (
    "+", "-", "*", "/", "%", "div", "&", "|", "^", "||", "=", "<=>", "<>", "<", ">=", "like", "ilike", "rlike", "and",
    "or", "is distinct from",
)  # fmt: skip
TEMPLATES = (
    *(f"{{}} {operator} {{}}" for operator in BINARY),
    "{} in ({}, 1)", "{} between {} and 1", "not {}", "-{}", "+{}", "~{}", "{} is null", "{} is true",
    "case when {} then 1 end", "case when b then {} else {} end", "case {} when {} then 1 end", "if({}, 1, 2)",
    "{}[{}]", "(st).p + {}", "array({}, {})", "{} << {}", "count(*) filter (where {})",
    "sum(i) over (partition by {})", "row_number() over (order by {})", "{} like any ('a', 'b')",
    "extract(year from {})", "extract(hour from {})", "extract(second from {})", "trim(both 'x' from {})",
    "substring({} from 1 for {})", "position({} in {})", "overlay({} placing 'x' from 1)",
)  # fmt: skip
"""Uses of operators; each place takes every value."""


def select(expression: str, group: str = "") -> str:
    if group == "GENERATORS":
        return f"select {expression} from models.t"
    grouped = " group by cube(i, l)" if group == "GROUPED" else ""
    return f"select {expression} as o from models.t{grouped}"


def function_calls() -> dict[str, str]:
    """Return each SELECT of a function with the function's name."""
    selects: dict[str, str] = {}
    for group in _GROUPS:
        for expression in expressions(re.sub(r"_n\b", "", getattr(calls, group))):
            for name, call in _mutations(expression):
                selects.setdefault(select(call, group), name)
    return selects


def operator_uses() -> dict[str, str]:
    """Return each SELECT of an operator with its template."""
    selects: dict[str, str] = {}
    for template in TEMPLATES:
        for values in product(VALUES, repeat=template.count("{}")):
            selects.setdefault(select(template.format(*values)), template)
    for function, type_, value in product(("cast", "try_cast"), TYPES, VALUES):
        selects.setdefault(select(f"{function}({value} as {type_})"), function)
    for operator, left, right in product(("union all", "except", "intersect"), VALUES, VALUES):
        selects.setdefault(f"{select(left)} {operator} {select(right)}", operator)
    return selects


def _mutations(expression: str) -> list[tuple[str, str]]:
    """Return a call with each value as each argument, with one argument more or fewer, DISTINCT, FILTER and a star."""
    parts = _cut(expression)
    if parts is None or re.search(r"^\s*[-+*/>.\[]", parts[2]) or re.search(r" from |placing", expression):
        return []
    name, arguments, rest = parts
    lists = [
        [*arguments[:index], value, *arguments[index + 1 :]]
        for index, argument in enumerate(arguments)
        if not argument.startswith("distinct ") and argument != "*"
        for value in VALUES
    ]
    written = [", ".join(texts) for texts in [*lists, arguments[:-1], [*arguments, "i"], ["*"]]]
    more = [f"{name}(distinct {', '.join(arguments)}){rest}"] if arguments else []
    more.append(f"{name}({', '.join(arguments)}) filter (where b){rest}")
    return [(name, f"{name}({text}){rest}") for text in written] + [(name, call) for call in more]


def _cut(text: str) -> tuple[str, list[str], str] | None:
    """Return the name, the arguments and what follows of the call that a text begins with."""
    begin = re.match(r"([a-z_0-9]+)\(", text)
    if begin is None:
        return None
    depth, quoted, start, arguments = 1, False, begin.end(), []
    for position in range(begin.end(), len(text)):
        sign = text[position]
        quoted ^= sign == "'"
        depth += 0 if quoted else (sign in "([") - (sign in ")]")
        if depth == 0 or (depth == 1 and sign == "," and not quoted):
            arguments.append(text[start:position].strip())
            start = position + 1
        if depth == 0:
            return begin[1], [argument for argument in arguments if argument], text[position + 1 :]
    return None
