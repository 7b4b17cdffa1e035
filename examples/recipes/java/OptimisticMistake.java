import java.sql.Connection;
import java.sql.SQLException;
import javax.sql.DataSource;

/**
 * The mistake: the version is compared in the program, and the write does not ask for it.
 *
 * Everybody who has compared before the first one writes is content. Right: the comparison stands in the UPDATE's
 * WHERE, and its row count is the answer.
 */
final class OptimisticMistake implements Recipe {
    private static final long MOMENT_MS = 50;
    private static final String READ = "SELECT stock, version FROM product WHERE id = ?";
    private static final String WRITE = "UPDATE product SET stock = ?, version = ? WHERE id = ?";

    private static String tryOnce(Connection pg, Order order) throws SQLException {
        Object[] row = Sql.row(pg, READ, order.product());
        int stock = (int) row[0], version = (int) row[1];
        if (stock < 1) return "sold_out";
        if (!Sql.row(pg, READ, order.product())[1].equals(version)) return "busy";
        Host.standStill(MOMENT_MS);
        Sql.update(pg, WRITE, stock - 1, version + 1, order.product());
        Sql.insert(pg, order);
        return "sold";
    }

    @Override
    public Answer buy(DataSource db, Redis memory, Order order) throws SQLException {
        try (var pg = db.getConnection()) {
            return Conditional.said(pg, order, Sql.decide(pg, () -> tryOnce(pg, order)));
        }
    }
}
