package millstream.spark;

/** The schemas that a call lists, and those of a registry for all other ids. */
final class RegisteredSchemas implements Schemas {
  private static final long serialVersionUID = 1;
  private final FixedSchemas listed;
  private final Registry registry;
  private final String type;

  /** Takes the type of schemas that can be used, such as AVRO. */
  RegisteredSchemas(FixedSchemas listed, Registry registry, String type) {
    this.listed = listed;
    this.registry = registry;
    this.type = type;
  }

  @Override
  public String schemaOf(int id) throws BadValue {
    String listedSchema = listed.find(id);
    if (listedSchema != null) {
      return listedSchema;
    }
    Registry.Text found = registry.schemaOf(id);
    if (found == null) {
      throw new BadValue("unknown schema id " + id);
    }
    if (!found.type.equals(type)) {
      throw new BadValue("the schema of id " + id + " is " + found.type + ", not " + type);
    }
    return found.schema;
  }

  /** The registry is not compared: what it says of an id never changes. */
  @Override
  public boolean equals(Object other) {
    return other instanceof RegisteredSchemas && listed.equals(((RegisteredSchemas) other).listed);
  }

  @Override
  public int hashCode() {
    return listed.hashCode();
  }
}
