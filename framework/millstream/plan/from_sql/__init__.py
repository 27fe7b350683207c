"""From what SQL says, clause by clause, to nodes."""
