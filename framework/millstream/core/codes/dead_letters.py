"""Codes of dead letters that were sent."""

from millstream.core.codes import read_codes

CODES = read_codes("""
MS830 There is no record to replay
    A row that a data test rejected is not a record of a topic: several records may have made it. Fix the
    model or the test, and rebuild the model, or drop the dead letters. The letter of a record that is too
    large was cut; its record is replayed as long as its topic still has it.
MS838 All of these dead letters were handled before
    The records of these dead letters were replayed, or the letters were dropped. A record is replayed once;
    `--force` sends it again, so that all readers of its topic get it again.
MS839 Another process has taken over
    Only one command at a time can replay or drop the dead letters of a topic: a later one ends the
    transaction of an earlier one. Kafka also ends a transaction that takes too long. Repeat the command: no
    record is sent twice.
MS840 Nothing with dead letters has this name
    `millstream dead-letters` takes the topics, sources and models of the project, and their dead letter
    topics.
""")
