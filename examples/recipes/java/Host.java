import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.Executors;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * What the recipes beside this file have around them: HTTP, sessions with PostgreSQL and Redis, the tables. The same
 * addresses and answers as ../python/host.py, which describes them; SHOP_WAY names the recipe, and with SHOP_UNSAFE=1
 * it is the mistake of that name.
 */
final class Host {
    private static final String SCHEMA = """
        CREATE TABLE IF NOT EXISTS product (id bigint PRIMARY KEY, stock int NOT NULL, version int NOT NULL DEFAULT 1);
        CREATE TABLE IF NOT EXISTS orders (
            id uuid PRIMARY KEY, product_id bigint NOT NULL REFERENCES product, user_id bigint NOT NULL, key text NOT NULL,
            UNIQUE (user_id, key), UNIQUE (product_id, user_id));""";
    private static final String PUT = """
        INSERT INTO product (id, stock) VALUES (?, ?)
        ON CONFLICT (id) DO UPDATE SET stock = excluded.stock, version = product.version + 1""";
    private static final int SESSIONS = 16;
    private static final Map<String, Integer> STATUS = // any other word is a "no": 409
        Map.of("sold", 201, "again", 200, "accepted", 202, "busy", 503);

    private record Reply(int status, String json) {}

    interface Work {
        void run() throws Exception;
    }

    private final Recipe recipe;
    private final HikariDataSource db;
    private final Redis memory;

    private Host(Recipe recipe, HikariDataSource db, Redis memory) {
        this.recipe = recipe;
        this.db = db;
        this.memory = memory;
    }

    /** "host=/run/x port=5432 dbname=shop user=me" is a socket's folder: the driver is lent a way to it. */
    private static HikariDataSource open(String conninfo) {
        var named = Arrays.stream(conninfo.trim().split("\\s+")).map(pair -> pair.split("=", 2))
            .collect(Collectors.toMap(pair -> pair[0], pair -> pair[1]));
        var config = new HikariConfig();
        config.setJdbcUrl("jdbc:postgresql://localhost/" + named.get("dbname"));
        config.setUsername(named.get("user"));
        config.addDataSourceProperty("socketFactory", "org.newsclub.net.unix.AFUNIXSocketFactory$FactoryArg");
        config.addDataSourceProperty("socketFactoryArg", named.get("host") + "/.s.PGSQL." + named.get("port"));
        config.setMaximumPoolSize(SESSIONS + 1); // one for what a recipe does in the background
        return new HikariDataSource(config);
    }

    /** A thread that ends the program when it fails. */
    static void inBackground(Work work) {
        var thread = new Thread(() -> {
            try {
                work.run();
            } catch (Throwable error) {
                error.printStackTrace();
                Runtime.getRuntime().halt(1);
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    /** What a mistake does for a while, so that others come in between. */
    static void standStill(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }

    private Reply putProduct(long product, int stock) throws Exception {
        try (var pg = db.getConnection()) {
            Sql.update(pg, "DELETE FROM orders WHERE product_id = ?", product);
            Sql.update(pg, PUT, product, stock);
        }
        recipe.put(memory, product, stock);
        return new Reply(200, "{\"stock\": " + stock + "}");
    }

    private Reply buy(long product, long user, String key) throws Exception {
        var answer = recipe.buy(db, memory, new Recipe.Order(UUID.randomUUID(), product, user, key));
        String json = answer.id() != null ? "{\"id\": \"" + answer.id() + "\"}" : "{\"code\": \"" + answer.word() + "\"}";
        return new Reply(STATUS.getOrDefault(answer.word(), 409), json);
    }

    private static long number(String body, String name) {
        var found = Pattern.compile("\"" + name + "\":\\s*(\\d+)").matcher(body);
        if (!found.find()) throw new IllegalArgumentException("no " + name);
        return Long.parseLong(found.group(1));
    }

    private Reply route(HttpExchange exchange, String body) throws Exception {
        String[] path = exchange.getRequestURI().getPath().split("/");
        switch (exchange.getRequestMethod() + " " + path[1]) {
            case "POST orders":
                return buy(number(body, "product"), number(body, "user"), exchange.getRequestHeaders().getFirst("Idempotency-Key"));
            case "PUT products":
                return putProduct(Long.parseLong(path[2]), (int) number(body, "stock"));
            case "GET orders":
                String status = recipe.status(db, memory, UUID.fromString(path[2]));
                return new Reply(status == null ? 202 : 200, "{\"status\": \"" + (status == null ? "waiting" : status) + "\"}");
            case "GET quiet":
                return new Reply(200, recipe.quiet(memory) ? "1" : "0");
            default:
                return new Reply(404, "{\"code\": \"no such address\"}");
        }
    }

    private void answer(HttpExchange exchange) throws IOException {
        Reply reply;
        try {
            reply = route(exchange, new String(exchange.getRequestBody().readAllBytes(), UTF_8));
        } catch (Exception error) {
            System.err.println(exchange.getRequestMethod() + " " + exchange.getRequestURI() + ": " + error);
            reply = new Reply(500, "{\"code\": \"unknown\"}");
        }
        byte[] text = reply.json.getBytes(UTF_8);
        exchange.getResponseHeaders().set("Content-Type", "application/json");
        exchange.sendResponseHeaders(reply.status, text.length);
        exchange.getResponseBody().write(text);
        exchange.close();
    }

    public static void main(String[] arguments) throws Exception {
        var way = System.getenv().getOrDefault("SHOP_WAY", "conditional");
        var name = Arrays.stream(way.split("-")).map(word -> word.substring(0, 1).toUpperCase() + word.substring(1))
            .collect(Collectors.joining()) + (System.getenv("SHOP_UNSAFE") == null ? "" : "Mistake");
        var recipe = (Recipe) Class.forName(name).getDeclaredConstructor().newInstance();
        var host = new Host(recipe, open(System.getenv("SHOP_DATABASE")), new Redis(System.getenv("SHOP_REDIS")));
        try (var pg = host.db.getConnection()) {
            Sql.update(pg, SCHEMA);
        }
        host.putProduct(1, 100);
        recipe.start(host.db, host.memory);
        System.setProperty("sun.net.httpserver.nodelay", "true");
        int port = Integer.parseInt(System.getenv().getOrDefault("SHOP_PORT", "0"));
        var server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 128);
        server.setExecutor(Executors.newFixedThreadPool(SESSIONS));
        server.createContext("/", host::answer);
        server.start();
        System.out.println("listening on http://127.0.0.1:" + server.getAddress().getPort());
    }
}
