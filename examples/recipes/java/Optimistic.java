import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.ThreadLocalRandom;
import javax.sql.DataSource;

/**
 * optimistic: read, work out what to write, and write it only over the version that was read; JPA's @Version does that.
 *
 * For work between reading and writing that a statement cannot do. Each try is a transaction of its own, or it would
 * read its own old snapshot: the loop stands outside of what @Transactional is written on. Between tries it waits a
 * random time, more each time; and there is an end, after which the buyer is told "busy", never "sold out".
 */
final class Optimistic implements Recipe {
    private static final long WAIT_MS = 10_000;
    private static final String READ = "SELECT stock, version FROM product WHERE id = ?";
    private static final String WRITE = "UPDATE product SET stock = ?, version = version + 1 WHERE id = ? AND version = ?";

    /** "sold", "sold_out", or null: somebody else has written since. */
    private static String tryOnce(Connection pg, Order order) throws SQLException {
        Object[] row = Sql.row(pg, READ, order.product());
        if (row == null || (int) row[0] < 1) return "sold_out";
        if (Sql.update(pg, WRITE, (int) row[0] - 1, order.product(), row[1]) == 0) return null;
        Sql.insert(pg, order);
        return "sold";
    }

    @Override
    public Answer buy(DataSource db, Redis memory, Order order) throws Exception {
        long end = System.currentTimeMillis() + WAIT_MS;
        try (var pg = db.getConnection()) {
            for (long pause = 1; System.currentTimeMillis() < end; pause = Math.min(2 * pause, 50)) {
                String word = Sql.decide(pg, () -> tryOnce(pg, order));
                if (word != null) return Conditional.said(pg, order, word);
                Thread.sleep(ThreadLocalRandom.current().nextLong(pause + 1));
            }
        }
        return new Answer("busy", null);
    }
}
