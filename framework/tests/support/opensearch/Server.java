import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.opensearch.common.settings.Settings;
import org.opensearch.http.HttpServerTransport;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.transport.Netty4Plugin;

/** A node of OpenSearch on a free port of this machine; it stops when its input ends. */
class Server extends Node {
  Server(Settings settings) {
    super(
        InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), null, () -> "test"),
        List.of(Netty4Plugin.class),
        false);
  }

  public static void main(String[] arguments) throws Exception {
    Settings settings =
        Settings.builder()
            .put("path.home", Path.of(arguments[0]).toString())
            .put("network.host", "127.0.0.1")
            .put("http.port", "0")
            .put("transport.port", "0")
            .put("discovery.type", "single-node")
            .put("cluster.routing.allocation.disk.threshold_enabled", false)
            .build();
    try (Node node = new Server(settings).start()) {
      HttpServerTransport http = node.injector().getInstance(HttpServerTransport.class);
      System.out.println(
          "listens at http://127.0.0.1:" + http.boundAddress().publishAddress().getPort());
      System.in.read();
    }
  }
}
