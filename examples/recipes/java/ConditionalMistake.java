import java.sql.SQLException;
import javax.sql.DataSource;

/**
 * The mistake: nobody looks what executeUpdate has returned (of Spring Data's @Modifying, or MyBatis, the same int).
 *
 * "WHERE stock >= 1" keeps the figure from going below nothing, and the order is inserted all the same. The stock looks
 * right for ever; the orders are too many. Right: ask for the row count, or feed the INSERT from the UPDATE.
 */
final class ConditionalMistake implements Recipe {
    private static final String TAKE = "UPDATE product SET stock = stock - 1 WHERE id = ? AND stock >= 1";

    @Override
    public Answer buy(DataSource db, Redis memory, Order order) throws SQLException {
        try (var pg = db.getConnection()) {
            return Conditional.said(pg, order, Sql.decide(pg, () -> {
                Sql.update(pg, TAKE, order.product());
                Sql.insert(pg, order);
                return "sold";
            }));
        }
    }
}
