"""Requirements of the machine: Java, and jars from Maven."""
