"""The identity of a node: what kind of node it is, and its name within the kind.

Its text, such as `model.orders` or `source.shop.events`, is what files, terminals and other tools have.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

NodeKind = Literal[
    "model",
    "source",
    "seed",
    "test",
    "unit_test",
    "exposure",
    "metric",
    "function",
    "query",
    "former",
    "setting",
]
"""`former` ones are models that left their query, which still has their state (`queries.removed_models`)."""
_KINDS = frozenset(get_args(NodeKind))

if TYPE_CHECKING:

    class _Text:
        """No text for a type checker, so that no code cuts, joins or compares ids as texts."""

        def __lt__(self, other: NodeId) -> bool: ...

        def __bool__(self) -> bool: ...

else:
    # While running, an id is its text: hashes and comparisons call no Python code, and files have the same
    # bytes as when ids were texts.
    _Text = str


class NodeId(_Text):
    """A node's id; sources have names with a dot: `NodeId("source", "shop.events")`."""

    __slots__ = ("kind", "name")

    kind: NodeKind | Literal[""]
    name: str

    def __new__(cls, kind: NodeKind, name: str) -> NodeId:  # noqa: PYI034 - it has no subclasses
        return _create(f"{kind}.{name}", kind, name)

    @staticmethod
    def parse(text: str) -> NodeId:
        """Return the node of an id as text; that of an empty text is `NO_NODE`."""
        if not text:
            return NO_NODE
        kind, _, name = text.partition(".")
        if kind not in _KINDS or not name:
            raise ValueError(f"'{text}' is not the id of a node")
        return _create(text, cast(NodeKind, kind), name)

    @property
    def last_name(self) -> str:
        """The name without that of a source's system: `events` of `source.shop.events`."""
        return self.name.rpartition(".")[2]

    @property
    def shown_name(self) -> str:
        """The name of a model, as users write it; for other nodes, the whole text."""
        return self.name if self.kind == "model" else str(self)

    def with_ending(self, ending: str) -> NodeId:
        """Return the id with a longer name."""
        return _create(f"{self}{ending}", self.kind, f"{self.name}{ending}")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"the {name} of an id can't change")

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return NodeId.parse, (str(self),)


def _create(text: str, kind: NodeKind | Literal[""], name: str) -> NodeId:
    id_: NodeId = _Text.__new__(NodeId, text)  # type: ignore[call-arg]
    object.__setattr__(id_, "kind", kind)
    object.__setattr__(id_, "name", name)
    return id_


NO_NODE = _create("", "", "")
"""Where there can be a node, but is none. It is false, and files have an empty text."""


@lru_cache(maxsize=1 << 16)
def _parsed(text: str) -> NodeId:
    return NodeId.parse(text)


def decode_id(type_: type[Any], text: Any) -> NodeId:
    """Return the id that a stored text is: what msgspec calls for a type that it does not know."""
    if type_ is not NodeId:
        raise TypeError(f"values of {type_.__name__} are not stored")
    return _parsed(text)


def encode_id(value: object) -> str:
    """Return an id's text: the counterpart of `decode_id`."""
    if isinstance(value, NodeId):
        return str(value)
    raise TypeError(f"values of {type(value).__name__} are not stored")


def id_schema(type_: type[Any]) -> dict[str, str]:
    """Return the JSON schema of an id: what msgspec calls for a type that it does not know."""
    if type_ is not NodeId:
        raise TypeError(f"values of {type_.__name__} have no JSON schema")
    return {"type": "string"}
