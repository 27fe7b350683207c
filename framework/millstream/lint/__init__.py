"""Lint rules: what only a compiler can check, built in or written by a project in Python.

A rule is a function of a `LintProject` with the decorator `rule`. It yields findings, each made by a model:

    from millstream.lint import LintProject, rule

    @rule("ids-are-texts")
    def ids_are_texts(project: LintProject):
        for model in project.models.values():
            for column in model.columns:
                if column.name.endswith("_id") and column.type != "string":
                    yield model.finding(f"'{column.name}' is a {column.type}", column=column.name)
"""

from millstream.lint.project import LintModel, LintProject
from millstream.lint.rule import Rule, rule
from millstream.lint.values import Finding

__all__ = ["Finding", "LintModel", "LintProject", "Rule", "rule"]
