package millstream.spark;

import java.io.Serializable;

/** Finds the schemas that records were written with, by their ids. */
interface Schemas extends Serializable {
  String schemaOf(int id) throws BadValue;
}
