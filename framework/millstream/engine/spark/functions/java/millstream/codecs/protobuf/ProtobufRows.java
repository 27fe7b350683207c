package millstream.codecs.protobuf;

import java.util.Arrays;
import java.util.Comparator;
import java.util.stream.Stream;
import millstream.codecs.BadValue;
import millstream.codecs.Times;
import millstream.codecs.json.JsonTexts;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DayTimeIntervalType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType;
import org.sparkproject.spark_core.protobuf.Descriptors.Descriptor;
import org.sparkproject.spark_core.protobuf.Descriptors.FieldDescriptor;
import org.sparkproject.spark_core.protobuf.Descriptors.OneofDescriptor;

/**
 * Writes the fields of messages in the order of their numbers. NULL is what a message doesn't
 * contain.
 */
final class ProtobufRows {
  private final Slot[] slots;
  private final OneofDescriptor[] oneofs;

  ProtobufRows(Descriptor message, StructType type) {
    slots = new Slot[type.length()];
    for (int i = 0; i < slots.length; i++) {
      slots[i] =
          new Slot(
              ProtobufTypes.field(message, type.fieldNames()[i]), i, type.fields()[i].dataType());
    }
    Arrays.sort(slots, Comparator.comparing((Slot slot) -> slot.field.getNumber()).reversed());
    for (FieldDescriptor field : message.getFields()) {
      if (field.isRequired() && Stream.of(slots).noneMatch(slot -> slot.field == field)) {
        throw new IllegalArgumentException(
            "no column for " + field.getFullName() + ", which is required");
      }
    }
    oneofs = message.getRealOneofs().toArray(new OneofDescriptor[0]);
  }

  static ProtobufWriter of(FieldDescriptor field, DataType type) {
    boolean group = field.getType() == FieldDescriptor.Type.GROUP;
    String name = ProtobufTypes.messageName(field);
    if (type instanceof StructType) {
      ProtobufRows rows = new ProtobufRows(field.getMessageType(), (StructType) type);
      int length = rows.slots.length;
      ProtobufWriter writer = (out, from, index) -> rows.write(out, from.getStruct(index, length));
      return group ? writer : measured(writer);
    } else if (type instanceof TimestampType && name.equals("google.protobuf.Timestamp")) {
      return measured(ProtobufRows::timestamp);
    } else if (type instanceof DayTimeIntervalType && name.equals("google.protobuf.Duration")) {
      return measured(ProtobufRows::duration);
    } else if (JsonTexts.holds(type) && ProtobufJson.isJson(name)) {
      return new ProtobufJsonWriter(name);
    } else if (ProtobufTypes.isWrapper(name)) {
      return measured(ProtobufWriter.of(field.getMessageType().findFieldByNumber(1), type));
    } else if (JsonTexts.holds(type)) {
      return ProtobufTexts.writer(field);
    }
    throw ProtobufTypes.unfit(field, type);
  }

  private static ProtobufWriter measured(ProtobufWriter writer) {
    return (out, from, index) -> {
      int size = out.size();
      writer.write(out, from, index);
      out.varint(out.size() - size);
    };
  }

  private static void timestamp(ProtobufOutput out, SpecializedGetters from, int index)
      throws BadValue {
    long micros = from.getLong(index);
    long seconds = Math.floorDiv(micros, 1_000_000L);
    Times.ofSeconds(seconds); // Protobuf's years are 1 to 9999
    moment(out, seconds, (int) Math.floorMod(micros, 1_000_000L));
  }

  private static void duration(ProtobufOutput out, SpecializedGetters from, int index)
      throws BadValue {
    long micros = from.getLong(index);
    long seconds = micros / 1_000_000;
    if (Math.abs(seconds) > ProtobufMessages.LONGEST) {
      throw BadValue.of(micros + " microseconds", "a duration of at most 10,000 years");
    }
    moment(out, seconds, (int) (micros % 1_000_000));
  }

  private static void moment(ProtobufOutput out, long seconds, int micros) {
    if (micros != 0) {
      out.varint(micros * 1000L);
      out.tag(2, ProtobufInput.VARINT);
    }
    if (seconds != 0) {
      out.varint(seconds);
      out.tag(1, ProtobufInput.VARINT);
    }
  }

  void write(ProtobufOutput out, InternalRow row) throws BadValue {
    for (OneofDescriptor oneof : oneofs) {
      checkOneof(oneof, row);
    }
    for (Slot slot : slots) {
      try {
        if (!row.isNullAt(slot.index)) {
          slot.writer.write(out, row, slot.index);
        } else if (slot.unfitForNull != null) {
          throw new BadValue(slot.unfitForNull);
        }
      } catch (BadValue error) {
        throw error.in(slot.field.getName());
      }
    }
  }

  private void checkOneof(OneofDescriptor oneof, InternalRow row) throws BadValue {
    Slot last = null;
    for (Slot slot : slots) {
      if (slot.field.getRealContainingOneof() == oneof && !row.isNullAt(slot.index)) {
        if (last != null) {
          throw new BadValue(
                  "a value, and so has "
                      + last.field.getName()
                      + ": oneof "
                      + oneof.getName()
                      + " holds only one")
              .in(slot.field.getName());
        }
        last = slot;
      }
    }
  }

  private static final class Slot {
    private final FieldDescriptor field;
    private final int index;
    private final ProtobufWriter writer;
    private final String unfitForNull;

    Slot(FieldDescriptor field, int index, DataType type) {
      this.field = field;
      this.index = index;
      this.writer = ProtobufWriter.of(field, type);
      this.unfitForNull = unfitForNull(field);
    }

    /** Says why NULL can't be written: it would be read as another value. */
    private static String unfitForNull(FieldDescriptor field) {
      if (field.isRequired()) {
        return "NULL, but the field is required";
      } else if (field.isRepeated()) {
        return "NULL, which would be read as an empty "
            + (field.isMapField() ? "map" : "array")
            + "; use coalesce()";
      } else if (!field.hasPresence()) {
        return "NULL, which would be read as the default of the field; use coalesce(), or make the"
            + " field optional";
      } else if (field.hasDefaultValue()) {
        return "NULL, which would be read as the default of the field; use coalesce()";
      }
      return null;
    }
  }
}
