"""`{{ env_var('X') }}` and `{{ var('x') }}` in YAML values."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Any

from millstream.core.errors import Diagnostic, MillstreamError, did_you_mean
from millstream.project.secrets import Placeholder, Secret, misplaced_variable

_MISSING = object()
_NOT_SET = "MS114"
_NUMBER = re.compile(r"-?(0|[1-9]\d{0,17})(\.\d+)?\Z")
_FUNCTIONS = ("env_var", "var")
_SET_IT = "export it, or give a default: env_var('NAME', 'default')"


@cache
def _environment() -> Any:
    """Return a sandbox with dbt's filters; created for the first template."""
    from jinja2 import StrictUndefined

    from millstream.project.template_limits import LimitedEnvironment

    environment = LimitedEnvironment(undefined=StrictUndefined)
    environment.filters |= {"as_bool": _as_bool, "as_number": _number, "as_text": str, "as_native": _number}
    return environment


def yaml_renderer(
    variables: Mapping[str, Any],
    *,
    declared: Collection[str] | None,
    public: Collection[str] = (),
    environment: dict[str, str | None] | None = None,
    strict_env: bool = True,
) -> Callable[[str], Any]:
    """Return a function that renders a YAML value.

    `env_var` reads only the `declared` variables; without them (profiles.yml), it reads all, as `Secret`s
    unless they are `public`.
    The environment variables that it reads are added to `environment`, with their values.
    Without `strict_env`, a value that needs one that is not set is a `Placeholder`.
    """
    used: list[str] = []

    def env_var(name: str, default: Any = _MISSING) -> Any:
        if not isinstance(name, str):
            raise _error("MS206", "env_var() takes the name of a variable as text", "write env_var('NAME')")
        if declared is not None and (reason := misplaced_variable(name, declared)):
            raise _error("MS113", *reason)
        value = os.environ.get(name)
        if environment is not None:
            environment[name] = value
        if value is None and default is _MISSING:
            raise _error(_NOT_SET, f"environment variable '{name}' is not set", _SET_IT)
        if value is not None:
            used.append(name)
        return default if value is None else value

    def var(name: str, default: Any = _MISSING) -> Any:
        if name in variables:
            return variables[name]
        if default is _MISSING:
            remedy = did_you_mean(name, variables, f"set it: --vars '{name}: …', or give a default")
            raise _error("MS205", f"variable '{name}' is not set", remedy)
        return default

    def render(text: str) -> Any:
        used.clear()
        try:
            rendered = _evaluate(text, {"env_var": env_var, "var": var})
        except MillstreamError as error:
            if strict_env or error.diagnostics[0].code != _NOT_SET:
                raise
            return Placeholder()
        if not used:
            return rendered
        shown = declared is not None or all(name in public for name in used)
        return _number(rendered) if shown else _hidden(rendered)

    return render


def _evaluate(text: str, names: dict[str, Any]) -> Any:
    """Render a text; one that is a single expression keeps the type that the expression has."""
    from jinja2 import TemplateError, TemplateSyntaxError, UndefinedError
    from jinja2.exceptions import SecurityError

    from millstream.project.template_limits import BudgetError, NotTextError

    _environment().start()
    try:
        template, single = _compiled(text)
        if not single:
            return template.render(names)
        context = template.new_context(names)
        for _ in template.root_render_func(context):
            pass
        evaluated = context.vars["result"]
        str(_environment().shown(evaluated))  # an undefined name only fails when it is used
    except BudgetError as error:
        raise _error("MS213", str(error), "write the value itself") from None
    except NotTextError as error:
        raise _error("MS206", str(error), error.remedy) from None
    except UndefinedError as error:
        name = (re.findall(r"'([^']+)' is undefined", error.message or "") or [""])[0]
        remedy = did_you_mean(name, _FUNCTIONS, "YAML values can use env_var() and var()")
        raise _error("MS202", error.message or "something is undefined", remedy) from None
    except SecurityError as error:
        raise _error("MS207", str(error), "use only env_var() and var()") from None
    except TemplateSyntaxError as error:
        raise _error("MS201", error.message or "the template can't be parsed", "fix the template") from None
    except TemplateError as error:
        raise _error("MS209", str(error.message or error), "fix the template") from None
    except MillstreamError:
        raise
    except Exception as error:  # noqa: BLE001 - a user's expression can raise anything
        raise _error("MS209", str(error) or type(error).__name__, "fix the template") from None
    return evaluated


@cache
def _compiled(text: str) -> tuple[Any, bool]:
    from jinja2 import nodes

    environment = _environment()
    tree = environment.parse(text)
    match tree.body:
        case [nodes.Output(nodes=[expression])] if not isinstance(expression, nodes.TemplateData):
            # As Environment.compile_expression does; Jinja's native types would read "1_0" as a number.
            assign = nodes.Assign(nodes.Name("result", "store"), expression, lineno=1)
            return environment.from_string(nodes.Template([assign], lineno=1)), True
    return environment.from_string(text), False


def _hidden(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _hidden(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_hidden(inner) for inner in value]
    return Secret(str(value).lower() if isinstance(value, bool) else str(value))


def _number(value: Any) -> Any:
    """Convert a text of the environment that clearly means a number."""
    if isinstance(value, str) and (parts := _NUMBER.match(value)):
        number = float(value) if parts.group(2) else int(value)
        return number if str(number) == value else value
    return value


def _as_bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if str(value).lower() in {"true", "false"}:
        return str(value).lower() == "true"
    raise ValueError(f"'{value}' is not true or false")


def _error(code: str, message: str, remedy: str) -> MillstreamError:
    return MillstreamError(Diagnostic(code, message, None, remedy))
