"""Reviews a change of a project: its effect on columns, readers, state, topics, tables and cost."""
