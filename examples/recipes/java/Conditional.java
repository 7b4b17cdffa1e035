import java.sql.Connection;
import java.sql.SQLException;
import java.util.UUID;
import javax.sql.DataSource;

/**
 * conditional: one statement decides, and is the whole transaction. Take this one unless something speaks against it.
 *
 * The UPDATE asks whether there is stock at the moment at which it writes, under the row's lock; nobody can come
 * between. Its row feeds the INSERT: no unit, no order; and an order that a UNIQUE refuses takes the unit back with it.
 */
final class Conditional implements Recipe {
    private static final String BUY = """
        WITH taken AS (UPDATE product SET stock = stock - 1 WHERE id = ? AND stock >= 1 RETURNING id)
        INSERT INTO orders (id, product_id, user_id, key) SELECT ?, id, ?, ? FROM taken""";
    private static final String FIND = "SELECT id FROM orders WHERE user_id = ? AND key = ?";

    /** A "no" is said only when the key has no order: the first request of a repeat may have taken the last unit. */
    static Answer said(Connection pg, Order order, String word) throws SQLException {
        if (word.equals("sold")) return new Answer(word, order.id());
        Object[] found = Sql.row(pg, FIND, order.user(), order.key());
        return found == null ? new Answer(word, null) : new Answer("again", (UUID) found[0]);
    }

    static Answer buy(Connection pg, Order order) throws SQLException {
        return said(pg, order, Sql.decide(pg, () -> {
            int sold = Sql.update(pg, BUY, order.product(), order.id(), order.user(), order.key());
            return sold == 1 ? "sold" : "sold_out";
        }));
    }

    @Override
    public Answer buy(DataSource db, Redis memory, Order order) throws SQLException {
        try (var pg = db.getConnection()) {
            return buy(pg, order);
        }
    }
}
