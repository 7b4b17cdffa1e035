/*
 * Which of a Redis Cluster's slots a key is in: CRC16 of the key or, where it has one, of its hash
 * tag, which is what stands between the first { and the next }, unless that is nothing.
 *
 * A key "x{NAME}" is in the slot of the key NAME, as long as NAME itself has no braces.
 *
 * Source: Redis documentation, "Redis Cluster specification", "Hash tags".
 */
#ifndef SECKILL_REDIS_CLUSTER_SLOT_H
#define SECKILL_REDIS_CLUSTER_SLOT_H

enum { REDIS_SLOTS = 16384 };

int redis_slot(const char *key);

#endif
