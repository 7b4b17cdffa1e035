import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;

/**
 * early lock release: the row is free before the disk has it, and nobody is answered before the disk has it.
 *
 * The sale is Conditional's, committed without waiting for the disk; the answer waits for a flush that began after it,
 * one for all who wait. Refusals wait as well: they rest on sales that may not be on the disk yet. A flusher's session
 * that is younger than the sale proves nothing (docs/strategies/early-release.md); such an answer is unknown, and the
 * buyer repeats it with the same key.
 */
final class EarlyRelease implements Recipe {
    private static final String FLUSH = "SELECT pg_logical_emit_message(true, 'shop', '')"; // a commit with nothing in it
    private static final long WAIT_S = 30, AGAIN_MS = 1000;

    private record Slot(int session, CompletableFuture<Boolean> safe) {}

    private final BlockingQueue<Slot> parked = new LinkedBlockingQueue<>();
    private volatile int session; // the flusher's that is open; 0: none

    private void flushForEver(DataSource db) throws InterruptedException {
        for (int number = 1; ; number++, Thread.sleep(AGAIN_MS)) {
            try (var pg = db.getConnection()) {
                Sql.update(pg, "SET synchronous_commit = on");
                for (session = number; ; ) flush(pg, number);
            } catch (SQLException error) {
                session = 0;
            }
        }
    }

    private void flush(Connection pg, int number) throws SQLException, InterruptedException {
        var batch = new ArrayList<>(List.of(parked.take()));
        parked.drainTo(batch); // before the statement is sent
        boolean flushed = false;
        try {
            flushed = Sql.row(pg, FLUSH) != null;
        } finally {
            for (Slot slot : batch) slot.safe.complete(flushed && slot.session == number);
        }
    }

    @Override
    public Answer buy(DataSource db, Redis memory, Order order) throws Exception {
        var slot = new Slot(session, new CompletableFuture<>()); // before the commit: a later session proves nothing
        Answer answer;
        try (var pg = db.getConnection()) {
            Sql.update(pg, "SET synchronous_commit = " + (slot.session == 0 ? "on" : "off"));
            answer = Conditional.buy(pg, order);
        }
        if (slot.session == 0) return answer;
        parked.add(slot);
        if (!slot.safe.get(WAIT_S, TimeUnit.SECONDS)) throw new SQLException("not known to be on the disk");
        return answer;
    }

    @Override
    public void start(DataSource db, Redis memory) {
        Host.inBackground(() -> flushForEver(db));
    }
}
