/*
 * Admin calls: a Bearer token compared in constant time, or the loopback interface.
 *
 * Without a token the connection's address counts, and the Host: a name that nobody else can have.
 * Any other could be another site's, which has it resolved to 127.0.0.1 (DNS rebinding): a browser
 * then reads for that site's page as if it were our own. A header that says the call came through a
 * proxy, or from a page in a browser, means that somebody else stands behind that address, whatever
 * it is. The exception is the server's own page, in a browser on the same machine: there the Origin
 * is the Host.
 */
#include "http/reader/auth.h"

#include <netinet/in.h>
#include <string.h>
#include <strings.h>

static bool is_loopback(const struct sockaddr *client)
{
    if (client && client->sa_family == AF_INET) {
        struct sockaddr_in in;

        memcpy(&in, client, sizeof in);
        return ntohl(in.sin_addr.s_addr) >> 24 == 127;
    }
    if (client && client->sa_family == AF_INET6) {
        struct sockaddr_in6 in6;

        memcpy(&in6, client, sizeof in6);
        return IN6_IS_ADDR_LOOPBACK(&in6.sin6_addr) ||
               (IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr) && in6.sin6_addr.s6_addr[12] == 127);
    }
    return false;
}

/* The Host, with a port or without, is a name that is this machine's wherever it is resolved. */
static bool names_loopback(const struct headers *headers)
{
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
    size_t length = headers->host_length;

    while (length > 0 && headers->host[length - 1] >= '0' && headers->host[length - 1] <= '9')
        length--;
    length = length > 0 && headers->host[length - 1] == ':' ? length - 1 : headers->host_length;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (headers->hosts == 1 && length == strlen(names[i]) &&
            strncasecmp(headers->host, names[i], length) == 0)
            return true;
    return false;
}

/* No page at all, or the one that this server has served to a browser beside it. */
static bool is_own_page(const struct headers *headers)
{
    static const char scheme[] = "http://";
    size_t prefix = sizeof scheme - 1;

    if (headers->origins == 0)
        return true;
    return headers->origins == 1 && headers->origin_length == prefix + headers->host_length &&
           memcmp(headers->origin, scheme, prefix) == 0 &&
           memcmp(headers->origin + prefix, headers->host, headers->host_length) == 0;
}

/* Takes as long for a wrong first byte as for a wrong last one; the token's length is no secret. */
static bool same_secret(const char *given, size_t given_length, const char *token)
{
    size_t length = strlen(token);
    unsigned difference = given_length == length ? 0 : 1;

    for (size_t i = 0; i < length; i++)
        difference |= (unsigned char)token[i] ^ (unsigned char)(i < given_length ? given[i] : 0);
    return difference == 0;
}

static bool has_token(const struct headers *headers, const char *token)
{
    static const char scheme[] = "Bearer ";
    size_t prefix = sizeof scheme - 1;

    if (headers->authorizations != 1 || headers->authorization_length < prefix ||
        strncasecmp(headers->authorization, scheme, prefix) != 0)
        return false;
    return same_secret(headers->authorization + prefix, headers->authorization_length - prefix,
                       token);
}

bool auth_admin(const char *token, const struct headers *headers, const struct sockaddr *client,
                struct problem *problem)
{
    if (token[0] != '\0') {
        if (!has_token(headers, token))
            return problem_set(problem, 401, "unauthorized", NULL,
                               "This call needs Authorization: Bearer and the admin token.");
        return true;
    }
    if (!is_loopback(client) || headers->forwarded || !names_loopback(headers) ||
        !is_own_page(headers))
        return problem_set(problem, 403, "forbidden", NULL,
                           "Without an admin token this call is served to loopback clients alone, "
                           "at 127.0.0.1, localhost or [::1].");
    return true;
}
