package main

import (
	"database/sql"
	"math/rand"
	"time"

	"gopkg.in/redis.v5"
)

// optimistic: read, work out what to write, and write it only over the version that was read.
//
// For work between reading and writing that a statement cannot do. Each try is a transaction of its own, or it would
// read its own old snapshot; between tries it waits a random time, more each time; and there is an end, after which the
// buyer is told "busy", never "sold out".
type optimistic struct{}

const (
	longest = 10 * time.Second
	read    = "SELECT stock, version FROM product WHERE id = $1"
	write   = "UPDATE product SET stock = $2, version = version + 1 WHERE id = $1 AND version = $3"
)

// "sold", "sold_out", or "": somebody else has written since.
func (optimistic) tryOnce(tx *sql.Tx, o order) (string, error) {
	var stock, version int
	if err := tx.QueryRow(read, o.product).Scan(&stock, &version); err != nil || stock < 1 {
		return "sold_out", err
	}
	result, err := tx.Exec(write, o.product, stock-1, version)
	if err != nil {
		return "", err
	}
	if rows, err := result.RowsAffected(); err != nil || rows == 0 {
		return "", err
	}
	_, err = tx.Exec(insert, o.id, o.product, o.user, o.key)
	return "sold", err
}

func (r optimistic) buy(db *sql.DB, memory *redis.Client, o order) (answer, error) {
	for end, pause := time.Now().Add(longest), time.Millisecond; time.Now().Before(end); pause *= 2 {
		word, err := decide(db, func(tx *sql.Tx) (string, error) { return r.tryOnce(tx, o) })
		if err != nil {
			return answer{}, err
		}
		if word != "" {
			return said(db, o, word)
		}
		if pause > 50*time.Millisecond {
			pause = 50 * time.Millisecond
		}
		time.Sleep(time.Duration(rand.Int63n(int64(pause))))
	}
	return answer{"busy", ""}, nil
}
