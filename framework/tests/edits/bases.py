"""What edits are made of: a model, and texts of it that are replaced by others."""

from typing import Literal, NamedTuple

Verdict = Literal["same", "stored", "mixed", "rebuild"]


class Edit(NamedTuple):
    name: str
    verdict: Verdict
    before: str
    after: str


EVENTS = "{{ source('web', 'events') }}"
OTHERS = "{{ source('web', 'others') }}"


def table(key, sql, **options):
    more = "".join(f", {name}={value!r}" for name, value in options.items())
    return f"{{{{ config(materialized='table', unique_key={key!r}{more}) }}}}\n{sql}"


def edits(base, *cases):
    """Return edits of one SQL: name, verdict, and what is replaced by what."""
    for name, verdict, *replaced in cases:
        after = base
        for old, new in zip(replaced[::2], replaced[1::2], strict=True):
            assert old in after, (name, old)
            after = after.replace(old, new)
        assert after != base, name
        yield Edit(name, verdict, base, after)
