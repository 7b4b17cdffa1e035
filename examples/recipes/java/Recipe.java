import java.util.UUID;
import javax.sql.DataSource;

/** What Host asks of a recipe: buy, and where it wants them the others. */
interface Recipe {
    record Order(UUID id, long product, long user, String key) {}

    /** A word, and the id of the order where there is one. */
    record Answer(String word, UUID id) {}

    Answer buy(DataSource db, Redis memory, Order order) throws Exception;

    default void start(DataSource db, Redis memory) throws Exception {}

    default void put(Redis memory, long product, int stock) throws Exception {}

    /** "confirmed", "failed", or null: not decided yet. */
    default String status(DataSource db, Redis memory, UUID id) throws Exception {
        return null;
    }

    default boolean quiet(Redis memory) throws Exception {
        return true;
    }
}
