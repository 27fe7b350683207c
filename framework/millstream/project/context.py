"""What a template can call: `ref source config var env_var this target is_test log return` and friends."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Container, Mapping
from types import FrameType
from typing import Any, NoReturn

from jinja2.runtime import Undefined
from msgspec import Struct

from millstream.core.errors import UnlocatedDiagnostic, did_you_mean
from millstream.core.expressions import quote_name
from millstream.core.node_id import NodeId, NodeKind
from millstream.project.environment import ReturnedError, frame_offset
from millstream.project.numbers import fits_bigint
from millstream.project.secrets import Secret, misplaced_variable
from millstream.project.template_limits import check_printable
from millstream.project.values import Project

MISSING = object()


class RenderDiagnostic(UnlocatedDiagnostic, frozen=True):
    """An error found while rendering; `needle` is the text that the caret marks."""

    needle: str = ""


class RenderError(Exception):
    """A diagnostic that ends the rendering of a template."""

    def __init__(self, code: str, message: str, help_: str, needle: str = "") -> None:
        super().__init__(message)
        self.diagnostic = RenderDiagnostic(code, message, help_, needle)


class RenderRecorder(Struct):
    """What one rendering did: the only state of a `Renderer`, new for every template."""

    base_config: Mapping[str, Any] = {}
    references: list[tuple[NodeId, tuple[str, int] | None]] = []
    config: dict[str, tuple[Any, tuple[str, int] | None]] = {}
    diagnostics: list[tuple[RenderDiagnostic, tuple[str, int] | None]] = []
    vars: dict[str, Any] = {}
    env: dict[str, str | None] = {}
    logs: list[str] = []


def calling_position() -> tuple[str, int] | None:
    """Return the path and offset of the innermost template that is being rendered."""
    frame: FrameType | None = sys._getframe(2)  # noqa: SLF001
    while frame is not None:
        if position := frame_offset(frame, frame.f_lineno):
            return position
        frame = frame.f_back
    return None


class TemplateFunctions:
    """The functions that a template calls; they read the project and write to the current recorder."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.recorder = RenderRecorder()
        self._topics: dict[str, list[str]] = {}
        for topic in project.sources.values():
            self._topics.setdefault(topic.name, []).append(topic.id)

    def globals(self) -> dict[str, Any]:
        return {
            "ref": self.ref,
            "source": self.source,
            "config": _Config(self),
            "var": self.var,
            "env_var": self.env_var,
            "target": _target(self.project),
            "project_name": self.project.settings.name,
            "log": self.log,
            "return": _return,
            "lookup_map": self.lookup_map,
            "exceptions": _Exceptions(self),
            "tojson": json.dumps,
            "fromjson": _fromjson,
            "zip": lambda *lists: list(zip(*lists, strict=False)),
            "set": lambda values=(): set(values),
            "none": None,
        }

    def ref(self, *names: str, **unknown: Any) -> str:
        if unknown or not 1 <= len(names) <= 2 or not all(name and isinstance(name, str) for name in names):
            message = "ref() takes the name of one model or seed"
            raise RenderError("MS206", message, "write ref('model_name')", "ref")
        package, name = names if len(names) == 2 else (self.project.settings.name, names[0])
        if package != self.project.settings.name:
            message = f"package '{package}' does not exist"
            self._report(RenderDiagnostic("MS203", message, "write ref('model')", package))
        return self._relation(name)

    def _relation(self, name: str) -> str:
        relations: tuple[tuple[NodeKind, Container[str]], ...] = (
            ("model", self.project.models),
            ("seed", self.project.seeds),
        )
        for kind, names in relations:
            if name in names:
                self.recorder.references.append((NodeId(kind, name), calling_position()))
                return f"{kind}s.{quote_name(name)}"
        hint = did_you_mean(name, [*self.project.models, *self.project.seeds])
        if not hint and name in self._topics:
            source, topic = self._topics[name][0].split(".", 1)
            hint = f"it is a source: write source('{source}', '{topic}')"
        hint = hint or self._what_has_no_rows(name) or f"add models/{name}.sql or fix the name"
        self._report(RenderDiagnostic("MS203", f"model or seed '{name}' does not exist", hint, name))
        return f"models.{quote_name(name)}"

    def _what_has_no_rows(self, name: str) -> str:
        """Return a remedy if a name is that of something that only reads relations; empty otherwise."""
        project = self.project
        readers = {
            "a data test": [test.name for test in project.tests],
            "a unit test": [test.name for test in project.unit_tests],
            "an exposure": [exposure.name for exposure in project.exposures],
        }
        what = next((what for what, names in readers.items() if name in names), "")
        return f"it is {what}, which has no rows: read what it reads" if what else ""

    def source(self, *names: str, **unknown: Any) -> str:
        if unknown or len(names) != 2 or not all(name and isinstance(name, str) for name in names):
            message = "source() takes a source and one of its topics"
            raise RenderError("MS206", message, "write source('source', 'topic')", "source")
        source, topic = names
        if f"{source}.{topic}" in self.project.sources:
            self.recorder.references.append((NodeId("source", f"{source}.{topic}"), calling_position()))
        else:
            self._report(self._unknown_source(source, topic))
        return f"sources.{quote_name(source)}.{quote_name(topic)}"

    def _unknown_source(self, source: str, topic: str) -> RenderDiagnostic:
        topics = [t.name for t in self.project.sources.values() if t.source == source]
        kind = "model" if topic in self.project.models else "seed" if topic in self.project.seeds else ""
        if not topics:
            sources = {t.source for t in self.project.sources.values()}
            hint = f"{topic} is a {kind}: write ref('{topic}')" if kind else ""
            hint = hint or did_you_mean(
                source, sources, "declare it under `sources:` in a YAML file of models/"
            )
            return RenderDiagnostic("MS204", f"source '{source}' does not exist", hint, source)
        remedy = (
            f"{topic} is a {kind}: write ref('{topic}')"
            if kind
            else f"it has {', '.join(sorted(topics)[:8])}"
        )
        hint = did_you_mean(topic, topics, remedy)
        return RenderDiagnostic("MS204", f"source '{source}' has no topic '{topic}'", hint, topic)

    def var(self, name: str, default: Any = MISSING) -> Any:
        value = self.project.vars.get(name, default)
        if value is MISSING:
            hint = did_you_mean(name, self.project.vars, f"set it: --vars '{name}: …', or give a default")
            raise RenderError("MS205", f"variable '{name}' is not set", hint, name)
        self.recorder.vars[name] = self.project.vars.get(name)
        return value

    def env_var(self, name: str, default: Any = MISSING) -> Any:
        if reason := misplaced_variable(name, self.project.settings.env_vars):
            raise RenderError("MS113", *reason, name)
        value = os.environ.get(name)
        self.recorder.env[name] = value
        if value is not None:
            return value
        if default is MISSING:
            hint = "export it, or give a default: env_var('NAME', 'default')"
            raise RenderError("MS114", f"environment variable '{name}' is not set", hint, name)
        return default

    def log(self, message: object, info: bool = False) -> str:
        self.recorder.logs.append(f"{'info' if info else 'debug'}: {check_printable(message)}")
        return ""

    def lookup_map(self, relation: str, key: str, value: str) -> str:
        """Render a small reference table as a map inside an expression."""
        name = str(relation)
        if "." not in name:
            topics = self._topics.get(name, [])
            if name not in self.project.models and name not in self.project.seeds and len(topics) == 1:
                name = self.source(*topics[0].split(".", 1))
            else:
                name = self._relation(name)
        entries = f"map_from_entries(collect_list(struct(lookup.{key}, lookup.{value})))"
        return f"(select {entries} from {name} as lookup)"  # noqa: S608 - this builds SQL

    def _report(self, diagnostic: RenderDiagnostic) -> None:
        self.recorder.diagnostics.append((diagnostic, calling_position()))


class _Config:
    """`config(materialized='sink')` sets, `config.get('materialized')` reads."""

    def __init__(self, functions: TemplateFunctions) -> None:
        self._functions = functions

    def __call__(self, *positional: Any, **options: Any) -> str:
        for mapping in positional:
            if not isinstance(mapping, dict):
                message = "config() takes options by name"
                raise RenderError("MS206", message, "write config(materialized='sink')", "config")
            options = mapping | options
        position = calling_position()
        for name, value in options.items():
            plain = _plain(value)
            if reason := _unfit(plain):
                raise RenderError("MS206", f"config option '{name}' {reason[0]}", reason[1], name)
            self._functions.recorder.config[name] = (plain, position)
        return ""

    def get(self, name: str, default: Any = None) -> Any:
        recorder = self._functions.recorder
        if name in recorder.config:
            return recorder.config[name][0]
        return recorder.base_config.get(name, default)

    def require(self, name: str) -> Any:
        value = self.get(name, MISSING)
        if value is MISSING:
            message = f"config option '{name}' is required here"
            raise RenderError("MS206", message, f"set it: config({name}=…)", name)
        return value


class _Exceptions:
    def __init__(self, functions: TemplateFunctions) -> None:
        self._functions = functions

    def raise_compiler_error(self, message: object) -> NoReturn:
        raise RenderError("MS208", str(check_printable(message)), "the project's own check failed")

    def warn(self, message: object) -> str:
        self._functions.recorder.logs.append(f"warning: {check_printable(message)}")
        return ""


def _return(value: object = None) -> NoReturn:
    raise ReturnedError(value)


def _fromjson(text: str, default: Any = None) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return default


def _plain(value: Any) -> Any:
    """Return Jinja's texts and tuples as plain Python values, so that they compare and serialize."""
    if isinstance(value, Undefined):
        value._fail_with_undefined_error()  # noqa: SLF001 - what StrictUndefined does when it is printed
    if isinstance(value, str):
        return str(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return value


def _unfit(value: Any) -> tuple[str, str] | None:
    """Return why a value can't be an option, and the remedy."""
    if isinstance(value, dict):
        return next(filter(None, map(_unfit, value.values())), None)
    if isinstance(value, list):
        return next(filter(None, map(_unfit, value)), None)
    if isinstance(value, int) and not fits_bigint(value):
        return "has a number that does not fit in 64 bits", "put it in quotes"
    if value is None or isinstance(value, str | int | float):
        return None
    return f"can't have a value of type {type(value).__name__}", "pass a text, a number, a list or a mapping"


class _Target(str):
    """The target's name, with `target.name` and the settings that are not secrets."""

    __slots__ = ("__dict__",)


def _target(project: Project) -> _Target:
    settings = {key: value for key, value in project.target.settings.items() if not _holds_secret(value)}
    target = _Target(project.target.name)
    vars(target).update(settings, name=project.target.name, profile_name=project.target.profile)
    return target


def _holds_secret(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_holds_secret, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_holds_secret, value))
    return isinstance(value, Secret)
