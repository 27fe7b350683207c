package millstream.codecs;

/** The schemas that a call lists, and those of a registry for all other ids. */
public final class RegisteredSchemas implements Schemas {
  private static final long serialVersionUID = 1;
  private final FixedSchemas fixed;
  private final Registry registry;
  private final String type;

  /** Takes the type of schemas that can be used, such as AVRO. */
  public RegisteredSchemas(FixedSchemas fixed, Registry registry, String type) {
    this.fixed = fixed;
    this.registry = registry;
    this.type = type;
  }

  @Override
  public String schemaOf(int id) throws BadValue {
    String listedSchema = fixed.find(id);
    if (listedSchema != null) {
      return listedSchema;
    }
    Registry.Text text = registry.schemaOf(id);
    if (text == null) {
      throw new BadValue("unknown schema id " + id);
    }
    if (!text.type.equals(type)) {
      throw new BadValue("the schema of id " + id + " is " + text.type + ", not " + type);
    }
    return text.schema;
  }

  /** The registry is not compared: what it says of an id never changes. */
  @Override
  public boolean equals(Object other) {
    return other instanceof RegisteredSchemas && fixed.equals(((RegisteredSchemas) other).fixed);
  }

  @Override
  public int hashCode() {
    return fixed.hashCode();
  }
}
