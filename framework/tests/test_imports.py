"""No module imports itself by way of others, imports within functions included."""

import graphlib

import grimp


def circles(imports):
    """Return the groups of modules that reach each other, given the imports of each module."""
    knots = set()
    while True:
        try:
            graphlib.TopologicalSorter(imports).prepare()
        except graphlib.CycleError as error:
            members = frozenset(error.args[1])
        else:
            return knots
        # A circle that shares a module with another one is the same knot.
        knot = members.union(*(other for other in knots if other & members))
        knots = {other for other in knots if not other & members} | {knot}
        # Its modules become one, so that the next circle shows.
        first = min(knot)
        merged = {
            module: {first if read in knot else read for read in reads} for module, reads in imports.items()
        }
        outside = set().union(*(merged.pop(module, set()) for module in knot)) - {first}
        imports = {**merged, first: outside}


def test_circles_are_found():
    imports = {
        "a": {"b"},
        "b": {"c"},
        "c": {"b", "d"},
        "d": {"e", "a"},
        "e": set(),
        "f": {"g"},
        "g": {"f", "a"},
    }
    assert circles(imports) == {frozenset("abcd"), frozenset("fg")}
    assert circles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == set()


def test_no_circle_of_imports():
    graph = grimp.build_graph("millstream", cache_dir=None)
    knots = circles({module: graph.find_modules_directly_imported_by(module) for module in graph.modules})
    assert [sorted(knot) for knot in knots] == [], (
        "pass what is needed, or move what both need into a module of its own"
    )
