"""Which rules a target and its models want: `all`, `none`, or names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from millstream.errors import did_you_mean
from millstream.optimizer.context import Rule
from millstream.optimizer.rules import ALWAYS, OPT_IN, RULES

NAMES = tuple(rule.__name__ for rule in RULES)
Setting = str | list[str] | bool | None


def chosen(setting: Setting, models: Iterable[Setting] = ()) -> tuple[Rule, ...]:
    """Return the rules of a target's `optimization`, in the order in which they are applied.

    A rule that is to be asked for by name is there, too, if one of the models asks for it and the target
    wants all: `switched_off` then keeps it away from the others.
    """
    wanted = wanted_rules(setting)
    if _is_all(setting):
        wanted |= {name for each in models for name in wanted_rules(each) & OPT_IN}
    wanted |= ALWAYS
    return tuple(rule for rule in RULES if rule.__name__ in wanted)


def switched_off(
    models: Iterable[tuple[str, Mapping[str, Any]]], setting: Setting = None
) -> dict[str, frozenset[str]]:
    """Return by model the rules that leave it alone: those that neither it nor the target asks for."""
    listed = [(id_, options.get("optimize")) for id_, options in models]
    asked = wanted_rules(setting) & OPT_IN
    anywhere = {name for _, each in listed for name in wanted_rules(each) & OPT_IN}
    found: dict[str, frozenset[str]] = {}
    for id_, own in listed:
        wanted = wanted_rules(own)
        off = (frozenset(NAMES) - OPT_IN - ALWAYS - wanted) | (anywhere - asked - wanted)
        if own is not None and not _is_all(own):
            off |= asked - wanted
        if off:
            found[id_] = off
    return found


def wanted_rules(setting: Setting) -> frozenset[str]:
    """Return what a setting asks for; in a list, `all` stands for all but those to be asked for by name."""
    match setting:
        case None | "all" | True:
            return frozenset(NAMES) - OPT_IN
        case "none" | False:
            return frozenset()
        case str():
            return frozenset((setting,))
        case _:
            return frozenset(setting).union(*(wanted_rules(each) for each in setting if each == "all"))


def unknown_rules(setting: Setting) -> list[tuple[str, str]]:
    """Return names that are no rule's, each with what was meant."""
    names = [setting] if isinstance(setting, str) else setting if isinstance(setting, list) else []
    known = (*NAMES, "all", "none")
    return [
        (name, did_you_mean(name, known, f"rules: {', '.join(NAMES)}")) for name in names if name not in known
    ]


def _is_all(setting: Setting) -> bool:
    return setting in {None, "all", True} if not isinstance(setting, list) else "all" in setting
