package main

import (
	"database/sql"
	"fmt"
	"log"
	"strings"

	"gopkg.in/redis.v5"
)

// redis-stock: one script in Redis decides, the buyer is told "accepted", and a writer brings the order to PostgreSQL.
//
// The script looks the key up, then the buyer, then the stock, and writes all it has to in the same act. The stream is
// the hand-over: an entry is acknowledged after its COMMIT, and one that comes twice finds its id there. PostgreSQL has
// the last word (stock >= 1). Redis wants appendonly yes and appendfsync always; a failover forgets what was not copied
// yet. A missing stock key means "not loaded", never 0.
type redisStock struct{}

const (
	stream, group, failed = "sale:entries", "writer", "sale:failed"
	find                  = "SELECT 1 FROM orders WHERE id = $1"
)

var reserve = redis.NewScript(`
local known = redis.call('HGET', KEYS[2], ARGV[3])
if known then return {'accepted', known} end
if redis.call('SISMEMBER', KEYS[3], ARGV[2]) == 1 then return {'bought_already', ''} end
local stock = redis.call('GET', KEYS[1])
if not stock then return {'busy', ''} end
if tonumber(stock) < 1 then return {'sold_out', ''} end
redis.call('DECR', KEYS[1])
redis.call('HSET', KEYS[2], ARGV[3], ARGV[1])
redis.call('SADD', KEYS[3], ARGV[2])
redis.call('XADD', KEYS[4], '*', 'id', ARGV[1], 'product', ARGV[5], 'user', ARGV[2], 'key', ARGV[4])
return {'accepted', ARGV[1]}`)

type list = []interface{}

func names(product int64) []string {
	sale := fmt.Sprintf("sale:%d:", product)
	return []string{sale + "stock", sale + "keys", sale + "users", stream}
}

func (redisStock) buy(db *sql.DB, memory *redis.Client, o order) (answer, error) {
	said, err := reserve.Run(memory, names(o.product), o.id, o.user, fmt.Sprint(o.user, " ", o.key), o.key, o.product).Result()
	if err != nil {
		return answer{}, err
	}
	return answer{said.(list)[0].(string), said.(list)[1].(string)}, nil
}

// ask sends a command that this version of go-redis has no method for; the later ones have XReadGroup and its like.
func ask(memory *redis.Client, words ...interface{}) (list, error) {
	command := redis.NewSliceCmd(words...)
	memory.Process(command)
	return command.Result()
}

func writeOne(db *sql.DB, memory *redis.Client, entry interface{}, field list) error {
	id, product := field[1].(string), field[3].(string)
	word, err := decide(db, func(tx *sql.Tx) (string, error) {
		if _, err := tx.Exec(insert, id, product, field[5], field[7]); err != nil {
			return "", err
		}
		result, err := tx.Exec("UPDATE product SET stock = stock - 1 WHERE id = $1 AND stock >= 1", product)
		if err != nil {
			return "", err
		}
		if rows, err := result.RowsAffected(); err != nil || rows == 0 {
			return "", err
		}
		return "sold", nil
	})
	if err != nil {
		return err
	}
	if word != "sold" { // an entry whose acknowledgement was lost is refused by a UNIQUE, and is there
		if err := db.QueryRow(find, id).Scan(new(int)); err == sql.ErrNoRows {
			memory.HSet(failed, id, "failed")
		} else if err != nil {
			return err
		}
	}
	return memory.Process(redis.NewIntCmd("XACK", stream, group, entry)) // after the COMMIT
}

func writeForEver(db *sql.DB, memory *redis.Client) error {
	for first := "0"; ; { // what was read before and not acknowledged comes first
		streams, err := ask(memory, "XREADGROUP", "GROUP", group, "one", "COUNT", 100, "BLOCK", 1000, "STREAMS", stream, first)
		if err == redis.Nil {
			continue
		}
		if err != nil {
			return err
		}
		entries := streams[0].(list)[1].(list)
		if len(entries) == 0 {
			first = ">"
		}
		for _, entry := range entries {
			if err := writeOne(db, memory, entry.(list)[0], entry.(list)[1].(list)); err != nil {
				return err
			}
		}
	}
}

func (redisStock) start(db *sql.DB, memory *redis.Client) error {
	err := memory.Process(redis.NewStatusCmd("XGROUP", "CREATE", stream, group, "0", "MKSTREAM"))
	if err != nil && !strings.Contains(err.Error(), "BUSYGROUP") {
		return err
	}
	go func() { log.Fatal("the writer ends: ", writeForEver(db, memory)) }()
	return nil
}

func (redisStock) put(memory *redis.Client, product, stock int64) error { // between sales: the last one's entries are written
	name := names(product)
	memory.Del(name[1], name[2], failed)
	return memory.Set(name[0], stock, 0).Err()
}

func (redisStock) status(db *sql.DB, memory *redis.Client, id string) (string, error) {
	if err := db.QueryRow(find, id).Scan(new(int)); err != sql.ErrNoRows {
		return "confirmed", err
	}
	status, err := memory.HGet(failed, id).Result()
	if err == redis.Nil {
		err = nil
	}
	return status, err
}

func (redisStock) quiet(memory *redis.Client) (bool, error) {
	groups, err := ask(memory, "XINFO", "GROUPS", stream)
	if err != nil {
		return false, err
	}
	info, err := ask(memory, "XINFO", "STREAM", stream)
	if err != nil {
		return false, err
	}
	writer := groups[0].(list)
	return after(writer, "pending") == int64(0) && after(writer, "last-delivered-id") == after(info, "last-generated-id"), nil
}

func after(reply list, name string) interface{} {
	for i := 0; i+1 < len(reply); i += 2 {
		if reply[i] == name {
			return reply[i+1]
		}
	}
	return nil
}
