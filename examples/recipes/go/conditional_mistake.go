package main

import (
	"database/sql"

	"gopkg.in/redis.v5"
)

// The mistake: nobody looks how many rows the UPDATE has changed; "_, err :=" throws RowsAffected away.
//
// "WHERE stock >= 1" keeps the figure from going below nothing, and the order is inserted all the same. The stock looks
// right for ever; the orders are too many. Right: ask for the row count, or feed the INSERT from the UPDATE.
type conditionalMistake struct{}

func (conditionalMistake) buy(db *sql.DB, memory *redis.Client, o order) (answer, error) {
	return sell(db, o, func(tx *sql.Tx) (string, error) {
		_, err := tx.Exec("UPDATE product SET stock = stock - 1 WHERE id = $1 AND stock >= 1", o.product)
		if err == nil {
			_, err = tx.Exec(insert, o.id, o.product, o.user, o.key)
		}
		return "sold", err
	})
}
