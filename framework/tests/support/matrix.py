"""Kinds of something, such as sources, each of which is tested in the same ways: the cells of a matrix."""

import pytest


class Matrix:
    """Tests that are run for each kind; cells that make no sense have a reason."""

    def __init__(self, kinds, cells, not_tested):
        self.kinds = kinds
        self._cells = cells
        self._not_tested = not_tested
        self._tested = set()

    def cell(self, name, *, long=()):
        """Mark the test of a cell; for the kinds in `long`, other tests do nearly the same."""
        self._tested.add(name)
        kinds = [
            pytest.param(kind, id=id_, marks=[pytest.mark.long] if id_ in long else [])
            for id_, kind in self.kinds.items()
            if (id_, name) not in self._not_tested
        ]
        return pytest.mark.parametrize("kind", kinds)

    def check(self):
        """Check that each cell is tested, or has a reason."""
        assert set(self._cells) == self._tested
        assert {kind for kind, _ in self._not_tested} <= set(self.kinds)
        assert {name for _, name in self._not_tested} <= set(self._cells)
        assert all(self._not_tested.values())
