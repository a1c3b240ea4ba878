import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.rest.RESTCatalogAdapter;
import org.apache.iceberg.rest.RESTCatalogServlet;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

/** Iceberg's REST catalog on loopback, at a free port that it prints. It ends when its standard input does. */
public class RestCatalog {
  public static void main(String[] arguments) throws Exception {
    Map<String, String> properties = new HashMap<>();
    properties.put("catalog-impl", "org.apache.iceberg.jdbc.JdbcCatalog");
    properties.put("uri", "jdbc:sqlite:" + arguments[0]);
    properties.put("warehouse", arguments[1]);
    properties.put("jdbc.schema-version", "V1"); // the first version has no views
    var catalog = CatalogUtil.buildIcebergCatalog("rest", properties, new Configuration());
    Server server = new Server();
    ServerConnector connector = new ServerConnector(server);
    connector.setHost("127.0.0.1");
    server.addConnector(connector);
    ServletContextHandler context = new ServletContextHandler();
    context.addServlet(new ServletHolder(new RESTCatalogServlet(new RESTCatalogAdapter(catalog))), "/*");
    server.setHandler(context);
    server.start();
    System.out.println("port " + connector.getLocalPort());
    System.out.flush();
    while (System.in.read() >= 0) {}
    server.stop();
  }
}
