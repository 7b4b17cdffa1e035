/* See verbs.h. */
#include "loadtest/zoo/verbs.h"

#include "lua_text.h"
#include "sql_text.h"

#include <stddef.h>

#define STATEMENT(name, values, text_shown)                                                        \
    .kind = ZOO_SQL, .text = (name), .words = (values), .shown = (text_shown)
#define SELLING(name, values, text_shown)                                                          \
    .kind = ZOO_SQL, .text = (name), .words = (values), .shown = (text_shown), .sells = 1
#define COMMAND(where, command) .kind = ZOO_REDIS, .node = (where), .words = (command)
#define SCRIPT(name, where, values, text_shown)                                                    \
    .kind = ZOO_SCRIPT, .text = (name), .node = (where), .words = (values), .shown = (text_shown)
#define HAPPENING(text_shown) .kind = ZOO_HAPPENS, .shown = (text_shown)

#define SET_TOKEN_WORDS       "SET {lock} {token} NX PX {lease}"
#define ORDER_VALUES          "{order} {product} {epoch} {user} {quantity} {strategy} {now}"
#define BATCH_VALUES(fence)                                                                        \
    "{strategy} {product} {quantity} " fence " {epoch} {orders} {users} {quantities} {times}"

static const struct zoo_verb_row rows[ZOO_VERBS] = {
    [BEGIN] = {STATEMENT(SQL_BEGIN, "", "BEGIN")},
    [COMMIT] = {STATEMENT(SQL_COMMIT, "", "COMMIT")},
    [ROLLBACK] = {STATEMENT(SQL_ROLLBACK, "", "ROLLBACK")},
    [READ] = {STATEMENT(SQL_PRODUCT_READ, "{product}", "SELECT stock … FROM product")},
    [READ_FOR_UPDATE] = {STATEMENT(SQL_PRODUCT_LOCK, "{product}",
                                   "SELECT stock … FROM product … FOR UPDATE")},
    [SET_STOCK] = {STATEMENT(SQL_STOCK_SET, "{product} {epoch} {left}",
                             "UPDATE product SET stock = $3")},
    [TAKE_STOCK] = {STATEMENT(SQL_STOCK_TAKE, "{product} {quantity}",
                              "UPDATE product SET stock = stock - $2 … AND stock >= $2")},
    [INSERT_SOLD] = {SELLING(SQL_ORDER_INSERT_SOLD, ORDER_VALUES " {no_fence} {null} {left}",
                             "UPDATE product SET stock = $10 … INSERT INTO orders")},
    [INSERT_SOLD_FENCED] = {SELLING(
        SQL_ORDER_INSERT_SOLD, ORDER_VALUES " {fence} {null} {left}",
        "UPDATE product SET stock = $10 … fence = $8 … INSERT INTO orders")},
    [INSERT_ORDER] = {SELLING(SQL_ORDER_INSERT, ORDER_VALUES " {null}", "INSERT INTO orders")},
    [REGISTER_FENCE] = {STATEMENT(SQL_FENCE_REGISTER, "{product}",
                                  "UPDATE product SET fence = fence + 1")},
    [ADVISORY_LOCK] = {STATEMENT(SQL_ADVISORY_LOCK, "{product}", "SELECT pg_advisory_xact_lock")},
    [LOCK_ROW_INSERT] = {STATEMENT(SQL_LOCK_ROW_INSERT, "{product} {token} {lease}",
                                   "INSERT INTO product_lock … ON CONFLICT DO NOTHING")},
    [LOCK_ROW_TAKE_OVER] = {STATEMENT(
        SQL_LOCK_ROW_TAKE_OVER, "{product} {token} {lease}",
        "UPDATE product_lock … SET owner = $2 … lease_until <= clock_timestamp()")},
    [LOCK_ROW_DELETE] = {STATEMENT(SQL_LOCK_ROW_DELETE, "{product} {token}",
                                   "DELETE FROM product_lock … owner = $2")},
    [STOCK_ROW] = {STATEMENT(SQL_STOCK_ROW, "{product}",
                             "SELECT stock … FROM product … FOR UPDATE")},
    [BATCH_BUY] = {SELLING(
        SQL_BATCH_BUY, BATCH_VALUES("{no_fence}"),
        "stock >= $3 … UPDATE product SET stock = stock - $3 … INSERT INTO orders")},
    [BATCH_BUY_FENCED] = {SELLING(
        SQL_BATCH_BUY, BATCH_VALUES("{fence}"),
        "fence = $4 … UPDATE product SET stock = stock - $3 … INSERT INTO orders")},
    [BATCH_LOCK_FENCED] = {STATEMENT(SQL_BATCH_LOCK, "{products} {fence}",
                                     "SELECT stock … fence = $2 … FOR UPDATE")},
    [FIND_ORDER] = {STATEMENT(SQL_ORDER_READ, "{order}", "SELECT orders.id … FROM orders")},

    [SETNX_1] = {COMMAND(NODE_LOCKS, "SETNX {lock} 1")},
    [PEXPIRE_LOCK] = {COMMAND(NODE_LOCKS, "PEXPIRE {lock} {lease}")},
    [SETNX_STAMP] = {COMMAND(NODE_LOCKS, "SETNX {lock} {stamp}")},
    [GET_STAMP] = {COMMAND(NODE_LOCKS, "GET {lock}")},
    [GETSET_STAMP] = {COMMAND(NODE_LOCKS, "GETSET {lock} {stamp}")},
    [SET_1] = {COMMAND(NODE_LOCKS, "SET {lock} 1 NX PX {lease}")},
    [SET_TOKEN] = {COMMAND(NODE_LOCKS, SET_TOKEN_WORDS)},
    [GET_TOKEN] = {COMMAND(NODE_LOCKS, "GET {lock}")},
    [DEL_LOCK] = {COMMAND(NODE_LOCKS, "DEL {lock}")},
    [RELEASE_TOKEN] = {SCRIPT(LUA_TOKEN_RELEASE, NODE_LOCKS, "{lock} | {token}",
                              "token_release.lua {lock} {token}")},
    [REENTRANT_ACQUIRE] = {SCRIPT(LUA_REENTRANT_ACQUIRE, NODE_LOCKS, "{lock} | {token} {lease}",
                                  "reentrant_acquire.lua {lock} {token}")},
    [REENTRANT_RELEASE] = {SCRIPT(LUA_REENTRANT_RELEASE, NODE_LOCKS,
                                  "{lock} {channel} | {token} {lease}",
                                  "reentrant_release.lua {lock} {token}")},
    [WLLOCK_ACQUIRE] = {SCRIPT(LUA_WLLOCK_ACQUIRE, NODE_LOCKS, "{lock} | {lease}",
                               "wllock_acquire.lua {lock}")},
    [QUEUE_ACQUIRE] = {SCRIPT(LUA_LOCK_ACQUIRE, NODE_LOCKS,
                              "{lock} {queue} {next} {tickets} | {token} {lease} 1",
                              "lock_acquire.lua {lock} {token}")},
    [QUEUE_RELEASE] = {SCRIPT(LUA_LOCK_RELEASE, NODE_LOCKS,
                              "{lock} {queue} {next} {tickets} | {token} 50 {wake}",
                              "lock_release.lua {lock} {token}")},
    [LOAD_MIRROR] = {SCRIPT(LUA_STOCK_LOAD, NODE_STOCK,
                            "{mirror} {loaded} | {prefix} {product} {epoch} {generation} {stock} "
                            "{none} 0 {none} {none} {none}",
                            "stock_load.lua: stock {stock}")},
    [RESERVE] = {.kind = ZOO_SCRIPT,
                 .text = LUA_STOCK_RESERVE,
                 .node = NODE_STOCK,
                 .words = "{mirror} {stream} {waiting} {units} {caller} | {prefix} {product} "
                          "{epoch} 1000 86400000 1 {group} 0 1 {quantity} {line} writers {token} "
                          "{above} {below}",
                 .shown = "stock_reserve.lua {quantity}",
                 .sells = 1},

    [SET_NODE_1] = {.kind = ZOO_REDIS,
                    .node = NODE_1,
                    .words = SET_TOKEN_WORDS,
                    .shown = "node 1: " SET_TOKEN_WORDS},
    [SET_NODE_2] = {.kind = ZOO_REDIS,
                    .node = NODE_2,
                    .words = SET_TOKEN_WORDS,
                    .shown = "node 2: " SET_TOKEN_WORDS},
    [SET_NODE_3] = {.kind = ZOO_REDIS,
                    .node = NODE_3,
                    .words = SET_TOKEN_WORDS,
                    .shown = "node 3: " SET_TOKEN_WORDS},
    [RELEASE_NODE_1] = {SCRIPT(LUA_TOKEN_RELEASE, NODE_1, "{lock} | {token}",
                               "node 1: token_release.lua {lock} {token}")},
    [RELEASE_NODE_2] = {SCRIPT(LUA_TOKEN_RELEASE, NODE_2, "{lock} | {token}",
                               "node 2: token_release.lua {lock} {token}")},
    [RELEASE_NODE_3] = {SCRIPT(LUA_TOKEN_RELEASE, NODE_3, "{lock} | {token}",
                               "node 3: token_release.lua {lock} {token}")},

    /* Ten seconds, and the two that its clock may be behind. */
    [MEMCACHED_ADD] = {.kind = ZOO_MEMCACHED,
                       .words = "add {lock} 0 12 7\r\n{token}\r\n",
                       .shown = "add {lock} 12 {token}"},
    [MEMCACHED_GETS] = {.kind = ZOO_MEMCACHED, .words = "gets {lock}\r\n", .shown = "gets {lock}"},
    /* An expiry that is long past. */
    [MEMCACHED_CAS] = {.kind = ZOO_MEMCACHED,
                       .words = "cas {lock} 0 2592001 0 {cas}\r\n\r\n",
                       .shown = "cas {lock} 2592001"},

    [ZK_JOIN] = {.kind = ZOO_ZOOKEEPER,
                 .words = "{token}",
                 .shown = "create lock/{token}-, ephemeral and sequential"},
    [ZK_LOOK] = {.kind = ZOO_ZOOKEEPER, .words = "", .shown = "the lowest of lock/"},
    [ZK_LEAVE] = {.kind = ZOO_ZOOKEEPER, .words = "", .shown = "delete its node"},

    [PAUSED] = {HAPPENING("is paused; it has no lease that could end")},
    [LEASE_ENDS] = {HAPPENING("is paused past its lease")},
    [LEASE_OVER] = {HAPPENING("its lease ends")},
    [LOCK_ROW_ENDS] = {HAPPENING("is paused past its lease")},
    [MEMCACHED_LEASE_ENDS] = {HAPPENING("is paused past its lease")},
    [SESSION_ENDS] = {HAPPENING("is paused; ZooKeeper hears nothing and ends its session")},
    [DIES] = {HAPPENING("dies")},
    [REDIS_FORGETS] = {HAPPENING("Redis fails over and has lost its newest writes")},
    [NODE_2_FORGETS] = {HAPPENING("node 2 starts again and has lost its newest writes")},
    [STOCK_REDIS_FORGETS] = {HAPPENING("Redis fails over and has lost its newest writes")},
};

const struct zoo_verb_row *zoo_verb_row(enum zoo_verb verb)
{
    return &rows[verb];
}

const char *zoo_sql(int text)
{
    return sql_texts[text];
}

const char *zoo_lua(int text)
{
    return lua_texts[text];
}

const char *zoo_schema(int version)
{
    return version < SQL_SCHEMA_VERSION ? sql_schema[version] : NULL;
}
