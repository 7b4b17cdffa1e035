import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;

/** A statement in one line, and a transaction around several. */
final class Sql {
    interface Work {
        String run() throws SQLException;
    }

    private static PreparedStatement prepare(Connection pg, String sql, Object[] values) throws SQLException {
        PreparedStatement statement = pg.prepareStatement(sql);
        for (int i = 0; i < values.length; i++) statement.setObject(i + 1, values[i]);
        return statement;
    }

    /** How many rows it has changed. */
    static int update(Connection pg, String sql, Object... values) throws SQLException {
        try (var statement = prepare(pg, sql, values)) {
            return statement.executeUpdate();
        }
    }

    /** Its first row, or null. */
    static Object[] row(Connection pg, String sql, Object... values) throws SQLException {
        try (var statement = prepare(pg, sql, values); var rows = statement.executeQuery()) {
            if (!rows.next()) return null;
            var row = new Object[rows.getMetaData().getColumnCount()];
            for (int i = 0; i < row.length; i++) row[i] = rows.getObject(i + 1);
            return row;
        }
    }

    static int insert(Connection pg, Recipe.Order order) throws SQLException {
        return update(pg, "INSERT INTO orders (id, product_id, user_id, key) VALUES (?, ?, ?, ?)",
            order.id(), order.product(), order.user(), order.key());
    }

    static boolean isUniqueViolation(SQLException error) {
        return "23505".equals(error.getSQLState());
    }

    /** The work's word, committed; null: rolled back. An order that a UNIQUE refuses is "bought_already". */
    static String decide(Connection pg, Work work) throws SQLException {
        String word = null;
        pg.setAutoCommit(false);
        try {
            String worked = work.run();
            if (worked != null) pg.commit();
            word = worked;
        } catch (SQLException error) {
            if (!isUniqueViolation(error)) throw error;
            pg.rollback();
            word = "bought_already";
        } finally {
            if (word == null) pg.rollback();
            pg.setAutoCommit(true);
        }
        return word;
    }
}
