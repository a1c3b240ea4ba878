import jakarta.servlet.DispatcherType;
import jakarta.servlet.Filter;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.rest.RESTCatalogAdapter;
import org.apache.iceberg.rest.RESTCatalogServlet;
import org.eclipse.jetty.ee10.servlet.FilterHolder;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

/**
 * Iceberg's REST catalog on loopback, at a free port that it prints. It ends when its standard input does.
 *
 * <p>What the bearer of a token may not do is answered with 403: `reader` reads alone, `no-tables` makes no tables,
 * `no-views` makes and changes no views, `no-drops` drops nothing. Others, and whoever has no token, may do all.
 *
 * <p>Whoever begins with `silent` is not told what the server has, as by servers older than that part of the protocol.
 */
public class RestCatalog {
  static boolean mayNot(String token, String method, String path) {
    boolean writes = !Set.of("GET", "HEAD").contains(method) && !path.endsWith("/metrics");
    return switch (token) {
      case "Bearer reader" -> writes;
      case "Bearer no-tables" -> writes && path.endsWith("/tables");
      case "Bearer no-drops" -> method.equals("DELETE");
      case "Bearer no-views" -> writes && path.contains("/views");
      default -> false;
    };
  }

  static final Filter RIGHTS =
      (request, response, chain) -> {
        var asked = (HttpServletRequest) request;
        String token = String.valueOf(asked.getHeader("Authorization"));
        if (token.startsWith("Bearer silent") && asked.getRequestURI().endsWith("/v1/config")) {
          response.setContentType("application/json");
          response.getWriter().write("{\"defaults\": {}, \"overrides\": {\"namespace-separator\": \"%2E\"}}");
          return;
        }
        if (!mayNot(token, asked.getMethod(), asked.getRequestURI())) {
          chain.doFilter(request, response);
          return;
        }
        String message = token.substring(7) + " may not " + asked.getMethod() + " " + asked.getRequestURI();
        ((HttpServletResponse) response).setStatus(403);
        response.setContentType("application/json");
        response
            .getWriter()
            .write("{\"error\": {\"message\": \"" + message + "\", \"type\": \"ForbiddenException\", \"code\": 403}}");
      };

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
    context.addFilter(new FilterHolder(RIGHTS), "/*", EnumSet.of(DispatcherType.REQUEST));
    context.addServlet(new ServletHolder(new RESTCatalogServlet(new RESTCatalogAdapter(catalog))), "/*");
    server.setHandler(context);
    server.start();
    System.out.println("port " + connector.getLocalPort());
    System.out.flush();
    while (System.in.read() >= 0) {}
    server.stop();
  }
}
