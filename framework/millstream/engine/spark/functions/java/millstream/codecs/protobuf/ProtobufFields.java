package millstream.codecs.protobuf;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import millstream.codecs.BadColumns;
import millstream.codecs.BadValue;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.sparkproject.spark_core.protobuf.Descriptors.Descriptor;
import org.sparkproject.spark_core.protobuf.Descriptors.FieldDescriptor;

/**
 * The fields of a message that columns ask for. The others are skipped, except that a required one
 * must be there, and a member of a oneof takes the place of the member that a column asks for.
 */
final class ProtobufFields {
  private static final int DENSE = 128;
  private final Slot[] columns;
  private final boolean entry;
  private final int positions;
  private final Slot[] byNumber = new Slot[DENSE];
  private final Map<Integer, Slot> beyond = new HashMap<>();
  private final List<Slot> required = new ArrayList<>();

  ProtobufFields(Descriptor message, StructType type) {
    this(
        message,
        type.fieldNames(),
        Stream.of(type.fields()).map(f -> f.dataType()).toArray(DataType[]::new));
    for (int i = 0; i < columns.length; i++) {
      columns[i].nullable = type.fields()[i].nullable();
    }
  }

  ProtobufFields(Descriptor message, String[] names, DataType[] types) {
    entry = message.getOptions().getMapEntry();
    columns = new Slot[names.length];
    Map<FieldDescriptor, Slot> slots = new HashMap<>();
    for (int i = 0; i < names.length; i++) {
      FieldDescriptor field = ProtobufTypes.field(message, names[i]);
      columns[i] = new Slot(field, i, ProtobufReader.of(field, types[i]));
      slots.put(field, columns[i]);
    }
    for (FieldDescriptor field : message.getFields()) {
      if (!slots.containsKey(field)
          && (field.isRequired() || field.getRealContainingOneof() != null)) {
        slots.put(field, unread(field, slots.size()));
      }
    }
    positions = slots.size();
    slots.values().forEach(slot -> add(slot, slots));
  }

  /** Returns the slot of a field that counts even if nobody asks for it. */
  private static Slot unread(FieldDescriptor field, int index) {
    // An unknown number of an enum is bad: it would not count as present.
    boolean number = field.getJavaType() == FieldDescriptor.JavaType.ENUM;
    return new Slot(field, index, number ? ProtobufScalars.of(field, DataTypes.StringType) : null);
  }

  private void add(Slot slot, Map<FieldDescriptor, Slot> slots) {
    if (slot.field.getNumber() < DENSE) {
      byNumber[slot.field.getNumber()] = slot;
    } else {
      beyond.put(slot.field.getNumber(), slot);
    }
    if (slot.field.isRequired()) {
      required.add(slot);
    }
    if (slot.field.getRealContainingOneof() != null) {
      slot.others =
          slot.field.getRealContainingOneof().getFields().stream()
              .filter(other -> other != slot.field)
              .mapToInt(other -> slots.get(other).index)
              .toArray();
    }
    if (slot.field.isRequired() || slot.field.getRealContainingOneof() != null) {
      slot.unread = unread(slot.field, slot.index);
      slot.unread.others = slot.others;
    }
  }

  /**
   * Returns the values of the columns of a whole message, and the {@link BadColumns} among them, or
   * null.
   */
  Object[] values(ProtobufInput in) throws BadValue {
    Object[] states = new Object[Math.max(positions, columns.length + 1)];
    BadColumns bad = null;
    while (in.hasMore()) {
      int tag = in.tag();
      Slot slot = slot(tag);
      if (slot == null) {
        in.skip(tag);
        continue;
      }
      int start = in.position();
      int end = in.end();
      String name = slot.field.getName();
      try {
        if (BadColumns.has(bad, name)) {
          slot.pass(in, states, tag);
        } else {
          slot.read(in, states, tag);
        }
      } catch (BadValue error) {
        in.reset(start, end);
        if (slot.index >= columns.length
            || BadColumns.has(bad, name)
            || !slot.passes(in, states, tag)) {
          throw error.in(name);
        }
        bad = BadColumns.with(bad, name, error);
      }
    }
    checkRequired(states);
    for (int i = 0; i < columns.length; i++) {
      String name = columns[i].field.getName();
      try {
        states[i] = BadColumns.has(bad, name) ? null : columns[i].value(states[i]);
      } catch (BadValue error) {
        bad = BadColumns.with(bad, name, error);
        states[i] = null;
      }
    }
    Object[] row =
        states.length == columns.length + 1 ? states : Arrays.copyOf(states, columns.length + 1);
    row[columns.length] = bad;
    return row;
  }

  /** Returns the states of all fields before the first byte. */
  Object[] start() {
    return new Object[positions];
  }

  /** Reads to the end of the bytes. */
  void read(ProtobufInput in, Object[] states) throws BadValue {
    while (in.hasMore()) {
      read(in, states, in.tag());
    }
  }

  /** Reads to the tag that ends a group. */
  void readGroup(ProtobufInput in, Object[] states, int number) throws BadValue {
    while (in.hasMore()) {
      int tag = in.tag();
      if ((tag & 7) == ProtobufInput.END_GROUP) {
        ProtobufInput.closed(number << 3, tag);
        return;
      }
      read(in, states, tag);
    }
    throw new BadValue("the value ends within a group");
  }

  private void read(ProtobufInput in, Object[] states, int tag) throws BadValue {
    Slot slot = slot(tag);
    if (slot == null) {
      if (entry) {
        throw inEntry(tag);
      }
      in.skip(tag);
      return;
    }
    try {
      slot.read(in, states, tag);
    } catch (BadValue error) {
      throw error.in(slot.field.getName());
    }
  }

  private Slot slot(int tag) {
    int number = tag >>> 3;
    return number < DENSE ? byNumber[number] : beyond.get(number);
  }

  /**
   * No schema adds fields to entries of maps, and runtimes don't agree whether such an entry is in
   * the map.
   */
  static BadValue inEntry(int tag) {
    return new BadValue(
        "field " + (tag >>> 3) + " in an entry of a map, which has a key and a value");
  }

  /** Turns the states of the fields into the values of the columns. */
  void finish(Object[] states) throws BadValue {
    checkRequired(states);
    for (int i = 0; i < columns.length; i++) {
      try {
        states[i] = columns[i].value(states[i]);
      } catch (BadValue error) {
        throw error.in(columns[i].field.getName());
      }
    }
  }

  private void checkRequired(Object[] states) throws BadValue {
    for (Slot slot : required) {
      if (states[slot.index] == null) {
        throw new BadValue("the required field is missing").in(slot.field.getName());
      }
    }
  }

  /** Returns the values of the columns alone. */
  Object[] row(Object[] states) {
    return positions == columns.length ? states : Arrays.copyOf(states, columns.length);
  }

  private static final class Slot {
    private final FieldDescriptor field;
    private final int index;
    private final ProtobufReader reader;
    private final int wireType;
    private final boolean packable;
    private final boolean absentIsValue;
    private int[] others = {};
    private Slot unread;
    private boolean nullable = true;

    Slot(FieldDescriptor field, int index, ProtobufReader reader) {
      this.field = field;
      this.index = index;
      this.reader = reader;
      this.wireType = ProtobufTypes.wireType(field);
      this.packable = field.isPackable();
      // A field of an entry is always there; absent fields of proto2 have values if the schema
      // gives them.
      this.absentIsValue =
          !field.hasPresence()
              || field.hasDefaultValue()
              || field.getContainingType().getOptions().getMapEntry();
    }

    /** Passes a value of a bad column, as if no column asked for it. */
    void pass(ProtobufInput in, Object[] states, int tag) throws BadValue {
      if (unread == null) {
        in.skip(tag);
      } else {
        unread.read(in, states, tag);
      }
    }

    private boolean passes(ProtobufInput in, Object[] states, int tag) {
      try {
        pass(in, states, tag);
        return true;
      } catch (BadValue error) {
        return false;
      }
    }

    /** Turns the last state of the field into the value of its column. */
    Object value(Object state) throws BadValue {
      if (state != null) {
        return reader.finish(state);
      }
      if (!absentIsValue && !nullable) {
        throw new BadValue("the value is missing");
      }
      return absentIsValue ? reader.absent() : null;
    }

    void read(ProtobufInput in, Object[] states, int tag) throws BadValue {
      int number = tag & 7;
      if (number == wireType) {
        if (reader == null) {
          in.skip(tag);
          states[index] = Boolean.TRUE;
        } else {
          states[index] = reader.read(in, states[index]);
        }
        for (int other : others) {
          states[other] = null;
        }
      } else if (packable && number == ProtobufInput.LENGTH) {
        int outer = in.enter();
        while (in.hasMore()) {
          states[index] = reader.read(in, states[index]);
        }
        in.leave(outer);
      } else if (number == ProtobufInput.END_GROUP) {
        in.skip(tag);
      } else {
        // By Protobuf's rules such a value is unknown, and the field would silently be absent.
        String type = field.getType().name().toLowerCase(java.util.Locale.ROOT);
        throw new BadValue(
            "a value of wire type " + ProtobufInput.name(number) + " is not of type " + type);
      }
    }
  }
}
