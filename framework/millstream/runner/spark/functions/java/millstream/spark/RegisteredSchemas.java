package millstream.spark;

/** The schemas that a call lists, and those of a registry for all other ids. */
final class RegisteredSchemas implements Schemas {
  private static final long serialVersionUID = 1;
  private final FixedSchemas listed;
  private final Registry registry;

  RegisteredSchemas(FixedSchemas listed, Registry registry) {
    this.listed = listed;
    this.registry = registry;
  }

  @Override
  public String schemaOf(int id) throws BadValue {
    String found = listed.find(id);
    if (found == null) {
      found = registry.schemaOf(id);
    }
    if (found == null) {
      throw new BadValue("unknown schema id " + id);
    }
    return found;
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
