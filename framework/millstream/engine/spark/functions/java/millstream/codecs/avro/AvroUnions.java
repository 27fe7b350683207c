package millstream.codecs.avro;

import java.util.List;
import millstream.codecs.BadValue;
import org.apache.avro.Resolver;
import org.apache.avro.Schema;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/**
 * Unions, mapped as Spark maps them: null makes a value nullable, and of several other types, each
 * is a field `member0`, `member1`, … of a struct. A union of int and long is a bigint, one of float
 * and double is a double.
 */
final class AvroUnions {
  private AvroUnions() {}

  static AvroReader written(Resolver.WriterUnion action, DataType type) {
    AvroReader[] branches = new AvroReader[action.actions.length];
    for (int i = 0; i < branches.length; i++) {
      branches[i] =
          action.unionEquiv
              ? member(action.reader, i, action.actions[i], type)
              : AvroReader.of(action.actions[i], type);
    }
    return in -> branches[in.readIndex(branches.length, "a type of the union")].read(in);
  }

  /** Returns a reader of a value that is of one type of a reader's union. */
  static AvroReader member(Schema union, int index, Resolver.Action action, DataType type) {
    if (AvroTypes.isNull(union, index)) {
      return in -> null;
    }
    if (!AvroTypes.isStruct(union)) {
      return AvroReader.of(action, type);
    }
    AvroTypes.check(union, type);
    List<String> names = List.of(((StructType) type).fieldNames());
    int ordinal = names.indexOf("member" + AvroTypes.member(union, index));
    if (ordinal < 0) {
      AvroSkip skip = AvroSkip.of(action.writer);
      return in -> {
        skip.skip(in);
        return new GenericInternalRow(new Object[names.size()]);
      };
    }
    AvroReader reader = AvroReader.of(action, ((StructType) type).apply(ordinal).dataType());
    return in -> {
      Object[] row = new Object[names.size()];
      try {
        row[ordinal] = reader.read(in);
      } catch (BadValue error) {
        throw error.in(names.get(ordinal));
      }
      return new GenericInternalRow(row);
    };
  }
}
