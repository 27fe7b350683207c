"""One dataflow graph for the whole project: inputs, operators and outputs."""
