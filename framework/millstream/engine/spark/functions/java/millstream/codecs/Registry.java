package millstream.codecs;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.Serializable;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import org.apache.avro.AvroRuntimeException;
import org.apache.avro.Schema;

/**
 * A schema registry, asked for the schemas of ids that turn up while a query runs. It is sent to
 * executors with the functions that need it; its login is in no plan and no setting.
 */
public final class Registry implements Serializable {
  private static final long serialVersionUID = 1;
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Duration PATIENCE = Duration.ofSeconds(10);
  private static final int ATTEMPTS = 2;
  private static final long REST = Duration.ofSeconds(10).toNanos();
  private static final Map<String, Text> CACHE = new ConcurrentHashMap<>();

  /** When an id was last not found: a topic may hold many records with it. */
  private static final Map<String, Long> MISSING = new ConcurrentHashMap<>();

  private static volatile Registry current;
  private static volatile Map<String, Integer> written = Map.of();

  /** Of one registry, or of a cluster: the next one is asked if one does not answer. */
  private final String[] urls;

  private final String authorization;
  private final byte[] authority;
  private final byte[] identity;
  private final String password;
  private transient HttpClient client;

  private Registry(
      String[] urls, String authorization, byte[] authority, byte[] identity, String password) {
    this.urls = urls;
    this.authorization = authorization;
    this.authority = authority;
    this.identity = identity;
    this.password = password;
  }

  /**
   * Sets the registry of the functions that are resolved from now on.
   *
   * @param urls separated by commas; empty if there is no registry
   * @param authority the certificates to trust, as PEM; empty for those of Java
   * @param identity the certificate and the key of this client, as PKCS #12 with a password; empty
   *     if it needs none
   * @param ids those of the schemas that values are written with, by subject
   */
  public static void use(
      String urls,
      String authorization,
      byte[] authority,
      byte[] identity,
      String password,
      Map<String, Integer> ids) {
    current =
        urls.isEmpty()
            ? null
            : new Registry(urls.split(","), authorization, authority, identity, password);
    written = Map.copyOf(ids);
  }

  /** Forgets what an earlier command has left in this JVM. */
  public static void forget() {
    current = null;
    written = Map.of();
    CACHE.clear();
    MISSING.clear();
  }

  /** Returns the id that precedes written values whose schema a subject has. */
  public static int writtenId(String subject) {
    Integer number = written.get(subject);
    if (number == null) {
      throw Failure.of("no schema of subject '" + subject + "' is registered");
    }
    return number;
  }

  public static Registry current() {
    return current;
  }

  /** A schema with all that it refers to, and its type, such as AVRO. */
  public static final class Text {
    public final String type;
    public final String schema;

    Text(String type, String schema) {
      this.type = type;
      this.schema = schema;
    }
  }

  /** Returns a schema, or null if there is none of this id. */
  public Text schemaOf(int id) {
    String key = urls[0] + " " + id;
    Text text = CACHE.get(key);
    if (text != null) {
      return text;
    }
    Long requested = MISSING.get(key);
    if (requested != null && System.nanoTime() - requested < REST) {
      return null;
    }
    JsonNode answer = get("/schemas/ids/" + id);
    if (answer == null) {
      MISSING.put(key, System.nanoTime());
      return null;
    }
    text =
        new Text(answer.path("schemaType").asText("AVRO"), complete(answer, new Schema.Parser()));
    CACHE.put(key, text);
    return text;
  }

  /**
   * Returns the text of a schema; those that it refers to are parsed first, and become a part of
   * it.
   */
  private String complete(JsonNode answer, Schema.Parser parser) {
    String text = answer.path("schema").textValue();
    if (text == null
        || text.isEmpty()) { // a page of a proxy, for example: the record itself may be good
      throw failure(urls[0], " does not answer with a schema");
    }
    if (!answer.path("schemaType").asText("AVRO").equals("AVRO")) {
      return text;
    }
    for (JsonNode node : answer.path("references")) {
      String subject =
          URLEncoder.encode(node.path("subject").asText(), StandardCharsets.UTF_8)
              .replace("+", "%20");
      JsonNode other =
          get(
              "/subjects/"
                  + subject
                  + "/versions/"
                  + node.path("version").asInt()
                  + "?deleted=true");
      if (other != null && !parser.getTypes().containsKey(node.path("name").asText())) {
        complete(other, parser);
      }
    }
    try {
      return parser.parse(text).toString();
    } catch (AvroRuntimeException
        | NullPointerException error) { // the latter for some undefined types
      return text; // reported when a record is decoded
    }
  }

  /** Returns an answer, or null if there is nothing of that name. */
  private JsonNode get(String path) {
    RuntimeException last = null;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
      for (String url : urls) {
        try {
          HttpResponse<byte[]> response =
              client().send(request(url, path), HttpResponse.BodyHandlers.ofByteArray());
          if (response.statusCode() == 404 && isUnknown(response.body())) {
            return null;
          }
          if (response.statusCode() == 200) {
            return JSON.readTree(response.body());
          }
          last = failure(url, " refuses " + path + ": HTTP " + response.statusCode());
          if (response.statusCode() < 500) {
            throw last;
          }
        } catch (IOException error) {
          last = failure(url, " does not answer: " + error.getClass().getSimpleName());
        } catch (InterruptedException error) {
          Thread.currentThread().interrupt();
          throw Failure.of("interrupted while asking the schema registry");
        }
      }
    }
    throw last;
  }

  /** Tells whether the registry itself says so, not a proxy that doesn't find the registry. */
  private static boolean isUnknown(byte[] answer) {
    try {
      int code = JSON.readTree(answer).path("error_code").asInt();
      return code >= 40401 && code <= 40403; // a subject, a version, a schema
    } catch (IOException error) {
      return false;
    }
  }

  private static RuntimeException failure(String url, String what) {
    URI address = URI.create(url);
    return Failure.of(
        "the schema registry at " + address.getHost() + ":" + address.getPort() + what);
  }

  private HttpRequest request(String url, String path) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(url + path))
            .timeout(PATIENCE)
            .header("Accept", "application/vnd.schemaregistry.v1+json, application/json");
    return (authorization.isEmpty() ? request : request.header("Authorization", authorization))
        .build();
  }

  private synchronized HttpClient client() {
    if (client == null) {
      HttpClient.Builder builder =
          HttpClient.newBuilder()
              .connectTimeout(PATIENCE)
              .followRedirects(HttpClient.Redirect.NEVER)
              .version(HttpClient.Version.HTTP_1_1);
      if (authority.length > 0 || identity.length > 0) {
        builder.sslContext(context());
      }
      client = builder.build();
    }
    return client;
  }

  /**
   * Returns a context that trusts the given certificates alone, if there are any, and shows that of
   * this client.
   */
  private SSLContext context() {
    try {
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(
          identity.length == 0 ? null : identity(), authority.length == 0 ? null : trusted(), null);
      return context;
    } catch (GeneralSecurityException | IOException error) {
      throw Failure.of(
          "the certificates of the schema registry can't be read: " + error.getMessage());
    }
  }

  private TrustManager[] trusted() throws GeneralSecurityException, IOException {
    KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
    store.load(null, null);
    int number = 0;
    for (Certificate certificate :
        CertificateFactory.getInstance("X.509")
            .generateCertificates(new ByteArrayInputStream(authority))) {
      store.setCertificateEntry("ca" + number++, certificate);
    }
    TrustManagerFactory trust =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(store);
    return trust.getTrustManagers();
  }

  private KeyManager[] identity() throws GeneralSecurityException, IOException {
    KeyStore store = KeyStore.getInstance("PKCS12");
    store.load(new ByteArrayInputStream(identity), password.toCharArray());
    KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    keys.init(store, password.toCharArray());
    return keys.getKeyManagers();
  }
}
