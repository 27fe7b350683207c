"""One dataflow graph for the whole project: what is read, what is done with it, what is written."""
