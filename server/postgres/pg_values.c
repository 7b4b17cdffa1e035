/*
 * Values in PostgreSQL's binary format: big-endian integers, microseconds since 2000-01-01 for
 * times, 16 raw bytes for a UUID, and one-dimensional arrays of these.
 *
 * Sources: PostgreSQL source, the send and recv functions of int8, timestamptz, uuid and array.
 */
#include "postgres/pg_internal.h"

#include <arpa/inet.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#define PG_EPOCH_US INT64_C(946684800000000) /* 2000-01-01 in microseconds since 1970-01-01 */

enum { OID_INT8 = 20, OID_TEXT = 25, OID_TIMESTAMPTZ = 1184, OID_UUID = 2950 };

/* Offsets, not pointers, while the buffer may still move. */
static size_t reserve(struct pg_buffer *buffer, size_t length)
{
    size_t at = buffer->used;

    if (buffer->used + length > buffer->size) {
        size_t size = (buffer->used + length) * 2;
        char *bytes = realloc(buffer->bytes, size);
        if (!bytes)
            abort(); /* a few kilobytes: the process cannot go on without them */
        buffer->bytes = bytes;
        buffer->size = size;
    }
    buffer->used += length;
    return at;
}

static void put_int32(struct pg_buffer *buffer, int32_t n)
{
    uint32_t wire = htonl((uint32_t)n);
    size_t at = reserve(buffer, sizeof wire);

    memcpy(buffer->bytes + at, &wire, sizeof wire);
}

static void put_int64(struct pg_buffer *buffer, int64_t n)
{
    uint64_t wire = htobe64((uint64_t)n);
    size_t at = reserve(buffer, sizeof wire);

    memcpy(buffer->bytes + at, &wire, sizeof wire);
}

static void put_bytes(struct pg_buffer *buffer, const void *bytes, size_t length)
{
    size_t at = reserve(buffer, length);

    memcpy(buffer->bytes + at, bytes, length);
}

static void put_element(struct pg_buffer *buffer, const struct pg_value *value, int i)
{
    switch (value->type) {
    case PG_INT8S:
        put_int32(buffer, 8);
        put_int64(buffer, value->as.numbers[i]);
        break;
    case PG_TIMES:
        put_int32(buffer, 8);
        put_int64(buffer, value->as.numbers[i] - PG_EPOCH_US);
        break;
    case PG_UUIDS:
        put_int32(buffer, 16);
        put_bytes(buffer, value->as.uuids[i].bytes, 16);
        break;
    default:
        if (!value->as.texts[i]) {
            put_int32(buffer, -1);
        } else {
            size_t length = strlen(value->as.texts[i]);
            put_int32(buffer, (int32_t)length);
            put_bytes(buffer, value->as.texts[i], length);
        }
    }
}

static void put_array(struct pg_buffer *buffer, const struct pg_value *value, int32_t element)
{
    put_int32(buffer, value->count > 0); /* dimensions */
    put_int32(buffer, value->type == PG_TEXTS);
    put_int32(buffer, element);
    if (value->count == 0)
        return;
    put_int32(buffer, value->count);
    put_int32(buffer, 1); /* lower bound */
    for (int i = 0; i < value->count; i++)
        put_element(buffer, value, i);
}

static void put_value(struct pg_buffer *buffer, const struct pg_value *value)
{
    switch (value->type) {
    case PG_NULL:
    case PG_TEXT:
        break;
    case PG_INT8:
        put_int64(buffer, value->as.number);
        break;
    case PG_TIME:
        put_int64(buffer, value->as.number - PG_EPOCH_US);
        break;
    case PG_UUID:
        put_bytes(buffer, value->as.uuids->bytes, 16);
        break;
    case PG_INT8S:
        put_array(buffer, value, OID_INT8);
        break;
    case PG_TIMES:
        put_array(buffer, value, OID_TIMESTAMPTZ);
        break;
    case PG_TEXTS:
        put_array(buffer, value, OID_TEXT);
        break;
    case PG_UUIDS:
        put_array(buffer, value, OID_UUID);
        break;
    }
}

void pg_encode(struct pg_buffer *buffer, const struct pg_value *values, int count,
               struct pg_parameters *out)
{
    size_t starts[PG_MAX_PARAMETERS];

    if (count > PG_MAX_PARAMETERS)
        abort();
    buffer->used = 0;
    for (int i = 0; i < count; i++) {
        starts[i] = buffer->used;
        put_value(buffer, &values[i]);
        out->lengths[i] = (int)(buffer->used - starts[i]);
        out->formats[i] = 1;
    }
    for (int i = 0; i < count; i++) {
        if (values[i].type == PG_TEXT) {
            out->values[i] = values[i].as.text;
            out->lengths[i] = (int)strlen(values[i].as.text);
        } else {
            out->values[i] = values[i].type == PG_NULL ? NULL : buffer->bytes + starts[i];
        }
    }
}

int pg_rows(const struct pg *pg)
{
    return pg->result ? PQntuples(pg->result) : 0;
}

int64_t pg_affected(const struct pg *pg)
{
    const char *count = pg->result ? PQcmdTuples(pg->result) : "";

    return *count ? strtoll(count, NULL, 10) : 0;
}

bool pg_is_null(const struct pg *pg, int row, int column)
{
    return PQgetisnull(pg->result, row, column);
}

int64_t pg_get_int8(const struct pg *pg, int row, int column)
{
    uint64_t wire;

    if (PQgetlength(pg->result, row, column) != (int)sizeof wire)
        return 0;
    memcpy(&wire, PQgetvalue(pg->result, row, column), sizeof wire);
    return (int64_t)be64toh(wire);
}

int pg_get_int2(const struct pg *pg, int row, int column)
{
    uint16_t wire;

    if (PQgetlength(pg->result, row, column) != (int)sizeof wire)
        return 0;
    memcpy(&wire, PQgetvalue(pg->result, row, column), sizeof wire);
    return (int16_t)ntohs(wire);
}

bool pg_get_bool(const struct pg *pg, int row, int column)
{
    return PQgetlength(pg->result, row, column) == 1 && *PQgetvalue(pg->result, row, column) != 0;
}

int64_t pg_get_time(const struct pg *pg, int row, int column)
{
    return pg_get_int8(pg, row, column) + PG_EPOCH_US;
}

struct uuid pg_get_uuid(const struct pg *pg, int row, int column)
{
    struct uuid id = {{0}};

    if (PQgetlength(pg->result, row, column) == (int)sizeof id.bytes)
        memcpy(id.bytes, PQgetvalue(pg->result, row, column), sizeof id.bytes);
    return id;
}

void pg_get_text(const struct pg *pg, int row, int column, char *out, size_t size)
{
    size_t length = (size_t)PQgetlength(pg->result, row, column);

    if (length >= size)
        length = size - 1;
    memcpy(out, PQgetvalue(pg->result, row, column), length);
    out[length] = '\0';
}
