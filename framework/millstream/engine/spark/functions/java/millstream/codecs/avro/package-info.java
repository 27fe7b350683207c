/**
 * Avro, read and written strictly: what Avro's own decoder accepts in silence is a bad value here.
 */
package millstream.codecs.avro;
