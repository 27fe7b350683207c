"""The names of the consumer groups that show how far queries have read."""

from __future__ import annotations

from millstream.project.names import Environment, environment_name


def group_of(project: str, query: str, environment: Environment | None = None) -> str:
    return environment_name(environment, f"millstream.{project}.{query}")
