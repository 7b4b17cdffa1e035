package main

import (
	"database/sql"
	"time"

	"gopkg.in/redis.v5"
)

// The mistake: the version is compared in the program, and the write does not ask for it.
//
// Everybody who has compared before the first one writes is content. Right: the comparison stands in the UPDATE's
// WHERE, and its row count is the answer.
type optimisticMistake struct{}

const moment = 50 * time.Millisecond

// writeOver writes what was worked out from what was read before.
func writeOver(tx *sql.Tx, o order, stock int) (string, error) {
	_, err := tx.Exec("UPDATE product SET stock = $2, version = version + 1 WHERE id = $1", o.product, stock-1)
	if err == nil {
		_, err = tx.Exec(insert, o.id, o.product, o.user, o.key)
	}
	return "sold", err
}

func (optimisticMistake) buy(db *sql.DB, memory *redis.Client, o order) (answer, error) {
	return sell(db, o, func(tx *sql.Tx) (string, error) {
		var stock, version, now int
		if err := tx.QueryRow(read, o.product).Scan(&stock, &version); err != nil || stock < 1 {
			return "sold_out", err
		}
		if err := tx.QueryRow(read, o.product).Scan(&stock, &now); err != nil || now != version {
			return "busy", err
		}
		time.Sleep(moment)
		return writeOver(tx, o, stock)
	})
}
