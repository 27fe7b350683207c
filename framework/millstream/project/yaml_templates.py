"""`{{ env_var('X') }}` and `{{ var('x') }}` in YAML values."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from millstream.errors import Diagnostic, MillstreamError, did_you_mean
from millstream.project.secrets import Secret, is_secret_name

_MISSING = object()


@cache
def _environment() -> Any:
    """Sandboxed; a value that is one expression keeps its type. Made when the first template is met."""
    from jinja2 import StrictUndefined
    from jinja2.nativetypes import NativeEnvironment
    from jinja2.sandbox import SandboxedEnvironment

    class Sandboxed(SandboxedEnvironment, NativeEnvironment):
        """Both at once."""

    return Sandboxed(undefined=StrictUndefined)


def yaml_renderer(
    variables: Mapping[str, Any], *, secrets: bool, environment: dict[str, str | None] | None = None
) -> Callable[[str], Any]:
    """Return what renders a value of YAML; with `secrets`, as in profiles.yml, env_var gives a `Secret`.

    `environment` learns which environment variables were read, and their values.
    """
    used: list[str] = []

    def env_var(name: str, default: Any = _MISSING) -> Any:
        if is_secret_name(name) and not secrets:
            raise MillstreamError(
                Diagnostic("MS113", f"'{name}' is a secret", None, "use secrets in profiles.yml only")
            )
        value = os.environ.get(name)
        if environment is not None:
            environment[name] = value
        if value is None and default is _MISSING:
            remedy = "export it, or give a default: env_var('NAME', 'default')"
            raise MillstreamError(
                Diagnostic("MS114", f"environment variable '{name}' is not set", None, remedy)
            )
        if value is not None:
            used.append(name)
        return default if value is None else value

    def var(name: str, default: Any = _MISSING) -> Any:
        if name in variables:
            return variables[name]
        if default is _MISSING:
            remedy = did_you_mean(name, variables, f"set it: --vars '{name}: …', or give a default")
            raise MillstreamError(Diagnostic("MS205", f"variable '{name}' is not set", None, remedy))
        return default

    def render(text: str) -> Any:
        from jinja2 import TemplateError

        used.clear()
        try:
            found = _environment().from_string(text).render(env_var=env_var, var=var)
        except TemplateError as error:
            message = str(error.message or error)
            raise MillstreamError(Diagnostic("MS201", message, None, "mend the template")) from None
        except (TypeError, ValueError, ArithmeticError) as error:
            raise MillstreamError(Diagnostic("MS209", str(error), None, "mend the template")) from None
        return Secret(str(found)) if used and secrets else found

    return render
