package main

import (
	"database/sql"
	"sync/atomic"
	"time"

	"gopkg.in/redis.v5"
)

// The mistake: a lock with a lease, around a body that trusts it.
//
// Every tenth holder stands still for longer than the lease, as a process does that is stopped or swapped out. Its lock
// ends, others sell, and then it writes what it had worked out before. The token is no help: it keeps a late holder from
// deleting somebody's lock, not from writing. Right: a body that decides in the statement that writes, or a fence.
type redisTokenMistake struct{ passage int64 }

func (r *redisTokenMistake) readAndWrite(tx *sql.Tx, o order) (string, error) {
	var stock, version int
	if err := tx.QueryRow(read, o.product).Scan(&stock, &version); err != nil || stock < 1 {
		return "sold_out", err
	}
	if atomic.AddInt64(&r.passage, 1)%10 == 0 {
		time.Sleep(300 * time.Millisecond)
	}
	return writeOver(tx, o, stock)
}

func (r *redisTokenMistake) buy(db *sql.DB, memory *redis.Client, o order) (answer, error) {
	return locked(memory, o, 100*time.Millisecond, func() (answer, error) {
		return sell(db, o, func(tx *sql.Tx) (string, error) { return r.readAndWrite(tx, o) })
	})
}
