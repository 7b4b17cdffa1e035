/* See words.h. */
#include "loadtest/ledger/words.h"

#include <string.h>

static const char *const kinds[LEDGER_KINDS] = {"buy", "cancel", "restock", "read", "pay"};
static const char *const results[LEDGER_RESULTS] = {"info", "ok", "fail"};
static const char *const states[LEDGER_STATES] = {"",       "queued",  "confirmed", "cancelled",
                                                  "failed", "pending", "expired"};
static const char *const meanings[SHOP_MEANINGS] = {
    [SHOP_UNKNOWN] = "unknown",   [SHOP_SOLD] = "sold",       [SHOP_ACCEPTED] = "accepted",
    [SHOP_SOLD_OUT] = "sold_out", [SHOP_REFUSED] = "refused", [SHOP_SHED] = "shed",
};

const char *ledger_kind_name(enum ledger_kind kind)
{
    return kinds[kind];
}

const char *ledger_result_name(enum ledger_result result)
{
    return results[result];
}

const char *ledger_state_name(enum ledger_state state)
{
    return states[state];
}

const char *shop_meaning_name(enum shop_meaning meaning)
{
    return meanings[meaning];
}

static int find_word(const char *const *words, int count, const char *name)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(words[i], name) == 0)
            return i;
    }
    return -1;
}

int ledger_kind_of(const char *name)
{
    return find_word(kinds, LEDGER_KINDS, name);
}

int ledger_result_of(const char *name)
{
    return find_word(results, LEDGER_RESULTS, name);
}

int ledger_state_of(const char *name)
{
    return find_word(states, LEDGER_STATES, name);
}

int shop_meaning_named(const char *name)
{
    return find_word(meanings, SHOP_MEANINGS, name);
}
