"""The rules that a target and its models select: `all`, `none`, or names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from millstream.core.errors import did_you_mean
from millstream.core.node_id import NodeId
from millstream.plan.optimizer.context import Rule
from millstream.plan.optimizer.rules import ALWAYS, OPT_IN, RULES

NAMES = tuple(rule.__name__ for rule in RULES)
Setting = str | list[str] | bool | None


def select_rules(setting: Setting, models: Iterable[Setting] = ()) -> tuple[Rule, ...]:
    """Return the rules of a target's `optimization`, in the order of application.

    An opt-in rule is included if the target selects all and one of the models selects it: `switched_off` then
    excludes the other models.
    """
    selected = selected_rules(setting)
    if _is_all(setting):
        selected |= {name for model_setting in models for name in selected_rules(model_setting) & OPT_IN}
    selected |= ALWAYS
    return tuple(rule for rule in RULES if rule.__name__ in selected)


def switched_off(
    models: Iterable[tuple[NodeId, Mapping[str, Any]]], setting: Setting = None
) -> dict[NodeId, frozenset[str]]:
    """Return, by model, the rules that don't apply to it: those that neither it nor the target selects."""
    settings = [(id_, options.get("optimize")) for id_, options in models]
    by_target = selected_rules(setting) & OPT_IN
    anywhere = {name for _, model_setting in settings for name in selected_rules(model_setting) & OPT_IN}
    excluded: dict[NodeId, frozenset[str]] = {}
    for id_, model_setting in settings:
        selected = selected_rules(model_setting)
        off = (frozenset(NAMES) - OPT_IN - ALWAYS - selected) | (anywhere - by_target - selected)
        if model_setting is not None and not _is_all(model_setting):
            off |= by_target - selected
        if off:
            excluded[id_] = off
    return excluded


def selected_rules(setting: Setting) -> frozenset[str]:
    """Return the rules that a setting selects; `all` does not include opt-in rules."""
    match setting:
        case None | "all" | True:
            return frozenset(NAMES) - OPT_IN
        case "none" | False:
            return frozenset()
        case str():
            return frozenset((setting,))
        case _:
            return frozenset(setting).union(*(selected_rules(name) for name in setting if name == "all"))


def unknown_rules(setting: Setting) -> list[tuple[str, str]]:
    """Return names that are not rules, each with a suggestion."""
    names = [setting] if isinstance(setting, str) else setting if isinstance(setting, list) else []
    valid_names = (*NAMES, "all", "none")
    return [
        (name, did_you_mean(name, valid_names, f"rules: {', '.join(NAMES)}"))
        for name in names
        if name not in valid_names
    ]


def _is_all(setting: Setting) -> bool:
    return setting in {None, "all", True} if not isinstance(setting, list) else "all" in setting
