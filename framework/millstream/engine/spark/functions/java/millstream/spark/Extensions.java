package millstream.spark;

import java.time.ZoneId;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import millstream.codecs.Decoder;
import millstream.codecs.Encoder;
import millstream.codecs.Framing;
import millstream.codecs.LineDecoder;
import millstream.codecs.Registry;
import millstream.codecs.RequiredDecoder;
import millstream.codecs.avro.AvroEncoder;
import millstream.codecs.avro.AvroFormat;
import millstream.codecs.avro.DebeziumAvro;
import millstream.codecs.avro.DebeziumAvroKey;
import millstream.codecs.json.DebeziumFormat;
import millstream.codecs.json.DebeziumKey;
import millstream.codecs.json.JsonEncoder;
import millstream.codecs.json.JsonFormat;
import millstream.codecs.protobuf.ProtobufEncoding;
import millstream.codecs.protobuf.ProtobufFormat;
import millstream.codecs.text.CsvFormat;
import millstream.codecs.text.TextFormat;
import millstream.codecs.xml.XmlFormat;
import millstream.files.FileColumns;
import millstream.files.FileHeader;
import millstream.files.FilePlace;
import millstream.files.NextFilePlace;
import millstream.rows.Ages;
import millstream.rows.BadReason;
import millstream.rows.Gather;
import millstream.rows.Sent;
import millstream.rows.Tally;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.StructsToJson;
import org.apache.spark.sql.catalyst.expressions.V2ExpressionUtils;
import org.apache.spark.sql.catalyst.json.JSONOptions;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.Tuple3;
import scala.collection.immutable.List$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/** The functions of SQL that Millstream adds to each Spark session. */
public final class Extensions extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
  @Override
  public BoxedUnit apply(SparkSessionExtensions session) {
    decoder(
        session,
        "decode_json",
        1,
        (fields, settings) -> new JsonFormat(fields, zone(), Framing.of(settings.get(0)), false));
    decoder(
        session,
        "decode_json_value",
        1,
        (fields, settings) -> new JsonFormat(fields, zone(), Framing.of(settings.get(0)), true));
    decoder(
        session,
        "decode_debezium",
        2,
        (fields, settings) -> new DebeziumFormat(fields, zone(), settings));
    decoder(
        session,
        "decode_debezium_key",
        2,
        (fields, settings) -> new DebeziumKey(fields, zone(), settings));
    decoder(
        session,
        "decode_debezium_avro",
        3,
        (fields, settings) -> new DebeziumAvro(fields, zone(), settings));
    decoder(
        session,
        "decode_debezium_avro_key",
        3,
        (fields, settings) -> new DebeziumAvroKey(fields, zone(), settings));
    add(
        session,
        "encode_json",
        arguments ->
            encodeJson(
                arguments.get(0),
                zone(),
                arguments.size() > 1 || !SQLConf.get().jsonGeneratorIgnoreNullFields()));
    decoder(session, "decode_avro", 3, (fields, settings) -> AvroFormat.of(fields, settings));
    encoder(session, "encode_avro", (fields, settings) -> AvroEncoder.of(fields, settings));
    decoder(
        session,
        "decode_protobuf",
        3,
        (fields, settings) ->
            new ProtobufFormat(fields, settings.get(0), settings.get(1), settings.get(2)));
    encoder(
        session,
        "encode_protobuf",
        (fields, settings) ->
            new ProtobufEncoding(
                fields,
                settings.get(0),
                settings.get(1),
                settings.get(2),
                id(settings.get(2), settings.get(3))));
    add(
        session,
        "schema_id_header",
        arguments ->
            new Literal(
                Framing.CONFLUENT.header(Registry.writtenId(text(arguments.get(0)))),
                DataTypes.BinaryType));
    add(
        session,
        "bad_reason",
        arguments ->
            V2ExpressionUtils.resolveScalarFunction(
                new BadReason(texts(arguments.subList(1, arguments.size()))),
                seq(arguments.get(0))));
    decoder(
        session, "decode_csv", 4, (fields, settings) -> new CsvFormat(fields, zone(), settings));
    decoder(session, "decode_text", 0, (fields, settings) -> new TextFormat(fields, zone()));
    decoder(
        session, "decode_xml", 3, (fields, settings) -> new XmlFormat(fields, zone(), settings));
    add(
        session,
        "tally",
        arguments ->
            new Aggregate(
                "tally",
                new Tally(
                    numbers(text(arguments.get(1))), Integer.parseInt(text(arguments.get(2)))),
                arguments.get(0),
                0,
                0));
    add(
        session,
        "gather",
        arguments ->
            new Aggregate(
                "gather",
                new Gather(
                    Double.parseDouble(text(arguments.get(1))),
                    Integer.parseInt(text(arguments.get(2)))),
                arguments.get(0),
                0,
                0));
    add(
        session,
        "sent_from",
        arguments ->
            V2ExpressionUtils.resolveScalarFunction(new Sent(false), seq(arguments.get(0))));
    add(
        session,
        "sent_offset",
        arguments ->
            V2ExpressionUtils.resolveScalarFunction(new Sent(true), seq(arguments.get(0))));
    add(
        session,
        "matched",
        arguments ->
            text(arguments.get(2)).isEmpty()
                ? Literal.TrueLiteral()
                : Matched.of(arguments.get(0), Boolean.parseBoolean(text(arguments.get(1)))));
    add(session, "ages", arguments -> new Aggregate("ages", new Ages(), arguments.get(0), 0, 0));
    add(
        session,
        "file_header",
        arguments ->
            V2ExpressionUtils.resolveScalarFunction(
                new FileHeader(
                    text(arguments.get(1)),
                    text(arguments.get(2)),
                    texts(arguments.subList(3, arguments.size()))),
                seq(arguments.get(0))));
    add(
        session,
        "file_place",
        arguments ->
            V2ExpressionUtils.resolveScalarFunction(
                new FilePlace(), seq(arguments.get(0), arguments.get(1))));
    add(
        session,
        "next_file_place",
        arguments ->
            V2ExpressionUtils.resolveScalarFunction(
                new NextFilePlace(), seq(arguments.get(0), arguments.get(1), arguments.get(2))));
    add(
        session,
        "has_file_columns",
        arguments ->
            V2ExpressionUtils.resolveScalarFunction(
                new FileColumns(text(arguments.get(1)), StructType.fromDDL(text(arguments.get(2)))),
                seq(arguments.get(0))));
    return BoxedUnit.UNIT;
  }

  /** Makes what a call needs of the fields and the settings that it names. */
  private interface Maker<T> {
    T of(StructType fields, List<String> settings);
  }

  /**
   * Adds a function of a value, fields and a number of settings, whose rows say what is wrong. With
   * a topic, a partition and an offset at the end, it fails instead. What precedes the reason can
   * follow, and the columns that must be good, of which there is at least one; by default, all must
   * be. With a file and a line at the end, it fails with their place.
   */
  private static void decoder(
      SparkSessionExtensions session, String name, int count, Maker<Decoder.Format> maker) {
    add(
        session,
        name,
        arguments -> {
          StructType fields = StructType.fromDDL(text(arguments.get(1)));
          Decoder.Format format = maker.of(fields, texts(arguments.subList(2, 2 + count)));
          List<Expression> record = arguments.subList(2 + count, arguments.size());
          if (record.size() == 2) {
            return V2ExpressionUtils.resolveScalarFunction(
                new LineDecoder(name, fields, format),
                seq(arguments.get(0), record.get(0), record.get(1)));
          }
          return record.isEmpty()
              ? V2ExpressionUtils.resolveScalarFunction(
                  new Decoder(name, fields, format), seq(arguments.get(0)))
              : V2ExpressionUtils.resolveScalarFunction(
                  new RequiredDecoder(
                      name,
                      fields,
                      format,
                      text(record.get(0)),
                      record.size() > 3 ? text(record.get(3)) : "",
                      record.size() > 4
                          ? texts(record.subList(4, record.size()))
                          : List.of(fields.fieldNames())),
                  seq(arguments.get(0), record.get(1), record.get(2)));
        });
  }

  /** Adds a function of a struct, its fields and settings, which returns bytes. */
  private static void encoder(
      SparkSessionExtensions session, String name, Maker<Encoder.Format> maker) {
    add(
        session,
        name,
        arguments -> {
          StructType fields = StructType.fromDDL(text(arguments.get(1)));
          Encoder.Format format = maker.of(fields, texts(arguments.subList(2, arguments.size())));
          return V2ExpressionUtils.resolveScalarFunction(
              new Encoder(name, fields, format), seq(arguments.get(0)));
        });
  }

  private static void add(
      SparkSessionExtensions session, String name, Function<List<Expression>, Expression> call) {
    Function1<Seq<Expression>, Expression> builder =
        new AbstractFunction1<>() {
          @Override
          public Expression apply(Seq<Expression> arguments) {
            return call.apply(CollectionConverters.asJava(arguments));
          }
        };
    session.injectFunction(
        new Tuple3<>(
            new FunctionIdentifier(name),
            new ExpressionInfo(Decoder.class.getName(), name),
            builder));
  }

  /** Encodes a struct; what has types that are rare is left to Spark. */
  private static Expression encodeJson(Expression struct, ZoneId zone, boolean all) {
    if (struct.dataType() instanceof StructType fields && JsonEncoder.supports(fields)) {
      Encoder encoder = new Encoder("encode_json", fields, new JsonEncoder(fields, zone, all));
      return V2ExpressionUtils.resolveScalarFunction(encoder, seq(struct));
    }
    Map<String, String> options =
        Map.of(
            JSONOptions.TIMESTAMP_FORMAT(),
            JsonEncoder.TIME,
            JSONOptions.TIMESTAMP_NTZ_FORMAT(),
            JsonEncoder.LOCAL_TIME,
            JSONOptions.IGNORE_NULL_FIELDS(),
            Boolean.toString(!all));
    scala.collection.immutable.Map<String, String> json =
        scala.collection.immutable.Map$.MODULE$.from(CollectionConverters.asScala(options));
    return Cast$.MODULE$.apply(
        new StructsToJson(json, struct, scala.Option.apply(zone.getId())),
        DataTypes.BinaryType,
        false);
  }

  private static double[] numbers(String text) {
    return text.isEmpty()
        ? new double[0]
        : Arrays.stream(text.split(",")).mapToDouble(Double::parseDouble).toArray();
  }

  static Seq<Expression> seq(Expression... expressions) {
    return seq(List.of(expressions));
  }

  static <T> Seq<T> seq(List<T> all) {
    return List$.MODULE$.from(CollectionConverters.asScala(all));
  }

  private static String text(Expression literal) {
    return literal.eval(null).toString();
  }

  private static List<String> texts(List<Expression> literals) {
    return literals.stream().map(Extensions::text).collect(Collectors.toList());
  }

  private static int id(String framing, String subject) {
    return Framing.of(framing) == Framing.PLAIN ? 0 : Registry.writtenId(subject);
  }

  private static ZoneId zone() {
    return ZoneId.of(SQLConf.get().sessionLocalTimeZone());
  }
}
