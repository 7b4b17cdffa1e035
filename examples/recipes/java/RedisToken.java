import java.sql.Connection;
import java.sql.SQLException;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import javax.sql.DataSource;

/**
 * redis-token, with a fence: a lock in Redis with an owner, and in the row the number of its last holder.
 *
 * With Redisson, which Debian has not, acquire and release are RLock.tryLock and unlock. Neither a lease nor a watchdog
 * stops a holder that was paused past it, but the row does: each holder counts its version up, in a commit of its own
 * and before it reads, and writes only where its own number still stands. The number comes from the row and not from
 * Redis (RFencedLock), so that a Redis which forgets does no harm.
 */
final class RedisToken implements Recipe {
    private static final long WAIT_MS = 10_000, LEASE_MS = 5000;
    private static final String RELEASE =
        "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";
    private static final String ENTER = "UPDATE product SET version = version + 1 WHERE id = ? RETURNING stock, version";
    private static final String WRITE = "UPDATE product SET stock = ? WHERE id = ? AND version = ?";

    static boolean acquire(Redis memory, String name, String token, long leaseMs) throws Exception {
        long end = System.currentTimeMillis() + WAIT_MS;
        for (long pause = 1; memory.call("SET", name, token, "NX", "PX", leaseMs) == null; pause = Math.min(2 * pause, 20)) {
            if (System.currentTimeMillis() >= end) return false;
            Thread.sleep(ThreadLocalRandom.current().nextLong(pause + 1));
        }
        return true;
    }

    static void release(Redis memory, String name, String token) throws Exception {
        memory.call("EVAL", RELEASE, 1, name, token);
    }

    /** "sold", "sold_out", or "busy": a later holder is at work, and nothing was done. */
    private static String sell(Connection pg, Order order) throws SQLException {
        Object[] row = Sql.row(pg, ENTER, order.product());
        if (row == null || (int) row[0] < 1) return "sold_out";
        String word = Sql.decide(pg, () -> {
            if (Sql.update(pg, WRITE, (int) row[0] - 1, order.product(), row[1]) == 0) return null;
            Sql.insert(pg, order);
            return "sold";
        });
        return word == null ? "busy" : word;
    }

    @Override
    public Answer buy(DataSource db, Redis memory, Order order) throws Exception {
        String name = "lock:" + order.product(), token = UUID.randomUUID().toString();
        if (!acquire(memory, name, token, LEASE_MS)) return new Answer("busy", null);
        try (var pg = db.getConnection()) {
            return Conditional.said(pg, order, sell(pg, order)); // committed: commit first, release then
        } finally {
            release(memory, name, token);
        }
    }
}
