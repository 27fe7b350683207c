"""What running needs of a machine: Java, and jars from Maven."""
