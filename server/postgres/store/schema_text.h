/* The one statement that makes the schema (schema.c runs it); any thread, no I/O. */
#ifndef SECKILL_POSTGRES_STORE_SCHEMA_TEXT_H
#define SECKILL_POSTGRES_STORE_SCHEMA_TEXT_H

/* Any number that other programs are unlikely to lock in the same database: "seckill" in ASCII. */
#define SCHEMA_LOCK "32476585539202156"

/* Makes the tables in the schema of this name, not yet quoted. Owned by the caller; NULL: no
 * memory. */
char *schema_text(const char *name);

#endif
