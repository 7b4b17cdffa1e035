import javax.sql.DataSource;

/**
 * The mistake: Redis is asked, and then told, by two commands, the order in between; and PostgreSQL is not asked at all.
 *
 * Each command is atomic, and the pair is not: all who have read "1" take one. The writer behind it believes what Redis
 * has said. Right: one script that looks and takes, and a writer whose UPDATE has its own "stock >= 1".
 */
final class RedisStockMistake implements Recipe {
    private static final long MOMENT_MS = 200;
    private static final String TAKE = "UPDATE product SET stock = stock - 1 WHERE id = ?";

    @Override
    public void put(Redis memory, long product, int stock) throws Exception {
        memory.call("SET", "sale:" + product + ":stock", stock);
    }

    @Override
    public Answer buy(DataSource db, Redis memory, Order order) throws Exception {
        String name = "sale:" + order.product() + ":stock";
        try (var pg = db.getConnection()) {
            if (Integer.parseInt((String) memory.call("GET", name)) < 1) return Conditional.said(pg, order, "sold_out");
            Host.standStill(MOMENT_MS);
            String word = Sql.decide(pg, () -> {
                Sql.insert(pg, order);
                Sql.update(pg, TAKE, order.product());
                return "sold";
            });
            if (word.equals("sold")) memory.call("DECR", name);
            return Conditional.said(pg, order, word);
        }
    }
}
