package millstream.codecs;

import java.io.Serializable;

/** Finds the schemas that records were written with, by their ids. */
public interface Schemas extends Serializable {
  String schemaOf(int id) throws BadValue;
}
