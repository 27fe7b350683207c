/** The lines of files and the columns of Parquet files, for sources that are files. */
package millstream.files;
