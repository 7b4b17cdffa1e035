/*
 * The strategies that differ in their lock alone: the ladder of the articles in Redis, from SETNX
 * to a watchdog; redlock and wllock; a row of PostgreSQL, memcached, ZooKeeper.
 *
 * Acquire, run the body that the request chose (plain: read, decide, write the absolute figure),
 * commit, release. How each lock works and how it fails stands in lock/, in the file of its name.
 * No lock here has a fence, so with the plain body each is as right as its lease: a holder that is
 * paused past it writes a stale figure over the next holder's, and a store that forgets a lock has
 * two holders (not lock-row's, which is in the database itself). With body=guarded the database
 * decides and no lock can do harm. What makes an order wait is another holder; wait_ms=0 asks once.
 * A crash loses no answered order and leaves the lock until its lease ends (redis-setnx: perhaps
 * for ever), and so does a lost COMMIT that is looked into for longer.
 *
 * wllock alone has a lane of its own: a fair local queue, one order of a product at a time, and one
 * representative that spins for the lock (docs/ARTICLES.md).
 */
#include "sale/body/body_chosen.h"
#include "strategies/strategies.h"

#define LOCKED_ROW            BODY_CHOSEN, .lane = {.in_flight_per_product = 4, .workers = 16, .max_batch = 1}
#define WHILE_THE_LEASE_LASTS (GUARANTEE_ONE | GUARANTEE_MANY)
/* Versions of clang-format do not agree about these lines. */
/* clang-format off */
#define REDIS_LOCK_ROW                                                                             \
    LOCKED_ROW, .guarantees = WHILE_THE_LEASE_LASTS, .family = FAMILY_REDIS_LOCK,                  \
                .needs = NEED_POSTGRESQL | NEED_REDIS
/* clang-format on */

/* Acquiring, the work and releasing are three commits and three flushes: the price of a lock that
 * the work's transaction does not hold itself. */
const struct strategy strategy_lock_row = {
    .name = "lock-row",
    .summary = "A row with an owner and a lease, inserted under a primary key, is the lock.",
    .summary_zh = "锁表：插入一行带持有者和租期的记录，主键就是锁",
    .lock = &lock_pg_row,
    .family = FAMILY_DATABASE,
    .needs = NEED_POSTGRESQL,
    .guarantees = GUARANTEE_ONE | GUARANTEE_MANY | GUARANTEE_FORGETS,
    LOCKED_ROW,
};

const struct strategy strategy_redis_setnx = {
    .name = "redis-setnx",
    .summary = "SETNX, then EXPIRE, then DEL. A death between the first two locks for ever.",
    .summary_zh = "先 SETNX，再 EXPIRE，最后 DEL；在前两步之间死掉，锁就永远留下",
    .lock = &lock_redis_setnx,
    REDIS_LOCK_ROW,
};

const struct strategy strategy_redis_getset = {
    .name = "redis-getset",
    .summary = "SETNX and GETSET of a timestamp, polled for. Skewed clocks steal a live lock.",
    .summary_zh = "用时间戳做 SETNX、GETSET，轮询；时钟不准就会抢走别人还在用的锁",
    .lock = &lock_redis_getset,
    REDIS_LOCK_ROW,
};

const struct strategy strategy_redis_expiry = {
    .name = "redis-expiry",
    .summary = "SET NX PX, then DEL without an owner. A late holder frees the next one's lock.",
    .summary_zh = "SET NX PX，DEL 时不认持有者；迟到的持锁者会删掉下一个人的锁",
    .lock = &lock_redis_expiry,
    REDIS_LOCK_ROW,
};

const struct strategy strategy_redis_uuid = {
    .name = "redis-uuid",
    .summary = "SET NX PX of a UUID; GET, compare, DEL in three steps. Can still free another's.",
    .summary_zh = "SET NX PX 一个 UUID；GET、比较、DEL 分三步，仍可能删掉别人的锁",
    .lock = &lock_redis_uuid,
    REDIS_LOCK_ROW,
};

const struct strategy strategy_redis_token = {
    .name = "redis-token",
    .usual = true,
    .summary = "SET NX PX of a token, compared and deleted in one script. No fence.",
    .summary_zh = "SET NX PX 一个令牌，用一个脚本比较并删除；没有 fencing token",
    .lock = &lock_redis_token,
    REDIS_LOCK_ROW,
};

const struct strategy strategy_redis_watchdog = {
    .name = "redis-watchdog",
    .summary = "Redisson's way: a reentrant lock, renewed while the work lasts; waiters are told.",
    .summary_zh = "Redisson 的做法：可重入锁加看门狗续期，释放时通知等待者",
    .lock = &lock_redis_watchdog,
    REDIS_LOCK_ROW,
};

const struct strategy strategy_redlock = {
    .name = "redlock",
    .summary = "A token on the majority of 3 or 5 Redis servers that know nothing of each other.",
    .summary_zh = "红锁：在 3 或 5 个互不相识的 Redis 上，多数拿到令牌才算",
    .lock = &lock_redlock,
    .family = FAMILY_REDIS_LOCK,
    .needs = NEED_POSTGRESQL | NEED_REDLOCK,
    .guarantees = WHILE_THE_LEASE_LASTS,
    LOCKED_ROW,
};

const struct strategy strategy_wllock = {
    .name = "wllock",
    .summary = "The library wllock: a local queue, one spinning representative, one order a hold.",
    .summary_zh = "wllock 库的做法：本地排队，一个代表自旋抢锁，一次持锁只卖一单",
    .lock = &lock_wllock,
    .family = FAMILY_REDIS_LOCK,
    .needs = NEED_POSTGRESQL | NEED_REDIS,
    .guarantees = WHILE_THE_LEASE_LASTS,
    BODY_CHOSEN,
    .lane = {.in_flight_per_product = 1, .keyed = true, .workers = 16, .max_batch = 1},
};

const struct strategy strategy_memcached_lock = {
    .name = "memcached-lock",
    .summary = "A token that memcached's add stores once, with a lease; released by gets and cas.",
    .summary_zh = "memcached 的 add 存一个带租期的令牌，用 gets 和 cas 释放",
    .lock = &lock_memcached,
    .family = FAMILY_OTHER_LOCK,
    .needs = NEED_POSTGRESQL | NEED_MEMCACHED,
    .guarantees = WHILE_THE_LEASE_LASTS,
    LOCKED_ROW,
};

const struct strategy strategy_zookeeper_lock = {
    .name = "zookeeper-lock",
    .summary =
        "The lowest of ZooKeeper's ephemeral sequential nodes; each waits for the one before.",
    .summary_zh = "ZooKeeper 的临时顺序节点，序号最小者持锁，其余各等前一个",
    .lock = &lock_zookeeper,
    .family = FAMILY_OTHER_LOCK,
    .needs = NEED_POSTGRESQL | NEED_ZOOKEEPER,
    .guarantees = WHILE_THE_LEASE_LASTS,
    LOCKED_ROW,
};
