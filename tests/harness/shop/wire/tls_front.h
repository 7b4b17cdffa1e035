/*
 * A HAProxy of the test's own that speaks TLS on a free port of 127.0.0.1, in front of a server
 * that does not. One at a time. It ends with the test program.
 */
#ifndef SECKILL_TESTS_HARNESS_SHOP_WIRE_TLS_FRONT_H
#define SECKILL_TESTS_HARNESS_SHOP_WIRE_TLS_FRONT_H

/* The port, on which one may connect at once: until HAProxy takes them, connections wait. `folder`
 * has server.both (lib/net/certificates.h), and gets front.cfg; `server` is "http://HOST:PORT".
 * Fails the test when it cannot. */
int tls_front_start(const char *folder, const char *server);
void tls_front_stop(void); /* one that never began is allowed */

#endif
