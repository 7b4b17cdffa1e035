/* What tells two answers apart: see draft_parts.h. */
#include "loadtest/shop/draft/draft_parts.h"

#include <string.h>

enum { POINTER_MAX = 200, TEXT_MAX = 80 };

/* A value of one answer that the other does not have there. */
struct difference {
    char pointer[POINTER_MAX];  /* "": none was found */
    const json_t *here, *there; /* borrowed; `there` NULL: nothing */
    int rank;
};

static const char *const TELLING[] = {"code",    "error",  "errorcode", "errcode",
                                      "status",  "reason", "result",    "success",
                                      "message", "msg",    NULL};
static const char *const ORDERS[] = {"id", "order", "orderid", "orderno", "ordersn", NULL};

/* By how much it looks like what a shop says its answer with, and not like a time or a number. */
static int rank_of(const char *name, const json_t *here, const json_t *there)
{
    bool telling = draft_is_named(name, strlen(name), TELLING);
    bool both = there && json_typeof(there) == json_typeof(here);
    if (json_is_string(here) && json_string_length(here) > TEXT_MAX)
        return 0;
    return 1 + (telling ? 4 : 0) + (both ? 1 : 0) + (json_is_boolean(here) ? 2 : 0);
}

static void compare(json_t *here, const json_t *there, const char *way, struct difference *best)
{
    const char *name = NULL;
    json_t *value = NULL;
    json_object_foreach(here, name, value)
    {
        const json_t *other = json_object_get(there, name);
        char pointer[POINTER_MAX];
        int length = snprintf(pointer, sizeof pointer, "%s/%s", way, name);
        if (length >= POINTER_MAX || strpbrk(name, "/~"))
            continue;
        if (json_is_object(value)) {
            compare(value, other, pointer, best);
            continue;
        }
        int rank = rank_of(name, value, other);
        if (json_is_array(value) || json_is_null(value) || (other && json_equal(value, other)) ||
            rank <= best->rank)
            continue;
        *best = (struct difference){.here = value, .there = other, .rank = rank};
        memcpy(best->pointer, pointer, sizeof pointer);
    }
}

/* Where an answer has the order's id; "": nowhere that its name shows. */
static void find_order(json_t *here, const char *way, char out[POINTER_MAX])
{
    const char *name = NULL;
    json_t *value = NULL;
    json_object_foreach(here, name, value)
    {
        char pointer[POINTER_MAX];
        if (*out || snprintf(pointer, sizeof pointer, "%s/%s", way, name) >= POINTER_MAX)
            continue;
        if (json_is_object(value))
            find_order(value, pointer, out);
        else if ((json_is_string(value) || json_is_integer(value)) &&
                 draft_is_named(name, strlen(name), ORDERS))
            memcpy(out, pointer, sizeof pointer);
    }
}

static void write_json(FILE *to, const json_t *json)
{
    json_dumpf(json, to, JSON_ENCODE_ANY);
}

static void write_text(FILE *to, const char *text)
{
    json_t *json = json_string(text);
    write_json(to, json);
    json_decref(json);
}

/* Its first line, where the other answer has it nowhere. */
static bool own_line(const struct pasted_answer *is, const struct pasted_answer *other,
                     char out[TEXT_MAX + 1])
{
    snprintf(out, TEXT_MAX + 1, "%.*s", (int)strcspn(is->body, "\r\n"), is->body);
    return *out && !is->json && !strstr(other->body, out);
}

/* A line of the outcome but for its order. False: nothing is its own. */
static bool write_line(FILE *to, const char *word, const struct pasted_answer *is,
                       const struct pasted_answer *other)
{
    struct difference found = {.rank = 0};
    char line[TEXT_MAX + 1];
    bool by_status = is->status != other->status, sold_out = strcmp(word, "sold_out") == 0;
    compare(is->json, other->json, "", &found);
    fprintf(to, "  - %s: {status: %d", word, is->status);
    /* Another "no" may have the same status; a sale has it alone. */
    if (*found.pointer && (!by_status || sold_out)) {
        fputs(", json: ", to);
        if (found.there || sold_out) {
            fputs("{", to);
            write_text(to, found.pointer);
            fputs(": ", to);
            write_json(to, found.here);
            fputs("}", to);
        } else {
            write_text(to, found.pointer);
        }
    } else if (!by_status) {
        if (!own_line(is, other, line))
            return false;
        fputs(", text: ", to);
        write_text(to, line);
    }
    fputs("}\n", to);
    return true;
}

static void write_order(FILE *to, const char *pointer)
{
    if (!*pointer)
        return;
    fputs("    order: ", to);
    write_text(to, pointer);
    fputs("   # where the answer has the order's id\n", to);
}

bool draft_outcome(FILE *to, const struct pasted_answer *bought,
                   const struct pasted_answer *sold_out, bool has_key)
{
    char order[POINTER_MAX] = "";
    find_order(bought->json, "", order);
    bool accepted = bought->status == 202;
    if (!write_line(to, "sold_out", sold_out, bought) ||
        !write_line(to, accepted ? "accepted" : "sold", bought, sold_out))
        return false;
    write_order(to, order);
    if (has_key && bought->status == 201 && sold_out->status != 200) {
        fputs("  - sold: {status: 200}   # the same order again, to a repeated key\n", to);
        write_order(to, order);
    }
    fputs("  - shed: [429, 503]      # too busy, nothing was decided\n"
          "  - refused: 4xx          # any other no\n",
          to);
    if (accepted)
        fputs("# An accepted order's end is unknown until this says how it is asked for:\n"
              "# poll:\n"
              "#   path: /orders/{order}\n"
              "#   outcome: [{sold: {json: {/status: \"paid\"}}}]\n",
              to);
    return true;
}
