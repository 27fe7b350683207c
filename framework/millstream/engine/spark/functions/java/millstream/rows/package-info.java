/**
 * What is computed of rows and kept between batches, by Spark's public interfaces: folds of metrics
 * and logs, and processors with state.
 */
package millstream.rows;
