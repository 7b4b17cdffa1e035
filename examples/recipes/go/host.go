// What the recipes beside this file have around them: HTTP, sessions with PostgreSQL and Redis, the tables. The same
// addresses and answers as ../python/host.py, which describes them; SHOP_WAY names the recipe, and with SHOP_UNSAFE=1
// it is the mistake of that name.
package main

import (
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/lib/pq"
	"gopkg.in/redis.v5" // go-redis, as Debian has it; from version 8 on each call begins with a context
)

const schema = `
CREATE TABLE IF NOT EXISTS product (id bigint PRIMARY KEY, stock int NOT NULL, version int NOT NULL DEFAULT 1);
CREATE TABLE IF NOT EXISTS orders (
    id uuid PRIMARY KEY, product_id bigint NOT NULL REFERENCES product, user_id bigint NOT NULL, key text NOT NULL,
    UNIQUE (user_id, key), UNIQUE (product_id, user_id));`
const put = `
INSERT INTO product (id, stock) VALUES ($1, $2)
ON CONFLICT (id) DO UPDATE SET stock = $2, version = product.version + 1`
const insert = "INSERT INTO orders (id, product_id, user_id, key) VALUES ($1, $2, $3, $4)"
const sessions = 16

type order struct {
	id            string
	product, user int64
	key           string
}

// A word, and the id of the order where there is one.
type answer struct{ word, id string }

type recipe interface {
	buy(db *sql.DB, memory *redis.Client, o order) (answer, error)
}

// What a recipe may have besides.
type (
	starter interface {
		start(db *sql.DB, memory *redis.Client) error
	}
	putter interface {
		put(memory *redis.Client, product, stock int64) error
	}
	// "confirmed", "failed", or "": not decided yet
	statuser interface {
		status(db *sql.DB, memory *redis.Client, id string) (string, error)
	}
	quieter interface {
		quiet(memory *redis.Client) (bool, error)
	}
)

var ways = map[string][2]recipe{
	"conditional":   {conditional{}, conditionalMistake{}},
	"optimistic":    {optimistic{}, optimisticMistake{}},
	"early-release": {&earlyRelease{parked: make(chan slot, 1000)}, &earlyReleaseMistake{}},
	"redis-token":   {redisToken{}, &redisTokenMistake{}},
	"redis-stock":   {redisStock{}, redisStockMistake{}},
}
var statuses = map[string]int{"sold": 201, "again": 200, "accepted": 202, "busy": 503} // any other word is a "no": 409

type host struct {
	recipe
	db     *sql.DB
	memory *redis.Client
}

type object map[string]interface{}

// decide commits when the work's word is not empty. An order that a UNIQUE refuses is "bought_already".
func decide(db *sql.DB, work func(tx *sql.Tx) (string, error)) (string, error) {
	tx, err := db.Begin()
	if err != nil {
		return "", err
	}
	defer tx.Rollback() // nothing, after a Commit
	word, err := work(tx)
	if err == nil && word != "" {
		err = tx.Commit()
	}
	return boughtAlready(word, err)
}

func boughtAlready(word string, err error) (string, error) {
	var refused *pq.Error
	if errors.As(err, &refused) && refused.Code == "23505" {
		return "bought_already", nil
	}
	return word, err
}

func newID() string {
	var id [16]byte
	if _, err := rand.Read(id[:]); err != nil {
		panic(err)
	}
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

func (h host) putProduct(product, stock int64) error {
	if _, err := h.db.Exec("DELETE FROM orders WHERE product_id = $1", product); err != nil {
		return err
	}
	if _, err := h.db.Exec(put, product, stock); err != nil {
		return err
	}
	if r, ok := h.recipe.(putter); ok {
		return r.put(h.memory, product, stock)
	}
	return nil
}

func (h host) route(r *http.Request) (int, interface{}, error) {
	var body struct{ Product, User, Stock int64 }
	if r.ContentLength != 0 {
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			return 0, nil, err
		}
	}
	path := strings.Split(r.URL.Path, "/")
	switch r.Method + " " + path[1] {
	case "POST orders":
		said, err := h.buy(h.db, h.memory, order{newID(), body.Product, body.User, r.Header.Get("Idempotency-Key")})
		status, known := statuses[said.word]
		if !known {
			status = 409
		}
		if said.id != "" {
			return status, object{"id": said.id}, err
		}
		return status, object{"code": said.word}, err
	case "PUT products":
		product, err := strconv.ParseInt(path[2], 10, 64)
		if err != nil {
			return 0, nil, err
		}
		return 200, object{"stock": body.Stock}, h.putProduct(product, body.Stock)
	case "GET orders":
		if asked, ok := h.recipe.(statuser); ok {
			status, err := asked.status(h.db, h.memory, path[2])
			if status != "" || err != nil {
				return 200, object{"status": status}, err
			}
		}
		return 202, object{"status": "waiting"}, nil
	case "GET quiet":
		if asked, ok := h.recipe.(quieter); ok {
			if quiet, err := asked.quiet(h.memory); err != nil || !quiet {
				return 200, 0, err
			}
		}
		return 200, 1, nil
	}
	return 404, object{"code": "no such address"}, nil
}

func (h host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status, said, err := h.route(r)
	if err != nil {
		log.Print(r.Method, " ", r.URL, ": ", err)
		status, said = 500, object{"code": "unknown"}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(said)
}

func serve() error {
	pair, known := ways[os.Getenv("SHOP_WAY")]
	if !known {
		return errors.New("SHOP_WAY names no recipe")
	}
	h := host{recipe: pair[0]}
	if os.Getenv("SHOP_UNSAFE") != "" {
		h.recipe = pair[1]
	}
	var err error
	if h.db, err = sql.Open("postgres", os.Getenv("SHOP_DATABASE")+" sslmode=disable"); err != nil {
		return err
	}
	h.db.SetMaxOpenConns(sessions + 1) // one for what a recipe does in the background
	h.db.SetMaxIdleConns(sessions + 1)
	h.memory = redis.NewClient(&redis.Options{Network: "unix", Addr: strings.TrimPrefix(os.Getenv("SHOP_REDIS"), "unix://")})
	if _, err = h.db.Exec(schema); err != nil {
		return err
	}
	if err = h.putProduct(1, 100); err != nil {
		return err
	}
	if r, ok := h.recipe.(starter); ok {
		if err = r.start(h.db, h.memory); err != nil {
			return err
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Getenv("SHOP_PORT"))
	if err != nil {
		return err
	}
	fmt.Printf("listening on http://%s\n", listener.Addr())
	return http.Serve(listener, h)
}

func main() { log.Fatal(serve()) }
