"""A change of a column is told exactly where its rows can differ: both versions are evaluated by DuckDB, too."""

from __future__ import annotations

import os
import re
from random import Random

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from support.evaluated import NO_CHANGE, Evaluated, Generator, bag, files, inputs
from support.reviews import written

from millstream.compile import compile_project
from millstream.review.compare import review
from millstream.review.replay import statistics
from millstream.review.version import version_of

EXAMPLES = int(os.environ.get("MILLSTREAM_EXAMPLES", "20000")) // 20
SETTINGS = {"deadline": None, "suppress_health_check": list(HealthCheck), "database": None}
SEEDS = st.integers(min_value=0, max_value=2**32)


def told(folder, before, after):
    """Return by model whether it is told to have other rows, and its columns that are told to differ."""
    versions = []
    for name, project in (("main", before), ("now", after)):
        root = written(folder / name, files(project))
        compiled = compile_project(root, use_cache=False)
        assume(not any(d.severity == "error" for d in compiled.diagnostics))
        versions.append(version_of(name, compiled, root))
    found = review(*versions, statistics(versions[1].manifest, {}, None))
    return {
        each.id.removeprefix("model."): (each.rows, {c.name for c in each.columns})
        for each in found.nodes
        if each.kind == "model"
    }


class Differing:
    """What of two versions differs for some input."""

    def __init__(self, before, after, seed):
        self.common = {
            name: [c for c in before[name].columns if c in after[name].columns] for name in before
        }
        was, now = Evaluated(before), Evaluated(after)
        self.pairs = [(was.rows(given), now.rows(given)) for given in inputs(Random(seed))]

    def __call__(self, model, columns):
        return any(bag(was[model], columns) != bag(now[model], columns) for was, now in self.pairs)


def unfiltered(project):
    """Return a project whose filters keep everything, as far as they are the same in both versions."""
    return {
        name: model._replace(sides=tuple(side._replace(where=()) for side in model.sides))
        for name, model in project.items()
    }


def check(folder, seed):
    generator = Generator(seed)
    edit, edited, after = generator.edited()
    before = generator.project
    found = told(folder, before, after)
    differ = Differing(before, after, seed)
    where = (seed, edit, edited, before[edited].sql(), after[edited].sql(), found)
    for model, columns in differ.common.items():
        rows, changed = found.get(model, (False, set()))
        left = [] if rows else [c for c in columns if c not in changed]
        assert not differ(model, left), ("not told", model, left, where)
    if edit in NO_CHANGE:
        assert found == {}, ("told of no change", where)
    return found, differ, before, after, edit, edited, where


@settings(max_examples=100, **SETTINGS)
@given(seed=SEEDS)
def test_what_can_differ_is_told(tmp_path_factory, seed):
    check(tmp_path_factory.mktemp("project"), seed)
