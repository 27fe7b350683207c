"""Tables over rows that change: which of their rows a change can touch, and SQL that computes only these.

`derive` turns a model's SQL into a `Maintenance`. Both of its statements are supersets by construction: a key
may be touched although its row stays the same, but never the other way round.
"""

from millstream.plan.maintained.derive import derive_maintenance, derived_keys, in_full
from millstream.plan.maintained.names import NotDerivedError, TableInput

__all__ = ["NotDerivedError", "TableInput", "derive_maintenance", "derived_keys", "in_full"]
