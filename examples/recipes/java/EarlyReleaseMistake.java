import java.sql.Connection;
import java.sql.SQLException;
import javax.sql.DataSource;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.jdbc.datasource.DataSourceUtils;
import org.springframework.transaction.annotation.AnnotationTransactionAttributeSource;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.interceptor.TransactionInterceptor;

/**
 * The mistake: the lock is released before the COMMIT, not before the flush; here by Spring.
 *
 * @Transactional commits in the proxy around the method, and "synchronized" ends with the method, as does a lock that
 * its finally unlocks: the next one reads what was there before this order. Right: the lock outside of what is
 * @Transactional (TransactionTemplate, or a method of another bean; a call of one's own method passes no proxy).
 */
final class EarlyReleaseMistake implements Recipe {
    interface Seller {
        String sell(Order order) throws SQLException;
    }

    private record Service(DataSource db) implements Seller {
        private static final String READ = "SELECT stock FROM product WHERE id = ?";
        private static final String WRITE = "UPDATE product SET stock = ? WHERE id = ?";

        @Override
        @Transactional(rollbackFor = SQLException.class)
        public synchronized String sell(Order order) throws SQLException {
            Connection pg = DataSourceUtils.getConnection(db); // the transaction's
            int stock = (int) Sql.row(pg, READ, order.product())[0];
            if (stock < 1) return "sold_out";
            Sql.update(pg, WRITE, stock - 1, order.product());
            Sql.insert(pg, order);
            return "sold";
        }
    }

    private Seller seller; // what @Autowired would be given

    @Override
    public void start(DataSource db, Redis memory) {
        var proxy = new ProxyFactory(new Service(db));
        proxy.addAdvice(new TransactionInterceptor(new DataSourceTransactionManager(db), new AnnotationTransactionAttributeSource()));
        seller = (Seller) proxy.getProxy();
    }

    @Override
    public Answer buy(DataSource db, Redis memory, Order order) throws SQLException {
        String word;
        try {
            word = seller.sell(order);
        } catch (SQLException error) {
            if (!Sql.isUniqueViolation(error)) throw error;
            word = "bought_already";
        }
        try (var pg = db.getConnection()) {
            return Conditional.said(pg, order, word);
        }
    }
}
