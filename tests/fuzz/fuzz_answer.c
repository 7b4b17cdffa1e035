/*
 * Answers of the server, as the harness reads them: the HTTP answer, what it says of an operation,
 * and the page of metrics.
 *
 * The body lies within the bytes; an answer that is whole was partial as long as a byte of it was
 * missing. A buy that is said to have been sold names its order.
 */
#include "fuzz/fuzz.h"

#include "loadtest/fleet/scrape.h"
#include "loadtest/ledger/record/recorder.h"

#include <stdlib.h>
#include <string.h>

enum { KINDS = 1 + LEDGER_KINDS };

static void read_op(enum ledger_kind kind, const struct answer *answer)
{
    struct ledger_asked asked = {.op.kind = kind};
    const struct ledger_op op = (recorder_take(&asked, answer), asked.op);

    FUZZ_HOLDS(op.status == answer->status);
    FUZZ_HOLDS((op.result == LEDGER_OK) <= (op.status / 100 == 2));
    FUZZ_HOLDS((op.result == LEDGER_FAIL) <= (op.status / 100 == 4 || op.status == 503));
    FUZZ_HOLDS(op.state == LEDGER_STATE_NONE || op.result == LEDGER_OK || op.status / 100 == 2);
    if (kind == LEDGER_BUY && op.result == LEDGER_OK)
        FUZZ_HOLDS(op.order && *op.order);
    if (kind != LEDGER_BUY)
        FUZZ_HOLDS(!op.order);
}

/* Each in memory of its own size. */
static enum answer_state read_part(const uint8_t *data, size_t size)
{
    struct answer answer;
    char *bytes = malloc(size > 0 ? size : 1);

    FUZZ_HOLDS(bytes);
    memcpy(bytes, data, size);
    enum answer_state state = answer_read(bytes, size, &answer);
    free(bytes);
    return state;
}

static void read_answer(enum ledger_kind kind, const uint8_t *data, size_t size)
{
    struct answer answer = {0};
    char *bytes = malloc(size > 0 ? size : 1);

    FUZZ_HOLDS(bytes);
    if (size > 0)
        memcpy(bytes, data, size);
    if (answer_read(bytes, size, &answer) == ANSWER_WHOLE) {
        FUZZ_HOLDS(answer.status >= 200 && answer.status <= 599);
        FUZZ_HOLDS(answer.body + answer.body_length == bytes + size);
        read_op(kind, &answer);
        for (size_t part = 0; part < size; part += 1 + size / 64)
            FUZZ_HOLDS(read_part(data, part) == ANSWER_PARTIAL);
        FUZZ_HOLDS(read_part(data, size - 1) == ANSWER_PARTIAL);
    }
    free(bytes);
}

static void read_metrics(const uint8_t *data, size_t size)
{
    struct error error = {.code = ERROR_NONE};
    struct scrape scrape;
    char *text = fuzz_copy(data, size);

    if (scrape_parse(text, "batch", "buy", &scrape, &error))
        FUZZ_HOLDS(error.code == ERROR_NONE);
    else
        FUZZ_HOLDS(error.code == ERROR_FAILED && *error.text);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned kind = fuzz_kind(&data, &size, KINDS);

    if (kind == LEDGER_KINDS)
        read_metrics(data, size);
    else
        read_answer((enum ledger_kind)kind, data, size);
    return 0;
}
