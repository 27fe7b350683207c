"""A SELECT as readable text: one item for each line, columns qualified only where necessary."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from msgspec import Struct

from millstream.core.expressions import Expression, Ref, quote_name, render_sql
from millstream.core.node_id import NodeId
from millstream.queries.emit.draft import DELETED, Draft, FromSource, Lateral
from millstream.queries.emit.fuse import JOINED_LATERALLY, unused_in
from millstream.sql.trees import called_function

Reads = Callable[[NodeId], str]
"""Returns the view that a subquery reads for a relation, by the relation's id."""


class EmittedCte(Struct, frozen=True):
    name: str
    sql: str
    comment: str = ""


def write_statement(ctes: Iterable[EmittedCte], body: str) -> str:
    parts = []
    for cte in ctes:
        comment = f"  -- {cte.comment}\n" if cte.comment else ""
        parts.append(f"{quote_name(cte.name)} as (\n{comment}  {indent_lines(cte.sql)}\n)")
    return f"with {', '.join(parts)}\n{body}" if parts else body


class SelectWriter:
    """Writes the SELECT of a draft."""

    def __init__(self, draft: Draft, reads: Reads) -> None:
        self.draft = draft
        self.reads = reads
        aliases = draft.aliases
        self._aliases = {alias.lower() for alias in aliases}
        self._qualified = len(aliases) > 1 or _has_subquery(draft)
        self._renamed = _renamed(draft)

    def expression(self, expression: Expression, *, qualified: bool = False) -> str:
        """Write an expression; columns are qualified where they would be ambiguous."""
        alone = not (qualified or self._qualified or expression.variables)
        ref = self._ref if alone else self._with_relation
        match expression.pieces:
            case (Ref() as only,):
                return ref(only)
        return render_sql(expression, ref, lambda read: quote_name(self.reads(read.relation)))

    def _ref(self, ref: Ref) -> str:
        clashes = ref.column.lower() in self._aliases
        return self._with_relation(ref) if clashes else quote_name(ref.column)

    def _with_relation(self, ref: Ref) -> str:
        column = quote_name(ref.column)
        return f"{quote_name(self._alias(ref.relation))}.{column}" if ref.relation else column

    def _alias(self, alias: str) -> str:
        return self._renamed.get(alias, alias)

    def item(self, name: str, expression: Expression) -> str:
        text = self.expression(expression)
        return text if expression.column == name else f"{text} as {quote_name(name)}"

    def items(self) -> list[str]:
        items = [self.item(name, expression) for name, expression in self.draft.items.items()]
        if self.draft.deleted is not None:
            items.append(self.item(DELETED, self.draft.deleted))
        return items

    def text(self, items: list[str] | None = None) -> str:
        draft = self.draft
        if draft.body:
            return draft.body
        hints = [draft.hint] if draft.hint else []
        hints += [f"broadcast({quote_name(self._alias(s.alias))})" for s in draft.sources if s.broadcast]
        lines = [f"select /*+ {', '.join(hints)} */" if hints else "select"]
        lines.append(",\n".join(f"  {indent_lines(item)}" for item in (items or self.items())))
        for index, source in enumerate(draft.sources):
            lines.append(self._source(source, first=index == 0))
        lines += [self._lateral(lateral) for lateral in draft.laterals]
        # Within HAVING and GROUP BY, an unqualified name could mean an item of the SELECT.
        lines += _clause("where", [self._condition(condition) for condition in draft.where])
        if draft.keys:
            lines.append(f"group by {', '.join(self.expression(key, qualified=True) for key in draft.keys)}")
        lines += _clause("having", [self._condition(condition, qualified=True) for condition in draft.having])
        return "\n".join(lines)

    def _source(self, source: FromSource, *, first: bool) -> str:
        name = quote_name(source.name)
        if source.watermark:
            time, delay = source.watermark
            interval = delay if delay.lower().startswith("interval") else f"interval {delay}"
            name += f" watermark {quote_name(time)} delay of {interval}"
        alias = self._alias(source.alias)
        if alias != source.name:
            name += f" as {quote_name(alias)}"
        if first:
            return f"from {name}"
        on = " and ".join(self._condition(condition) for condition in source.on)
        return f"{source.join} {name}" + (f" on {on}" if on else "")

    def _lateral(self, lateral: Lateral) -> str:
        alias = quote_name(self._alias(lateral.alias))
        if called_function(lateral.call) in JOINED_LATERALLY:
            names = ", ".join(map(quote_name, lateral.columns))
            kind = "left join" if lateral.outer else "join"
            return f"{kind} lateral {self.expression(lateral.call)} as {alias}({names})"
        outer = "outer " if lateral.outer else ""
        columns = ", ".join(map(quote_name, lateral.columns))
        return f"lateral view {outer}{self.expression(lateral.call)} {alias} as {columns}"

    def _condition(self, expression: Expression, *, qualified: bool = False) -> str:
        text = self.expression(expression, qualified=qualified)
        return f"({text})" if not expression.atomic and _OR.search(text) else text


def _has_subquery(draft: Draft) -> bool:
    """Whether a condition compares columns with those of a subquery, where unqualified names are its own."""
    aliases = {"", *draft.aliases}
    return any(ref.relation not in aliases for condition in draft.where for ref in condition.refs)


def _renamed(draft: Draft) -> dict[str, str]:
    """Return new aliases for relations that are named like a variable of a lambda.

    Within `c -> …` Spark reads `c.id` as a field of the variable, not as a column of the relation `c`.
    """
    variables = frozenset[str]().union(*(expression.variables for expression in draft.expressions))
    if not variables:
        return {}
    taken = {*variables, *(alias.lower() for alias in draft.aliases)}
    aliases: dict[str, str] = {}
    for alias in draft.aliases:
        if alias.lower() in variables:
            aliases[alias] = unused_in(alias, taken)
            taken.add(aliases[alias].lower())
    return aliases


def _clause(word: str, conditions: list[str]) -> list[str]:
    if not conditions:
        return []
    return [
        f"{word} {indent_lines(conditions[0])}",
        *(f"  and {indent_lines(condition)}" for condition in conditions[1:]),
    ]


_OR = re.compile(r"\bor\b", re.IGNORECASE)
_UNBROKEN = re.compile(
    r"""[rR]'[^']*'|[rR]"[^"]*"|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`(?:[^`]|``)*`|--[^\n]*|\n""", re.DOTALL
)


def indent_lines(text: str) -> str:
    """Indent all lines but the first; line breaks within literals stay."""
    if "\n" not in text:
        return text
    if _is_broken_between_literals(text):
        return text.replace("\n", "\n  ")
    return _UNBROKEN.sub(lambda match: "\n  " if match[0] == "\n" else match[0], text)


def _is_broken_between_literals(text: str) -> bool:
    """Whether each literal is on one line; False if that takes more than counting quotes."""
    if '"' in text or "`" in text or "\\" in text or "--" in text:
        return False
    return not any(line.count("'") % 2 for line in text.split("\n"))
