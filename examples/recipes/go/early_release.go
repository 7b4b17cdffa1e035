package main

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"
	"time"

	"gopkg.in/redis.v5"
)

// early lock release: the row is free before the disk has it, and nobody is answered before the disk has it.
//
// The sale is conditional's, committed without waiting for the disk; the answer waits for a flush that began after it,
// one for all who wait. Refusals wait as well: they rest on sales that may not be on the disk yet. A flusher's session
// that is younger than the sale proves nothing (docs/strategies/early-release.md); such an answer is unknown, and the
// buyer repeats it with the same key.
type earlyRelease struct {
	parked  chan slot
	session int64 // the flusher's that is open; 0: none
}

type slot struct {
	session int64
	safe    chan bool
}

const flush = "SELECT pg_logical_emit_message(true, 'shop', '')" // a commit of its own, with nothing in it

func (r *earlyRelease) flushForEver(db *sql.DB) {
	for number := int64(1); ; number++ {
		if pg, err := db.Conn(context.Background()); err == nil {
			atomic.StoreInt64(&r.session, number)
			for err == nil {
				batch := []slot{<-r.parked}
				for waiting := len(r.parked); waiting > 0; waiting-- { // taken before the statement is sent
					batch = append(batch, <-r.parked)
				}
				_, err = pg.ExecContext(context.Background(), flush)
				for _, s := range batch {
					s.safe <- err == nil && s.session == number
				}
			}
			atomic.StoreInt64(&r.session, 0)
			pg.Close()
		}
		time.Sleep(time.Second)
	}
}

func (r *earlyRelease) buy(db *sql.DB, memory *redis.Client, o order) (answer, error) {
	s := slot{atomic.LoadInt64(&r.session), make(chan bool, 1)} // before the commit: a later session proves nothing
	word, err := decide(db, func(tx *sql.Tx) (string, error) {
		if s.session != 0 {
			if _, err := tx.Exec("SET LOCAL synchronous_commit = off"); err != nil {
				return "", err
			}
		}
		return takeOne(tx, o)
	})
	if err != nil {
		return answer{}, err
	}
	told, err := said(db, o, word)
	if s.session != 0 && err == nil {
		r.parked <- s
		if !<-s.safe {
			err = errors.New("not known to be on the disk")
		}
	}
	return told, err
}

func (r *earlyRelease) start(db *sql.DB, memory *redis.Client) error {
	go r.flushForEver(db)
	return nil
}
