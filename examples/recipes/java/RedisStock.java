import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.UUID;
import javax.sql.DataSource;

/**
 * redis-stock: one script in Redis decides, the buyer is told "accepted", and a writer brings the order to PostgreSQL.
 *
 * The script looks the key up, then the buyer, then the stock, and writes all it has to in the same act. The stream is
 * the hand-over: an entry is acknowledged after its COMMIT, and one that comes twice finds its id there. PostgreSQL has
 * the last word (stock >= 1). Redis wants appendonly yes and appendfsync always; a failover forgets what was not copied
 * yet. A missing stock key means "not loaded", never 0.
 */
final class RedisStock implements Recipe {
    private static final String STREAM = "sale:entries", GROUP = "writer", FAILED = "sale:failed";
    private static final String RESERVE = """
        local known = redis.call('HGET', KEYS[2], ARGV[3])
        if known then return {'accepted', known} end
        if redis.call('SISMEMBER', KEYS[3], ARGV[2]) == 1 then return {'bought_already'} end
        local stock = redis.call('GET', KEYS[1])
        if not stock then return {'busy'} end
        if tonumber(stock) < 1 then return {'sold_out'} end
        redis.call('DECR', KEYS[1])
        redis.call('HSET', KEYS[2], ARGV[3], ARGV[1])
        redis.call('SADD', KEYS[3], ARGV[2])
        redis.call('XADD', KEYS[4], '*', 'id', ARGV[1], 'product', ARGV[5], 'user', ARGV[2], 'key', ARGV[4])
        return {'accepted', ARGV[1]}""";
    private static final String TAKE = "UPDATE product SET stock = stock - 1 WHERE id = ? AND stock >= 1";
    private static final String FIND = "SELECT 1 FROM orders WHERE id = ?";

    private static String name(long product, String what) {
        return "sale:" + product + ":" + what;
    }

    @Override
    public Answer buy(DataSource db, Redis memory, Order order) throws Exception {
        long product = order.product();
        var said = (List<?>) memory.call("EVAL", RESERVE, 4, name(product, "stock"), name(product, "keys"),
            name(product, "users"), STREAM, order.id(), order.user(), order.user() + " " + order.key(), order.key(), product);
        return new Answer((String) said.get(0), said.size() > 1 ? UUID.fromString((String) said.get(1)) : null);
    }

    private static void write(Connection pg, Redis memory, Object entry, List<?> fields) throws Exception {
        var order = new Order(UUID.fromString((String) fields.get(1)), Long.parseLong((String) fields.get(3)),
            Long.parseLong((String) fields.get(5)), (String) fields.get(7));
        String word = Sql.decide(pg, () -> Sql.insert(pg, order) == 1 && Sql.update(pg, TAKE, order.product()) == 1 ? "sold" : null);
        // an entry that was written, and whose acknowledgement was lost, is refused by a UNIQUE, and is there
        if (!"sold".equals(word) && Sql.row(pg, FIND, order.id()) == null) memory.call("HSET", FAILED, order.id(), "failed");
        memory.call("XACK", STREAM, GROUP, entry); // after the COMMIT
    }

    private static void writeForEver(DataSource db, Redis memory) throws Exception {
        try (var pg = db.getConnection()) {
            for (String first = "0"; ; ) { // what was read before and not acknowledged comes first
                var streams = (List<?>) memory.call("XREADGROUP", "GROUP", GROUP, "one", "COUNT", 100, "BLOCK", 1000,
                    "STREAMS", STREAM, first);
                var entries = streams == null ? List.of() : (List<?>) ((List<?>) streams.get(0)).get(1);
                if (entries.isEmpty()) first = ">";
                for (Object entry : entries) write(pg, memory, ((List<?>) entry).get(0), (List<?>) ((List<?>) entry).get(1));
            }
        }
    }

    @Override
    public void start(DataSource db, Redis memory) throws Exception {
        try {
            memory.call("XGROUP", "CREATE", STREAM, GROUP, "0", "MKSTREAM");
        } catch (Redis.Refused error) {
            if (!error.getMessage().contains("BUSYGROUP")) throw error;
        }
        Redis own = memory.duplicate(); // it blocks
        Host.inBackground(() -> writeForEver(db, own));
    }

    @Override
    public void put(Redis memory, long product, int stock) throws Exception { // between sales: the last one's entries are written
        memory.call("DEL", name(product, "keys"), name(product, "users"), FAILED);
        memory.call("SET", name(product, "stock"), stock);
    }

    @Override
    public String status(DataSource db, Redis memory, UUID id) throws Exception {
        try (var pg = db.getConnection()) {
            return Sql.row(pg, FIND, id) != null ? "confirmed" : (String) memory.call("HGET", FAILED, id);
        }
    }

    @Override
    public boolean quiet(Redis memory) throws Exception {
        var group = (List<?>) ((List<?>) memory.call("XINFO", "GROUPS", STREAM)).get(0);
        var stream = (List<?>) memory.call("XINFO", "STREAM", STREAM);
        return after(group, "pending").equals(0L) && after(group, "last-delivered-id").equals(after(stream, "last-generated-id"));
    }

    private static Object after(List<?> reply, String name) {
        return reply.get(reply.indexOf(name) + 1);
    }
}
