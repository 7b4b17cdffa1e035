/* Where a relay listens and where it leads: HOST:PORT with an address of digits, or the /PATH of a
 * unix socket. */
#ifndef SECKILL_LOADTEST_RELAY_ADDRESS_H
#define SECKILL_LOADTEST_RELAY_ADDRESS_H

#include "base/error.h"

#include <sys/socket.h>

struct address {
    struct sockaddr_storage at;
    socklen_t length;
    char text[160];
};

bool address_read(struct address *address, const char *text, struct error *error);

/* A socket that listens there, of the loopback interface or a path that nothing stands at; the port
 * 0 becomes what it is given. -1 with the error. */
int address_listen(struct address *address, struct error *error);
/* Begins to connect, and waits for nothing. -1: it is refused. */
int address_connect(const struct address *address);

/* The next client of a listening socket; -1: nobody is there any more. */
int address_accept(int listener);

#endif
