/** JSON by RFC 8259, and texts of JSON for what no type of Spark can hold. */
package millstream.codecs.json;
