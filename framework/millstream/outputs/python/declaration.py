"""The kind of models whose rows a Python function of the project writes."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from millstream.outputs.kinds import Kind

RETRIES = 3
"""How often a failed call is repeated by default."""
OnFailure = Literal["stop", "dead_letter"]
InEnvironments = Literal["skip", "call"]
OnRebuild = Literal["replay", "skip"]


class Python(Kind, frozen=True, tag_field="materialized", tag="python", omit_defaults=True):
    """Hands the rows of each batch to a function of the project."""

    write: str = ""
    """The name of the function."""
    key: tuple[str, ...] = ()
    """The columns that identify a row that can change."""
    retries: int | None = None
    on_failure: OnFailure | None = None
    environments: InEnvironments | None = None
    on_rebuild: OnRebuild | None = None
    dead_letters: str = ""
    """The topic of dead letters, if an environment names it otherwise."""

    word: ClassVar[str] = "python"
    about: ClassVar[str] = "what a Python function of the project writes, batch by batch"
    stored_as: ClassVar[str] = "endpoint"
    readable: ClassVar[bool] = False
    alone: ClassVar[bool] = True
    key_option: ClassVar[str] = "key"
    column_options: ClassVar[tuple[str, ...]] = ("key",)

    @property
    def keys(self) -> tuple[str, ...]:
        return self.key

    @property
    def functions(self) -> tuple[str, ...]:
        return (self.write,) if self.write else ()

    @property
    def settings(self) -> dict[str, Any]:
        """Return how its function is called."""
        return {
            "write": self.write,
            "retries": RETRIES if self.retries is None else self.retries,
            "on_failure": self.on_failure or "stop",
            "environments": self.environments or "skip",
            "on_rebuild": self.on_rebuild or "replay",
        }

    @property
    def failed_to(self) -> Literal["", "dead_letter"]:
        return "dead_letter" if self.on_failure == "dead_letter" else ""

    def dead_letter_topic(self, model: str) -> str:
        return self.dead_letters or super().dead_letter_topic(model)
