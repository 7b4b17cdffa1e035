package main

import (
	"database/sql"
	"time"

	"gopkg.in/redis.v5"
)

// The mistake: Redis is asked, and then told, by two commands, the order in between; and PostgreSQL is not asked at all.
//
// Each command is atomic, and the pair is not: all who have read "1" take one. The writer behind it believes what Redis
// has said. Right: one script that looks and takes, and a writer whose UPDATE has its own "stock >= 1".
type redisStockMistake struct{}

func (redisStockMistake) put(memory *redis.Client, product, stock int64) error {
	return memory.Set(names(product)[0], stock, 0).Err()
}

func (redisStockMistake) buy(db *sql.DB, memory *redis.Client, o order) (answer, error) {
	name := names(o.product)[0]
	stock, err := memory.Get(name).Int64()
	if err != nil || stock < 1 {
		return answer{"sold_out", ""}, err
	}
	time.Sleep(moment)
	told, err := sell(db, o, func(tx *sql.Tx) (string, error) {
		_, err := tx.Exec("UPDATE product SET stock = stock - 1 WHERE id = $1", o.product)
		if err == nil {
			_, err = tx.Exec(insert, o.id, o.product, o.user, o.key)
		}
		return "sold", err
	})
	if err == nil && told.word == "sold" {
		err = memory.Decr(name).Err()
	}
	return told, err
}
