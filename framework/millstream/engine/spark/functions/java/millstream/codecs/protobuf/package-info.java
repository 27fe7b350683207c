/**
 * Messages of Protobuf. Their types are read by the protobuf-java that Spark's core contains under
 * a name of its own, {@code org.sparkproject.spark_core}: true for Spark 4.2.0.
 */
package millstream.codecs.protobuf;
