/*
 * Certificates of a test's own, by openssl, in a folder of the caller's:
 *
 *   ca.pem       a CA
 *   server.pem   what that CA vouches for, made out to localhost and to no other name; server.key
 *   server.both  certificate and key in one file, as HAProxy wants them
 *   other.pem    a CA that vouches for nobody
 */
#ifndef SECKILL_TESTS_LIB_NET_CERTIFICATES_H
#define SECKILL_TESTS_LIB_NET_CERTIFICATES_H

/* Good for two days. Fails the test when openssl cannot. */
void certificates_make(const char *folder);

#endif
