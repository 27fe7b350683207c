package millstream.rows;

import java.io.Serializable;
import org.apache.spark.sql.types.DataType;

/** What an aggregate computes. */
public interface Fold extends Serializable {
  Serializable start();

  void add(Serializable state, Object value);

  void merge(Serializable state, Serializable other);

  Object result(Serializable state);

  DataType type();
}
