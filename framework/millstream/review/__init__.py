"""What an edit of a project does: to columns, their readers, running state, topics, tables and cost."""
