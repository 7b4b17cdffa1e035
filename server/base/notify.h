/*
 * Tells systemd, or another service manager, how the process is: sd_notify(3)'s protocol without
 * its library. Where the environment names no NOTIFY_SOCKET nobody waits, and nothing is sent.
 */
#ifndef SECKILL_BASE_NOTIFY_H
#define SECKILL_BASE_NOTIFY_H

/* Lines of NAME=VALUE, as "READY=1\nSTATUS=…". It never waits: what the receiver has no room for,
 * or cannot be reached with, is lost. Any thread, as long as nobody changes the environment. */
void notify_manager(const char *lines);

#endif
