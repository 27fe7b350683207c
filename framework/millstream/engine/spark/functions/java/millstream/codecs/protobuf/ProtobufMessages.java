package millstream.codecs.protobuf;

import millstream.codecs.BadValue;
import millstream.codecs.Times;
import millstream.codecs.json.JsonTexts;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DayTimeIntervalType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType;
import org.sparkproject.spark_core.protobuf.Descriptors.FieldDescriptor;

/** Reads messages: as structs, or as what the well-known ones stand for. */
final class ProtobufMessages implements ProtobufReader {
  private static final DataType[] MOMENT = {DataTypes.LongType, DataTypes.IntegerType};
  static final long LONGEST = 315_576_000_000L;
  private final FieldDescriptor field;
  private final ProtobufFields fields;
  private final Of of;

  private ProtobufMessages(FieldDescriptor field, ProtobufFields fields, Of of) {
    this.field = field;
    this.fields = fields;
    this.of = of;
  }

  /** Makes a value of the values of the fields. */
  private interface Of {
    Object values(Object[] values) throws BadValue;
  }

  static ProtobufReader of(FieldDescriptor field, DataType type) {
    String name = ProtobufTypes.messageName(field);
    if (type instanceof StructType) {
      ProtobufFields fields = new ProtobufFields(field.getMessageType(), (StructType) type);
      return new ProtobufMessages(
          field, fields, values -> new GenericInternalRow(fields.row(values)));
    } else if (type instanceof TimestampType && name.equals("google.protobuf.Timestamp")) {
      return new ProtobufMessages(field, moment(field), ProtobufMessages::timestamp);
    } else if (type instanceof DayTimeIntervalType && name.equals("google.protobuf.Duration")) {
      return new ProtobufMessages(field, moment(field), ProtobufMessages::duration);
    } else if (JsonTexts.holds(type) && ProtobufJson.isJson(name)) {
      return new ProtobufJson(name);
    } else if (ProtobufTypes.isWrapper(name)) {
      DataType[] types = {type};
      ProtobufFields value =
          new ProtobufFields(field.getMessageType(), new String[] {"value"}, types);
      return new ProtobufMessages(field, value, values -> values[0]);
    } else if (JsonTexts.holds(type)) {
      return ProtobufTexts.reader(field);
    }
    throw ProtobufTypes.unfit(field, type);
  }

  private static ProtobufFields moment(FieldDescriptor field) {
    return new ProtobufFields(field.getMessageType(), new String[] {"seconds", "nanos"}, MOMENT);
  }

  private static Object timestamp(Object[] moment) throws BadValue {
    long micros = Times.ofSeconds((long) moment[0]);
    int nanos = (int) moment[1];
    if (nanos < 0 || nanos > 999_999_999) {
      throw BadValue.of(Integer.toString(nanos), "a number of nanoseconds within a second");
    }
    return micros + Math.floorDiv(nanos, 1000);
  }

  private static Object duration(Object[] moment) throws BadValue {
    long seconds = (long) moment[0];
    int nanos = (int) moment[1];
    if (seconds < -LONGEST || seconds > LONGEST) {
      throw BadValue.of(Long.toString(seconds), "a duration in seconds");
    }
    if (Math.abs((long) nanos) > 999_999_999
        || seconds != 0 && nanos != 0 && seconds < 0 != nanos < 0) {
      throw BadValue.of(
          Integer.toString(nanos), "a number of nanoseconds within a second of " + seconds + " s");
    }
    return seconds * 1_000_000 + nanos / 1000;
  }

  @Override
  public Object read(ProtobufInput in, Object before) throws BadValue {
    Object[] states = before == null ? fields.start() : (Object[]) before;
    if (field.getType() == FieldDescriptor.Type.GROUP) {
      fields.readGroup(in, states, field.getNumber());
    } else {
      int outer = in.enter();
      fields.read(in, states);
      in.leave(outer);
    }
    return states;
  }

  @Override
  public Object finish(Object state) throws BadValue {
    Object[] values = (Object[]) state;
    fields.finish(values);
    return of.values(values);
  }

  @Override
  public Object absent() throws BadValue {
    return finish(fields.start());
  }
}
