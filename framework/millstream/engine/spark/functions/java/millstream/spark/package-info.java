/**
 * All that depends on Spark's internals, true for Spark 4.2.0: plans and their execution,
 * Catalyst's expressions and generated code, the clocks and limits of running queries, and the
 * producers of Spark's Kafka connector.
 *
 * <p>With another version of Spark, compile this package first. Other packages use only what
 * Spark's public interfaces and rows are built from; {@code framework/tests/java/test_sources.py}
 * lists these.
 */
package millstream.spark;
