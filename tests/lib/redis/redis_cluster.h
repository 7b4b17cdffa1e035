/*
 * The Redis Cluster of the stack (stack.sh up --with cluster) as its operator meddles with it:
 * slots go from node to node, and primaries die. A node is known by its port. Every function ends
 * the test when Redis does not do as it is told.
 */
#ifndef SECKILL_TESTS_LIB_REDIS_CLUSTER_H
#define SECKILL_TESTS_LIB_REDIS_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>

enum { CLUSTER_PRIMARIES = 3 };

/* As redis_own_tell (redis_own.h); of an array its last element. */
const char *cluster_tell(int port, const char *format, ...);

/* The slot as the cluster reckons it, the primary that has it, and all primaries. */
int cluster_keyslot(const char *key);
int cluster_owner(int slot);
void cluster_primaries(int ports[CLUSTER_PRIMARIES]);
/* One of the primaries that is not this one. */
int cluster_other(int port);

/* A slot on its way: the keys that are there stay, new ones are made at the other node. */
void cluster_begin_move(int slot, int from, int to);
/* Some of its keys go, but for those whose names contain this (NULL: all alike); none, false. */
bool cluster_move_some(int slot, int from, int to, const char *but);
/* All of them go, and then it is the other node's. */
void cluster_end_move(int slot, int from, int to);
/* The whole of it. */
void cluster_move(int slot);

/* How long a primary may be silent before its replica takes over; the stack's time for it. */
enum { CLUSTER_NODE_TIMEOUT_MS = 2000 };
void cluster_be_patient(int ms);
/* It is silent for long enough: waits until a node that lives has the slot. */
void cluster_replace(int slot);
/* As a test's setup: whatever another one has left, all nodes run, and the one that --redis names
 * is a primary. */
int cluster_restore(void **state);
int cluster_seed(void); /* its port */

/* Ends each move that a test which failed has left half done: its slot stays. */
void cluster_settle(void);

/* For the node's process. */
void cluster_signal(int port, int number);

#endif
