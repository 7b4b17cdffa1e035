package main

import (
	"database/sql"

	"gopkg.in/redis.v5"
)

// conditional: one statement decides, and is the whole transaction. Take this one unless something speaks against it.
//
// The UPDATE asks whether there is stock at the moment at which it writes, under the row's lock; nobody can come
// between. Its row feeds the INSERT: no unit, no order; and an order that a UNIQUE refuses takes the unit back with it.
type conditional struct{}

const buy = `
WITH taken AS (UPDATE product SET stock = stock - 1 WHERE id = $2 AND stock >= 1 RETURNING id)
INSERT INTO orders (id, product_id, user_id, key) SELECT $1, id, $3, $4 FROM taken`

// said: a "no" is said only when the key has no order: the first request of a repeat may have taken the last unit.
func said(db *sql.DB, o order, word string) (answer, error) {
	if word == "sold" {
		return answer{word, o.id}, nil
	}
	var id string
	err := db.QueryRow("SELECT id FROM orders WHERE user_id = $1 AND key = $2", o.user, o.key).Scan(&id)
	if err == sql.ErrNoRows {
		return answer{word, ""}, nil
	}
	return answer{"again", id}, err
}

// sell: what the work decides, committed, as the buyer is told it.
func sell(db *sql.DB, o order, work func(tx *sql.Tx) (string, error)) (answer, error) {
	word, err := decide(db, work)
	if err != nil {
		return answer{}, err
	}
	return said(db, o, word)
}

func takeOne(tx *sql.Tx, o order) (string, error) {
	result, err := tx.Exec(buy, o.id, o.product, o.user, o.key)
	if err != nil {
		return "", err
	}
	if rows, err := result.RowsAffected(); err != nil || rows == 1 {
		return "sold", err
	}
	return "sold_out", nil
}

func (conditional) buy(db *sql.DB, memory *redis.Client, o order) (answer, error) {
	return sell(db, o, func(tx *sql.Tx) (string, error) { return takeOne(tx, o) })
}
