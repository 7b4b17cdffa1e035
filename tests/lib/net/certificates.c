/* See certificates.h. */
#include "lib/net/certificates.h"

#include "lib/t.h"

void certificates_make(const char *folder)
{
    static char shell[] = "sh", command[] = "-c";
    static char script[] =
        "set -e; cd \"$1\"; exec >/dev/null 2>&1\n"
        "for ca in ca other; do\n"
        "  openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=$ca -keyout $ca.key "
        "-out $ca.pem\n"
        "done\n"
        "openssl req -newkey rsa:2048 -nodes -subj /CN=server -keyout server.key -out server.csr\n"
        "printf 'subjectAltName=DNS:localhost' >ext\n"
        "openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 "
        "-extfile ext -out server.pem\n"
        "cat server.pem server.key >server.both\n";
    char where[256];

    snprintf(where, sizeof where, "%s", folder);
    if (t_call((char *const[]){shell, command, script, shell, where, NULL}) != 0)
        fail_msg("openssl failed in %s", folder);
}
