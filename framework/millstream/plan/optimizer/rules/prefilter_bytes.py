r"""Records without the words that a filter needs are dropped before they are decoded.

topic events → decode → filter type = 'purchase'
topic events → filter contains(value, 'purchase') or contains(value, '\\') → decode → filter type = 'purchase'

JSON can encode any letter as `\u0070`, so a record with a backslash is always decoded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from millstream.core.expressions import Expression, Ref, join_pieces, sql_literal
from millstream.core.types import BOOLEAN, STRING
from millstream.formats.registry import format_of
from millstream.plan.nodes import Decode, Filter, Node, TopicScan
from millstream.plan.optimizer.context import PlanChange, RuleContext
from millstream.plan.optimizer.local import Rewrite, RewriteContext, local_rule
from millstream.sql.trees import CallTree, ColumnTree, ExpressionTree, LiteralTree, OperatorTree, tree_of

_PLAIN = re.compile(r"[A-Za-z0-9_ -]{3,}")
"""Words that every JSON writer writes unchanged; shorter words are in nearly every record."""
_NUMBER = re.compile(r"[0-9eE-]+")
_NO_NUMBERS = ("-infinity", "nan")
"""A number can have another text after Spark casts it to a string: 1e2 becomes 100.0."""
_MOST = 16
"""The number of words whose search is still faster than decoding."""
Words = tuple[str, ...]
"""Every wanted record contains one of them."""


def _may_leave_out(node: Decode, _context: RuleContext) -> bool:
    # Bad records are only found by decoding them, and an old version must be seen to be replaced.
    return (
        isinstance(node.input, TopicScan)
        and bool(format_of(node.format).escape)
        and node.on_bad_record == "skip"
        and not node.unique_by
    )


@local_rule(Decode, _may_leave_out)
def prefilter_bytes(node: Decode, site: RewriteContext) -> Rewrite | None:
    words = _words_for(node, site)
    if not words:
        return None
    quoted = ", ".join(f"'{word}'" for word in words)
    what = f"records of {_topic(node.input)} without {quoted} are not decoded"
    prefilter = Filter(
        input=node.input, conditions=(_condition(words, format_of(node.format).escape),), models=node.models
    )
    return Rewrite(replace(node, input=prefilter), (PlanChange(what, node.models),))


def _topic(node: Node) -> str:
    return ", ".join(node.topics) if isinstance(node, TopicScan) else node.label


def _words_for(node: Decode, site: RewriteContext) -> Words:
    """Return words of which every needed record contains at least one; none if that is not certain."""
    texts = frozenset(field.name for field in node.fields if field.type == STRING)
    all_words: dict[str, None] = {}
    for reader in site.readers:
        if not isinstance(reader, Filter) or not site.allows(reader):
            return ()
        candidates = (w for condition in reader.conditions if (w := _words(tree_of(condition), texts)))
        words = min((w for w in candidates if not _everywhere(w, node)), key=len, default=())
        if not words:
            return ()
        all_words |= dict.fromkeys(words)
    return tuple(all_words)


def _words(condition: ExpressionTree, texts: frozenset[str]) -> Words:
    """Return plain words such that every row that meets a condition contains one in a text column."""
    words: Words = ()
    match condition:
        case OperatorTree(sign="or", operands=alternatives):
            lists = [_words(alternative, texts) for alternative in alternatives]
            words = tuple(dict.fromkeys(w for part in lists for w in part)) if all(lists) else ()
        case OperatorTree(sign="and", operands=conditions):
            words = min(filter(None, (_words(one, texts) for one in conditions)), key=len, default=())
        case (
            OperatorTree("=" | "<=>", (ColumnTree() as column, LiteralTree() as literal))
            | OperatorTree("=" | "<=>", (LiteralTree() as literal, ColumnTree() as column))
            | CallTree(
                "startswith" | "endswith" | "contains", (ColumnTree() as column, LiteralTree() as literal)
            )
        ):
            words = _of_column(column, [literal], texts)
        case OperatorTree(sign="in", operands=(ColumnTree() as column, *members)):
            words = _of_column(column, members, texts)
        case OperatorTree(
            sign="like", operands=(ColumnTree() as column, LiteralTree(value=str() as pattern))
        ):
            inside = pattern.removeprefix("%").removesuffix("%")
            words = _of_column(column, [LiteralTree(inside)], texts) if not {"%", "_"} & set(inside) else ()
    return words if len(words) <= _MOST else ()


def _of_column(column: ColumnTree, values: Sequence[ExpressionTree], texts: frozenset[str]) -> Words:
    """Return the texts that a column can have, if they are plain words."""
    words = [
        value.value for value in values if isinstance(value, LiteralTree) and isinstance(value.value, str)
    ]
    return (
        tuple(words)
        if column.name in texts and len(words) == len(values) and all(map(_is_plain, words))
        else ()
    )


def _is_plain(word: str) -> bool:
    number = _NUMBER.fullmatch(word) or any(word.lower() in text for text in _NO_NUMBERS)
    return _PLAIN.fullmatch(word) is not None and not number


def _everywhere(words: Words, node: Decode) -> bool:
    """Return whether every record contains one of the words anyway, in the name of a field."""
    return any(word in field.name for word in words for field in node.fields)


def _condition(words: Words, escape: str) -> Expression:
    value = Ref("value")
    pieces: list[str | Ref] = []
    for word in (*words, escape):
        pieces += [" or " if pieces else "", "contains(cast(", value, f" as string), {sql_literal(word)})"]
    return Expression(join_pieces(pieces), BOOLEAN)
