package main

import (
	"database/sql"
	"sync"

	"gopkg.in/redis.v5"
)

// The mistake: the lock is released before the COMMIT, not before the flush.
//
// Deferred calls run last in, first out: Unlock, which was deferred after Commit, runs before it, and the next one
// reads what was there before this order. Right: COMMIT first, release then; a lock that is taken before the
// transaction begins, and whose Unlock is deferred before it.
type earlyReleaseMistake struct{ mutex sync.Mutex }

func (r *earlyReleaseMistake) lockAndSell(db *sql.DB, o order) (word string, err error) {
	tx, err := db.Begin()
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			tx.Rollback()
			word, err = boughtAlready("", err)
		} else {
			err = tx.Commit()
		}
	}()
	r.mutex.Lock()
	defer r.mutex.Unlock()
	var stock, version int
	if err := tx.QueryRow(read, o.product).Scan(&stock, &version); err != nil || stock < 1 {
		return "sold_out", err
	}
	return writeOver(tx, o, stock)
}

func (r *earlyReleaseMistake) buy(db *sql.DB, memory *redis.Client, o order) (answer, error) {
	word, err := r.lockAndSell(db, o)
	if err != nil {
		return answer{}, err
	}
	return said(db, o, word)
}
