#include "lib/proxied.h"

#include "lib/stack.h"

#include <stdlib.h>
#include <string.h>

void proxied_open(struct proxied *database, const char *name)
{
    char *folder = stack_socket_folder();

    database->name = strdup(name);
    database->conninfo = stack_database_create(name);
    database->proxy = pg_proxy_create(folder);
    database->through =
        stack_database_through(database->conninfo, pg_proxy_folder(database->proxy));
    database->witness = witness_open(database->conninfo);
    free(folder);
}

void proxied_close(struct proxied *database)
{
    witness_close(database->witness);
    pg_proxy_destroy(database->proxy);
    stack_database_drop(database->name);
    free(database->through);
    free(database->conninfo);
    free(database->name);
}
