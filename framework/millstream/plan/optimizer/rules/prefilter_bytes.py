r"""Records without the words that a filter needs are dropped before they are decoded.

topic events → decode → filter type = 'purchase'
topic events → filter contains(value, 'purchase') or contains(value, '\\') → decode → filter type = 'purchase'

JSON can encode any letter as `\u0070`, so a record with a backslash is always decoded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec.structs import replace

from millstream.core.expressions import Expression, Ref, join_pieces, render_sql, sql_literal
from millstream.core.types import BOOLEAN, STRING
from millstream.formats.registry import format_of
from millstream.plan.nodes import Decode, Filter, Node, TopicScan
from millstream.plan.optimizer.context import PlanChange, RuleContext
from millstream.plan.optimizer.local import Rewrite, RewriteContext, local_rule

_PLAIN = re.compile(r"[A-Za-z0-9_ -]{3,}")
"""Words that every JSON writer writes unchanged; shorter words are in nearly every record."""
_NUMBER = re.compile(r"[0-9eE-]+")
_NO_NUMBERS = ("-infinity", "nan")
"""A number can have another text after Spark casts it to a string: 1e2 becomes 100.0."""
_MOST = 16
"""The number of words whose search is still faster than decoding."""
_COLUMN, _TEXT = r"\x00(?P<column>[^\x00]+)\x00", r"'(?:[^'\\]|'')*'"
_LEAVES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_COLUMN}\s*(?:<=>|==?)\s*(?P<words>{_TEXT})",
        rf"(?P<words>{_TEXT})\s*(?:<=>|==?)\s*{_COLUMN}",
        rf"{_COLUMN}\s+in\s*\(\s*(?P<words>{_TEXT}(\s*,\s*{_TEXT})*)\s*\)",
        rf"{_COLUMN}\s+like\s+(?P<words>'%?[^'\\%_]+%?')",
        rf"(startswith|endswith|contains)\(\s*{_COLUMN}\s*,\s*(?P<words>{_TEXT})\s*\)",
    )
)
_UNSURE = re.compile(r"\b(case|between|exists|select|escape|collate)\b|->", re.IGNORECASE)
"""Where `and`, `or` or a text can have another meaning."""

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
    return node.topic if isinstance(node, TopicScan) else node.label


def _words_for(node: Decode, site: RewriteContext) -> Words:
    """Return words of which every needed record contains at least one; none if that is not certain."""
    texts = {field.name for field in node.fields if field.type == STRING}
    all_words: dict[str, None] = {}
    for reader in site.readers:
        if not isinstance(reader, Filter) or not site.allows(reader):
            return ()
        candidates = (w for c in reader.conditions if (w := _words(c, texts)))
        words = min((w for w in candidates if not _everywhere(w, node)), key=len, default=())
        if not words:
            return ()
        all_words |= dict.fromkeys(words)
    return tuple(all_words)


def _words(condition: Expression, texts: Iterable[str]) -> Words:
    """Return plain words such that every row that meets a condition contains one in a text column."""
    if condition.reads:
        return ()
    text = render_sql(condition, lambda ref: f"\0{ref.column}\0")
    if _UNSURE.search(re.sub(_TEXT, "''", text)):
        return ()
    words = _of_text(text, frozenset(texts))
    return words if len(words) <= _MOST else ()


def _of_text(text: str, texts: frozenset[str]) -> Words:
    text = _bare(text)
    alternatives = _split(text, "or")
    if len(alternatives) > 1:
        word_lists = [_of_text(alternative, texts) for alternative in alternatives]
        return tuple(dict.fromkeys(w for words in word_lists for w in words)) if all(word_lists) else ()
    conjuncts = _split(text, "and")
    if len(conjuncts) > 1:
        return min(filter(None, (_of_text(conjunct, texts) for conjunct in conjuncts)), key=len, default=())
    for leaf in _LEAVES:
        match = leaf.fullmatch(text)
        if match and match["column"] in texts:
            words = tuple(literal_text[1:-1].strip("%") for literal_text in re.findall(_TEXT, match["words"]))
            return words if all(map(_is_plain, words)) else ()
    return ()


def _split(text: str, word: str) -> list[str]:
    """Split a condition at `and` or `or` outside of quotes and parentheses."""
    parts, depth, start = [], 0, 0
    for match in re.finditer(rf"{_TEXT}|\0[^\0]+\0|[()\[\]]|\b{word}\b", text, re.IGNORECASE):
        cut = match[0].lower()
        depth += (cut in "([") - (cut in ")]")
        if cut == word and depth == 0:
            parts.append(text[start : match.start()])
            start = match.end()
    return [*parts, text[start:]]


def _bare(text: str) -> str:
    """Return a condition without its outer parentheses."""
    text = text.strip()
    while text.startswith("(") and text.endswith(")"):
        depth = 0
        for match in re.finditer(rf"{_TEXT}|[()]", text[:-1]):
            depth += (match[0] == "(") - (match[0] == ")")
            if depth == 0:
                return text
        text = text[1:-1].strip()
    return text


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
