/* What a pipeline reads of a run: thresholds by phase, the exit status, and a JUnit file that a
 * parser of XML takes, whatever the texts are. */
#include "lib/t.h"

#include "harness/fixtures/document_of.h"
#include "harness/fixtures/has.h"
#include "loadtest/report/pipeline/gate.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct gate gate;
static struct error error;
static char path[40], written[1 << 16]; /* a JUnit file, and what is read of it */

static const struct api_strategy strategies[] = {
    {.name = "conditional", .promise = {true, true, true, true}},
    {.name = "none"},
};

static struct phase_result phase(size_t strategy, enum phase_kind kind, enum verdict verdict)
{
    return (struct phase_result){
        .plan = {.strategy = &strategies[strategy],
                 .kind = kind,
                 .round = 1,
                 .body = "",
                 .fail_if = &gate.fail_if},
        .instances = 1,
        .verdict = verdict,
        .load = {.duration_us = 2000000, .requests = 1000, .p99_us = 40000},
        .counts = {.total = 1000, .committed = 990, .failed = 8, .unknown = 2},
    };
}

/* A gate anew. */
static void use(const char *fail_if, const char *junit)
{
    const struct options options = {.fail_if = fail_if, .junit = junit};
    t_done(gate_close(&gate, "run", NULL, &error), error);
    gate = (struct gate){.count = 0};
    t_done(gate_open(&gate, &options, &error), error);
}

static void take(const struct phase_result *runs, size_t count)
{
    struct document document = document_of(runs, count);
    gate_take(&gate, &document);
    document_free(&document);
}

static const char *printed(const char *fail_if, const struct phase_result *runs, size_t count)
{
    use(fail_if, "");
    take(runs, count);
    gate_print(t_print(), &gate);
    return t_printed();
}

TEST(phases_that_take_time_are_judged)
{
    struct phase_result runs[] = {phase(0, PHASE_SPEED, VERDICT_KEPT),
                                  phase(0, PHASE_TRUTH, VERDICT_KEPT),
                                  phase(1, PHASE_SPEED, VERDICT_UNSAFE)};
    runs[1].load.p99_us = 900000000;
    runs[2].load.p99_us = 300000;
    assert_string_equal(printed("p99>250ms,failed>=1%", runs, 3),
                        "\nThresholds (--fail-if)\n"
                        "  conditional, speed, 1 instance, round 1: failed>=1%: 1.000 %\n"
                        "  none, speed, 1 instance, round 1: p99>250ms: 300.0 ms, 50.0 ms more\n"
                        "  none, speed, 1 instance, round 1: failed>=1%: 1.000 %\n");
    HAS(gate, judged, 2, failed, 2);
    assert_string_equal(printed("p99>1s", runs, 3),
                        "\nThresholds (--fail-if)\n  no threshold failed in 2 phases\n");
    assert_string_equal(printed("", runs, 3), "");
    assert_int_equal(gate.judged + gate.unjudged, 0);
}

/* A phase that was not measured passes nothing: no run, and one that wrk's speed has limited. */
TEST(what_was_not_measured_is_not_judged)
{
    struct phase_result runs[] = {phase(0, PHASE_SPEED, VERDICT_NO_RUN),
                                  phase(0, PHASE_LOAD, VERDICT_KEPT)};
    snprintf(runs[0].error, sizeof runs[0].error, "late");
    runs[1].load.usage =
        (struct usage){.seconds = 2, .generator_busy = 1, .server_busy = 0.2, .server_cpu = 0.2};
    t_says(printed("p99>1s", runs, 2), "not judged");
    HAS(gate, judged, 0, unjudged, 2);
    assert_int_equal(gate_exit_status(&gate, 0), 2);
}

TEST(a_failed_threshold_is_status_1)
{
    const struct gate passed = {.judged = 2}, failed = {.judged = 2, .failed = 1, .unjudged = 1};
    assert_int_equal(gate_exit_status(&passed, 0), 0);
    assert_int_equal(gate_exit_status(&passed, 1), 1);
    assert_int_equal(gate_exit_status(&passed, 2), 2);
    assert_int_equal(gate_exit_status(&failed, 0), 1);
    assert_int_equal(gate_exit_status(&failed, 2), 1);
}

/* Of a load that is no phase, as of one, those that are met are said line by line. */
TEST(a_load_is_judged_as_a_phase_is)
{
    const struct measured measured = {.values = {[THRESHOLD_P50] = 2000,
                                                 [THRESHOLD_P99] = 250000,
                                                 [THRESHOLD_ORDERS] = 2000,
                                                 [THRESHOLD_FAILED] = 20}};
    static const char *const said[][2] = {
        {"p99>200ms,failed>50%,p50<1ms,orders<5000",
         "\nThresholds (--fail-if)\n  a shop: p99>200ms: 250.0 ms, 50.0 ms more\n"
         "  a shop: orders<5000: 2000 orders, 3000 orders less\n"},
        {"failed>50%", "\nThresholds (--fail-if)\n  no threshold failed\n"}};
    for (size_t i = 0; i < 2; i++) {
        use(said[i][0], "");
        gate_judge(&gate, "a group", "a shop", &measured);
        gate_print(t_print(), &gate);
        assert_string_equal(t_printed(), said[i][1]);
        assert_int_equal(gate.failed, i == 0);
    }
}

/* At a rate, what never started has failed though no server knows of it. */
TEST(at_a_rate_the_offered_orders_count)
{
    struct measured measured;
    struct phase_result run = phase(0, PHASE_LOAD, VERDICT_KEPT);
    run.load.parts_count = 2;
    run.load.parts[0].classes[LOAD_COMMITTED].count = 100;
    run.load.parts[1].classes[LOAD_FAILED].count = 60;
    run.load.parts[1].classes[LOAD_REFUSED].count = 40;
    assert_true(phase_measured(&run, &measured));
    assert_int_equal((int)measured.values[THRESHOLD_ORDERS], 200);
    assert_int_equal((int)measured.values[THRESHOLD_FAILED], 60);
    assert_int_equal((int)measured.per_s[THRESHOLD_FAILED], 30);
    run.load.parts_count = 0;
    assert_true(phase_measured(&run, &measured));
    assert_int_equal((int)measured.values[THRESHOLD_ORDERS], 1000);
    assert_int_equal((int)measured.values[THRESHOLD_FAILED], 10);
}

/* Python's parser reads the file and prints what it found, a line for each case. */
static const char *parsed(void)
{
    static char script[] =
        "import sys, xml.etree.ElementTree as e\n"
        "r = e.parse(sys.argv[1]).getroot()\n"
        "print(r.tag, r[0].tag, *[r.get(n) for n in ('tests','failures','errors','skipped')])\n"
        "for c in r[0]:\n"
        "  print(ascii(c.get('classname')), ascii(c.get('name')), *[(k.tag, k.get('type'), "
        "ascii(k.text), ascii(k.get('message'))) for k in c])\n";
    char out[200],
        *argv[] = {"sh", "-c", "python3 -c \"$0\" \"$1\" > \"$2\"", script, path, out, NULL};
    snprintf(out, sizeof out, "%s.out", path);
    use("", "");
    assert_int_equal(t_call(argv), 0);
    t_read(out, written, sizeof written);
    return written;
}

static void use_file(const char *fail_if)
{
    snprintf(path, sizeof path, "%s/junit", t_folder());
    use(fail_if, path);
}

TEST(each_phase_and_verdict_is_a_case)
{
    struct phase_result runs[] = {
        phase(0, PHASE_SPEED, VERDICT_KEPT), phase(0, PHASE_TRUTH, VERDICT_BROKEN),
        phase(1, PHASE_SPEED, VERDICT_PROVED_NOTHING), phase(1, PHASE_TRUTH, VERDICT_UNSAFE),
        phase(1, PHASE_LOAD, VERDICT_NO_RUN)};
    runs[1].audit.oversold = 7;
    snprintf(runs[4].error, sizeof runs[4].error, "the books <disagree>");
    use_file("p99>30ms");
    take(runs, 5);
    assert_int_equal(gate.junit.count, 7);
    parsed();
    static const char *const lines[] = {
        "testsuites testsuite 7 4 2 0",
        "'conditional' 'speed, 1 instance, round 1' ('failure', 'threshold', "
        "\"'p99>30ms: 40.0 ms, 10.0 ms more'\"",
        "'conditional' 'truth, 1 instance, round 1' ('failure', 'BROKEN', \"'sold 0 of 0: 7 "
        "oversold",
        "'none' 'speed, 1 instance, round 1' ('failure', 'threshold'",
        "'none' 'truth, 1 instance, round 1'\n",
        "'none' 'load, 1 instance, round 1' ('error', 'no run', \"'the books <disagree>'\"",
        "'conditional' 'verdict, 1 instance' ('failure', 'BROKEN'",
        "'none' 'verdict, 1 instance' ('error', 'no run'",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        t_says(written, lines[i]);
    }
    use_file("");
    take(&runs[2], 2);
    parsed();
    t_says(written, "testsuites testsuite 3 0 0 1\n");
    assert_non_null(strstr(written, "('skipped', 'proved nothing', 'None', \"'proved nothing'\""));
    t_says(written, "('system-out', None, \"'unsafe, as stated'\", 'None')");
}

/* Quotes, controls, what is no UTF-8, and a text that was cut off within a character. */
TEST(any_text_is_good_xml)
{
    static const struct {
        const char *text, *read;
    } texts[] = {
        {"a<b>&\"c'd]]>", "a<b>&\"c\\'d]]>"},
        {"one\ntwo\tthree", "one\\ntwo\\tthree"},
        {"a\x01z\x1b[31m", "a\\ufffdz\\ufffd[31m"},
        {"\xe7\xa7\x92\xe6\x9d\x80 \xf0\x9f\x9b\x92", "\\u79d2\\u6740 \\U0001f6d2"},
        {"cut \xe7\xa7", "cut \\ufffd\\ufffd"},
        {"\xe7"
         "zz|",
         "\\ufffdzz|"},
        {"\xff\xc0\xaf\xed\xa0\x80|", "\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd|"},
        {"\xef\xbf\xbe|\xf4\x90\x80\x80|", "\\ufffd\\ufffd\\ufffd|\\ufffd\\ufffd\\ufffd\\ufffd|"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct junit_case one = {
            .group = "a&b", .name = texts[i].text, .outcome = JUNIT_FAILED, .type = "<>"};
        snprintf(one.text, sizeof one.text, "%s", texts[i].text);
        use_file("");
        junit_add(&gate.junit, &one);
        if (!strstr(parsed(), texts[i].read))
            fail_msg("%zu: no '%s' in %s", i, texts[i].read, written);
    }
}

TEST(a_file_that_cannot_be_written_is_said_at_once)
{
    struct junit junit;
    struct junit_case one = {.group = "a", .name = "b"};
    assert_false(junit_open(&junit, "/nowhere/report.xml", &error));
    t_says(error.text, "--junit: cannot write /nowhere/report.xml");
    assert_true(junit_open(&junit, "", &error));
    junit_add(&junit, &one);
    assert_int_equal(junit.count, 0);
    assert_true(junit_close(&junit, "none", &error));
    assert_true(junit_open(&junit, "/dev/full", &error));
    junit_add(&junit, &one);
    assert_false(junit_close(&junit, "full", &error));
    t_says(error.text, "/dev/full");
}
