/* See value.h. */
#include "loadtest/zoo/value.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { CLOCK_A = 1000000, CLOCK_B = 1060000, LEASE_MS = 10000 };

#define UUID "00000000-0000-7000-8000-00000000000%d"

/* Figures that the same buyer has again each time that an act is played. */
static bool find_number(const struct zoo_buyer *buyer, const char *name, int64_t *out)
{
    const struct {
        const char *name;
        int64_t value;
    } numbers[] = {
        {"product", ZOO_PRODUCT},
        {"epoch", buyer->epoch},
        {"stock", buyer->stock},
        {"left", buyer->stock - 1},
        {"quantity", 1},
        {"fence", buyer->fence},
        {"no_fence", 0},
        {"user", 101 + (int64_t)buyer->column},
        {"lease", LEASE_MS},
        {"stamp", (buyer->column == A ? CLOCK_A : CLOCK_B) + LEASE_MS},
        {"above", 0},
        {"below", INT64_C(1) << 26},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        *out = numbers[i].value;
        if (strcmp(numbers[i].name, name) == 0)
            return true;
    }
    return false;
}

/* Keys of the zoo's own; shown without what makes them so. */
static bool find_key(const struct zoo_stage *stage, const struct zoo_buyer *buyer, const char *name,
                     struct zoo_value *out)
{
    if (zoo_stage_has_key(name)) {
        snprintf(out->sent, sizeof out->sent, "%s:%s", stage->prefix, name);
        snprintf(out->shown, sizeof out->shown, "%s", name);
        return true;
    }
    if (strcmp(name, "caller") != 0)
        return false;
    snprintf(out->sent, sizeof out->sent, "%s:caller:%c", stage->prefix, 'A' + (int)buyer->column);
    return true;
}

static bool find_text(const struct zoo_stage *stage, const struct zoo_buyer *buyer,
                      const char *name, struct zoo_value *out)
{
    int number = (int)buyer->column + 1;
    char letter = (char)('A' + (int)buyer->column);
    char *to = out->sent;
    size_t size = sizeof out->sent;
    *to = '\0';
    if (strcmp(name, "token") == 0)
        snprintf(to, size, "token-%c", letter);
    else if (strcmp(name, "order") == 0)
        snprintf(to, size, UUID, number);
    else if (strcmp(name, "group") == 0)
        snprintf(to, size, "00000000000%d", number);
    else if (strcmp(name, "orders") == 0)
        snprintf(to, size, "{" UUID "}", number);
    else if (strcmp(name, "users") == 0)
        snprintf(to, size, "{%d}", 100 + number);
    else if (strcmp(name, "quantities") == 0)
        snprintf(to, size, "{1}");
    else if (strcmp(name, "times") == 0)
        snprintf(to, size, "{now}");
    else if (strcmp(name, "products") == 0)
        snprintf(to, size, "{%d}", ZOO_PRODUCT);
    else if (strcmp(name, "line") == 0)
        snprintf(to, size, UUID " %d 1 1 \n", number, 100 + number);
    else if (strcmp(name, "strategy") == 0)
        snprintf(to, size, "zoo");
    else if (strcmp(name, "now") == 0 || strcmp(name, "generation") == 0)
        snprintf(to, size, "%s", *name == 'n' ? "now" : "1");
    else if (strcmp(name, "cas") == 0)
        snprintf(to, size, "%s", buyer->cas);
    else if (strcmp(name, "prefix") == 0)
        snprintf(to, size, "%s", stage->prefix);
    else if (strcmp(name, "channel") == 0 || strcmp(name, "wake") == 0)
        snprintf(to, size, "%s:%s", stage->prefix, name);
    else
        return strcmp(name, "none") == 0;
    return true;
}

static bool find(const struct zoo_stage *stage, const struct zoo_buyer *buyer, const char *name,
                 struct zoo_value *out)
{
    int64_t number;
    if (find_key(stage, buyer, name, out))
        return true;
    if (find_number(buyer, name, &number))
        snprintf(out->sent, sizeof out->sent, "%" PRId64, number);
    else if (!find_text(stage, buyer, name, out))
        return false;
    snprintf(out->shown, sizeof out->shown, "%s", out->sent);
    return true;
}

static void add(char *to, const char *text, size_t length)
{
    size_t used = strlen(to);
    snprintf(to + used, ZOO_VALUE_SIZE - used, "%.*s", (int)length, text);
}

/* "{lock}": its length, and the value; 0: no name begins here. */
static size_t read_name(const struct zoo_stage *stage, const struct zoo_buyer *buyer,
                        const char *text, struct zoo_value *value)
{
    char name[16];
    size_t length = *text == '{' ? strcspn(text, "}") : 0;
    if (length < 2 || !text[length] || length > sizeof name)
        return 0;
    snprintf(name, sizeof name, "%.*s", (int)length - 1, text + 1);
    return find(stage, buyer, name, value) ? length + 1 : 0;
}

void zoo_value_fill(struct zoo_value *out, const struct zoo_stage *stage,
                    const struct zoo_buyer *buyer, const char *text)
{
    struct zoo_value value;
    *out = (struct zoo_value){.sent = ""};
    while (*text) {
        size_t length = read_name(stage, buyer, text, &value);
        add(out->sent, length ? value.sent : text, length ? ZOO_VALUE_SIZE : 1);
        add(out->shown, length ? value.shown : text, length ? ZOO_VALUE_SIZE : 1);
        text += length ? length : 1;
    }
}

int zoo_value_words(struct zoo_value out[ZOO_WORDS], const struct zoo_stage *stage,
                    const struct zoo_buyer *buyer, const char *text)
{
    char word[ZOO_VALUE_SIZE];
    int count = 0;
    while (*text && count < ZOO_WORDS) {
        size_t length = strcspn(text, " ");
        snprintf(word, sizeof word, "%.*s", (int)length, text);
        zoo_value_fill(&out[count++], stage, buyer, word);
        text += length + (text[length] == ' ');
    }
    return count;
}
