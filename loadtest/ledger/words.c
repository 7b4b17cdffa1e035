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

static int find_word(const char *const *words, int count, const char *name)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(words[i], name) == 0)
            return i;
    }
    return -1;
}

/* A word's name, and the word of a name. */
#define WORDS(name_of, named, type, list)                                                          \
    const char *name_of(enum type word)                                                            \
    {                                                                                              \
        return (list)[word];                                                                       \
    }                                                                                              \
    int named(const char *name)                                                                    \
    {                                                                                              \
        return find_word(list, sizeof(list) / sizeof *(list), name);                               \
    }
WORDS(ledger_kind_name, ledger_kind_of, ledger_kind, kinds)
WORDS(ledger_result_name, ledger_result_of, ledger_result, results)
WORDS(ledger_state_name, ledger_state_of, ledger_state, states)
WORDS(shop_meaning_name, shop_meaning_named, shop_meaning, meanings)
