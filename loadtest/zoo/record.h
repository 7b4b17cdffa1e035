/* An exhibit as it was played: each step with what was sent and what came back, and the books at
 * the end. */
#ifndef SECKILL_LOADTEST_ZOO_RECORD_H
#define SECKILL_LOADTEST_ZOO_RECORD_H

#include "loadtest/zoo/stage.h"

enum { ZOO_LINES = ZOO_STEP_VERBS + 2, ZOO_LINE_SIZE = 200, ZOO_CAME_SIZE = 64 };

enum zoo_line_kind { ZOO_SENT, ZOO_NOTE, ZOO_ANSWER };

struct zoo_line {
    enum zoo_line_kind kind;
    char text[ZOO_LINE_SIZE];
    char came[ZOO_CAME_SIZE]; /* "": nothing that matters */
};

struct zoo_row {
    int number; /* from 1 on */
    enum zoo_column who;
    size_t count;
    struct zoo_line lines[ZOO_LINES];
};

struct zoo_record {
    const struct zoo_act *act; /* borrowed */
    size_t count;
    struct zoo_row rows[ZOO_STEPS];
    struct zoo_books books;
};

#endif
