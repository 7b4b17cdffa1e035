/*
 * The forms that the texts among the settings take; only settings_table.c asks. Each says yes or
 * no, keeps nothing of the text, and may be called from any thread. What may be left out is also
 * fine when it is empty.
 */
#ifndef SECKILL_SETTINGS_SETTINGS_ACCEPT_H
#define SECKILL_SETTINGS_SETTINGS_ACCEPT_H

#include <stdbool.h>

bool settings_accepts_listen(const char *text);    /* HOST:PORT, [V6]:PORT */
bool settings_accepts_redis(const char *text);     /* redis://… or unix://…, or nothing */
bool settings_accepts_redlock(const char *text);   /* 3 or 5 different ones of these, or nothing */
bool settings_accepts_amqp(const char *text);      /* amqp[s]://…,…, or nothing */
bool settings_accepts_memcached(const char *text); /* HOST:PORT or unix:///…, or nothing */
bool settings_accepts_zookeeper(const char *text); /* HOST:PORT,… and a /PATH, or nothing */
bool settings_accepts_name(const char *text);      /* anything but nothing */
bool settings_accepts_schema(const char *text); /* 1 to 63 bytes, no control character; not $user */
bool settings_accepts_migrate(const char *text);     /* auto, never */
bool settings_accepts_flush(const char *text);       /* own, shared, nothing */
bool settings_accepts_system_name(const char *text); /* 1 to 64 of A-Z a-z 0-9 _ . - */
bool settings_accepts_token(const char *text);       /* up to 512 visible ASCII characters */
bool settings_accepts_log_level(const char *text);   /* error, warn, info, debug */
bool settings_accepts_cell(const char *text);        /* K/N, 1 <= K <= N <= 64, or nothing */

/* Of a text that is accepted; 0 and 0 of nothing. */
bool settings_read_cell(const char *text, unsigned *number, unsigned *count);

#endif
