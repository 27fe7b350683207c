/**
 * Formats of records: what they share, such as schemas, registries, and the reasons of bad values.
 * Each format has a package of its own. Of Spark, they know the values of rows and nothing of
 * plans, so tests need no session.
 */
package millstream.codecs;
