"""Dead letters after they were sent: what they hold, which of them were handled, and the way back.

A letter is *remaining* until its record is replayed or it is dropped. Which letters were handled is recorded
in a topic next to theirs (`handled`), in the same transaction as the records that a replay sends: so neither
a crash nor a second replay sends a record twice.
"""
