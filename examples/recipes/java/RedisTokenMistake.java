import java.sql.Connection;
import java.sql.SQLException;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;

/**
 * The mistake: a lock with a lease, around a body that trusts it.
 *
 * Every tenth holder stands still for longer than the lease, as a process does that collects its garbage; Redisson's
 * watchdog, a thread of that process, stands still with it. Its lock ends, others sell, and then it writes what it had
 * worked out before. The token is no help: it keeps a late holder from deleting somebody's lock, not from writing.
 * Right: a fence in the row, or a body that decides in the statement that writes.
 */
final class RedisTokenMistake implements Recipe {
    private static final long LEASE_MS = 100, STALL_MS = 300;
    private static final String READ = "SELECT stock FROM product WHERE id = ?";
    private static final String WRITE = "UPDATE product SET stock = ? WHERE id = ?";

    private final AtomicInteger passage = new AtomicInteger();

    private String sell(Connection pg, Order order) throws SQLException {
        int stock = (int) Sql.row(pg, READ, order.product())[0];
        if (stock < 1) return "sold_out";
        if (passage.incrementAndGet() % 10 == 0) Host.standStill(STALL_MS);
        Sql.update(pg, WRITE, stock - 1, order.product());
        Sql.insert(pg, order);
        return "sold";
    }

    @Override
    public Answer buy(DataSource db, Redis memory, Order order) throws Exception {
        String name = "lock:" + order.product(), token = UUID.randomUUID().toString();
        if (!RedisToken.acquire(memory, name, token, LEASE_MS)) return new Answer("busy", null);
        try (var pg = db.getConnection()) {
            return Conditional.said(pg, order, Sql.decide(pg, () -> sell(pg, order)));
        } finally {
            RedisToken.release(memory, name, token);
        }
    }
}
