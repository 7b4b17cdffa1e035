package main

import (
	"database/sql"
	"math/rand"
	"strconv"
	"time"

	"gopkg.in/redis.v5"
)

// redis-token: a lock in Redis with an owner, around a body that is right without it.
//
// SET NX PX in one command, or a crash between two leaves a lock for ever; deleted by a script that compares the token,
// or a holder who comes late deletes the next one's. What a lock with a lease cannot do is to stop a holder who was
// paused past it: so the body is conditional's statement. The lock keeps the crowd off the row; the statement keeps the
// stock.
type redisToken struct{}

const lease = 5 * time.Second

var release = redis.NewScript("if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0")

// locked runs the work under the lock; "busy" where it could not be had.
func locked(memory *redis.Client, o order, lease time.Duration, work func() (answer, error)) (answer, error) {
	name, token := "lock:"+strconv.FormatInt(o.product, 10), newID()
	for end, pause := time.Now().Add(longest), time.Millisecond; ; pause *= 2 {
		taken, err := memory.SetNX(name, token, lease).Result()
		if err != nil {
			return answer{}, err
		}
		if taken {
			break
		}
		if time.Now().After(end) {
			return answer{"busy", ""}, nil
		}
		if pause > 20*time.Millisecond {
			pause = 20 * time.Millisecond
		}
		time.Sleep(time.Duration(rand.Int63n(int64(pause))))
	}
	defer release.Run(memory, []string{name}, token)
	return work()
}

func (redisToken) buy(db *sql.DB, memory *redis.Client, o order) (answer, error) {
	return locked(memory, o, lease, func() (answer, error) {
		return conditional{}.buy(db, memory, o) // committed when it returns: commit first, release then
	})
}
