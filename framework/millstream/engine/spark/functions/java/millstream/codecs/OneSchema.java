package millstream.codecs;

/** The schema that all records were written with. */
public final class OneSchema implements Schemas {
  private static final long serialVersionUID = 1;
  private final String schema;

  public OneSchema(String schema) {
    this.schema = schema;
  }

  @Override
  public String schemaOf(int id) {
    return schema;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof OneSchema && schema.equals(((OneSchema) other).schema);
  }

  @Override
  public int hashCode() {
    return schema.hashCode();
  }
}
