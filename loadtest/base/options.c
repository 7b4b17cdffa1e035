/* See options.h. */
#include "loadtest/base/options.h"

#include "base/options/nearest.h"

#include <string.h>

enum {
    RUN = COMMAND_RUN,
    AUDIT = COMMAND_AUDIT,
    SWEEP = COMMAND_SWEEP,
    REPORT = COMMAND_REPORT,
    RECORD = COMMAND_RECORD,
    OASIS = COMMAND_OASIS,
    CHECK = COMMAND_CHECK,
    FAULTS = COMMAND_FAULTS,
    ZOO = COMMAND_ZOO
};
enum {
    WRKS = RUN | SWEEP,
    CROWDS = RECORD | OASIS,
    LOADS = WRKS | CROWDS | FAULTS,
    ANY = LOADS | AUDIT | CHECK
};

#define AT(member) offsetof(struct options, member)

static const struct option_row backends[] = {
    OPTION_ROW("threads", WRKS, OPTION_COUNT, AT(threads), "0", 0, 256, false, "N",
               "wrk's threads, rounded up to a multiple of the instances; 0: one a core"),
    OPTION_ROW("seed", LOADS, OPTION_COUNT, AT(seed), "1", 0, 1000000000, false, "N",
               "the same seed buys with the same user ids in the same order of products"),
    OPTION_ROW("first-product", LOADS, OPTION_COUNT, AT(first_product), "1000001", 1000000, 8000000,
               false, "ID", "products ID, ID+1, … are sold, and reset"),
    OPTION_ROW("database", ANY | ZOO, OPTION_SECRET, AT(database), "", 0, 0, true, "CONNINFO",
               "PostgreSQL, as libpq takes it (the PG* variables)"),
    OPTION_ROW("schema", ANY, OPTION_TEXT, AT(schema), "seckill", 0, 0, true, "NAME",
               "schema that the servers' tables are in; given to the started servers"),
    OPTION_ROW("redis", LOADS, OPTION_SECRET, AT(redis), "", 0, 0, true, "URL",
               "Redis for the started servers"),
    OPTION_ROW("stock-redis", LOADS, OPTION_SECRET, AT(stock_redis), "", 0, 0, true, "URL",
               "Redis for their redis-stock (--redis)"),
    OPTION_ROW("amqp", LOADS, OPTION_SECRET, AT(amqp), "", 0, 0, true, "URL",
               "RabbitMQ for the started servers"),
    OPTION_ROW("redlock", LOADS, OPTION_SECRET, AT(redlock), "", 0, 0, true, "URL,URL,URL",
               "Redlock's Redis nodes for the started servers"),
    OPTION_ROW("memcached", LOADS, OPTION_TEXT, AT(memcached), "", 0, 0, true, "ADDRESS",
               "memcached for the started servers"),
    OPTION_ROW("zookeeper", LOADS, OPTION_TEXT, AT(zookeeper), "", 0, 0, true, "HOSTS",
               "ZooKeeper for the started servers"),
    OPTION_ROW("admin-token", LOADS, OPTION_SECRET, AT(admin_token), "", 0, 0, true, "T",
               "sent with admin calls, and given to the started servers"),
    OPTION_ROW("out", LOADS, OPTION_TEXT, AT(out), "", 0, 0, false, "DIR",
               "where the files go (a new folder in results/)"),
    OPTION_ROW("out", REPORT, OPTION_TEXT, AT(out), "", 0, 0, false, "DIR",
               "where report.html goes (the run's folder; of several runs: this one)"),
    OPTION_ROW("server-binary", LOADS, OPTION_TEXT, AT(server_binary), "", 0, 0, false, "PATH",
               "the seckill-server to start (the one beside this program)"),
};

const struct option_table option_table_backends = {.rows = backends,
                                                   .count = sizeof backends / sizeof backends[0]};

static const char *const scenarios[] = {"hot",  "soldout",  "spread", "counter",
                                        "bell", "articles", "unpaid"};

static const struct option_row rows[] = {
    OPTION_ROW("strategies", RUN, OPTION_LIST, AT(strategies), "all", 0, 0, false, "a,b,...|all",
               "what to compare; all: every one that the servers can run now"),
    OPTION_ROW("strategies", FAULTS, OPTION_LIST, AT(strategies), "all", 0, 0, false, "a,b,...|all",
               "the matrix's rows; all: every one that the servers can run now"),
    OPTION_ROW("faults", FAULTS, OPTION_LIST, AT(faults), "all", 0, 0, false, "a,b,...|all",
               "the matrix's columns (below)"),
    OPTION_ROW("runs", FAULTS, OPTION_COUNT, AT(runs), "3", 1, 1000, false, "N",
               "how often each cell is run, with another seed each time"),
    OPTION_ROW("short", FAULTS, OPTION_SWITCH, AT(short_form), NULL, 0, 0, false, NULL,
               "only the cells that tell the strategies apart, one run of each"),
    OPTION_ROW("reproduce", FAULTS, OPTION_TEXT, AT(reproduce), "", 0, 0, false, "STRATEGY/FAULT",
               "one run of one cell, with the schedule of --seed, and all that was found"),
    OPTION_ROW("stack", FAULTS, OPTION_TEXT, AT(stack), "", 0, 0, false, "COMMAND",
               "kills and starts the private PostgreSQL: scripts/stack.sh --dir DIR"),
    OPTION_ROW("expect", FAULTS, OPTION_LIST, AT(expect), NULL, 0, 0, false,
               "CELL=holds|breaks,...", "expect something else of a cell than its promise says"),
    OPTION_ROW("strategy", RECORD, OPTION_TEXT, AT(strategy), "conditional", 0, 0, false, "NAME",
               "what sells"),
    OPTION_ROW("strategy", OASIS, OPTION_TEXT, AT(strategy), "batch", 0, 0, false, "NAME",
               "what sells"),
    OPTION_ROW("tickets", OASIS, OPTION_COUNT, AT(tickets), "1400000", 1, 100000000, false, "N",
               "tickets on sale, of all nights together"),
    OPTION_ROW("products", OASIS, OPTION_COUNT, AT(products), "17", 1, 1000, false, "N",
               "nights, a product each"),
    OPTION_ROW("strategies", SWEEP, OPTION_LIST, AT(strategies), "conditional", 0, 0, false,
               "a,b,...", "what to measure"),
    OPTION_ROW("strategies", REPORT, OPTION_LIST, AT(strategies), NULL, 0, 0, false, "a,b,...",
               "show these alone (all)"),
    OPTION_ROW("over", SWEEP, OPTION_TEXT, AT(over), "", 0, 0, false, "NAME=1,2,4",
               "what to vary, and its values (below)"),
    OPTION_ROW("set", SWEEP, OPTION_LIST, AT(set), NULL, 0, 0, false, "NAME=1,...",
               "other settings, the same throughout"),
    OPTION_ROW("scenario", RUN, OPTION_CHOICE, AT(scenario),
               "hot|soldout|spread|counter|bell|articles|unpaid", 0, 0, false, "NAME",
               "hot, soldout, spread, counter, bell, articles or unpaid (below)"),
    OPTION_ROW("instances", CROWDS, OPTION_NUMBERS, AT(instances), NULL, 1, OPTIONS_MAX_INSTANCES,
               false, "N", "how many servers share the load (1; with --server: all of them)"),
    OPTION_ROW("instances", RUN, OPTION_NUMBERS, AT(instances), NULL, 1, OPTIONS_MAX_INSTANCES,
               false, "1,3",
               "how many servers share the load, one figure after the other (1; with --server: all "
               "of them)"),
    OPTION_ROW(
        "connections", RUN, OPTION_COUNT, AT(connections), "0", 1, 20000, false, "N",
        "connections in all: wrk's, a multiple of the threads (64); at a --rate the most (1024)"),
    OPTION_ROW("connections", RECORD, OPTION_COUNT, AT(connections), "16", 1, 20000, false, "N",
               "buyers at once, who each wait for their answer"),
    OPTION_ROW("connections", OASIS, OPTION_COUNT, AT(connections), "256", 1, 10000, false, "N",
               "buyers at once, with two connections each"),
    OPTION_ROW("operations", RECORD, OPTION_COUNT, AT(operations), "0", 0, 1000000000, false, "N",
               "end after so many, if that is before --duration; 0: any number"),
    OPTION_ROW("users", RECORD, OPTION_COUNT, AT(users), "200", 1, 1000000000, false, "N",
               "how many users they buy for"),
    OPTION_ROW("limit", RECORD, OPTION_COUNT, AT(limit), "0", 0, 1000000000, false, "N",
               "units that a user may have of a product; 0: any number"),
    OPTION_ROW("rate", RUN, OPTION_COUNT, AT(rate_per_s), "0", 1, 1000000, false, "N",
               "orders a second, whether the servers keep up or not (as fast as they answer)"),
    OPTION_ROW("arrivals", RUN, OPTION_CHOICE, AT(arrivals), "poisson|constant", 0, 0, false,
               "poisson|constant", "how orders come at a --rate"),
    OPTION_ROW("surge", RUN, OPTION_COUNT, AT(surge), "20", 1, 1000, false, "N",
               "bell: how many times the --rate comes when the sale opens"),
    OPTION_ROW("max-lag-ms", RUN, OPTION_MS, AT(max_lag_ms), "10", 0, 60000, false, "N",
               "with a --rate: no run when the harness was later than this with 1 % of the orders"),
    OPTION_ROW("duration", RUN, OPTION_SECONDS, AT(duration_s), "10s", 1, 86400, false, "10s",
               "how long a load whose stock cannot run out lasts"),
    OPTION_ROW("duration", SWEEP, OPTION_SECONDS, AT(duration_s), "2s", 1, 86400, false, "2s",
               "how long each measurement lasts"),
    OPTION_ROW("duration", RECORD, OPTION_SECONDS, AT(duration_s), "5s", 1, 86400, false, "5s",
               "how long the buyers go on"),
    OPTION_ROW("stock", RECORD, OPTION_COUNT, AT(stock), "100", 0, 1000000000, false, "N",
               "units on sale, of each product"),
    OPTION_ROW("products", RECORD, OPTION_COUNT, AT(products), "4", 1, 100000, false, "N",
               "how many products are sold"),
    OPTION_ROW("stock", RUN, OPTION_COUNT, AT(stock), "100", 1, 1000000000, false, "N",
               "units on sale in the truth phase, for each product"),
    OPTION_ROW("products", RUN, OPTION_COUNT, AT(products), "100", 1, 100000, false, "N",
               "products of the spread scenario"),
    OPTION_ROW("products", SWEEP, OPTION_COUNT, AT(products), "1", 1, 100000, false, "N",
               "how many products are sold"),
    OPTION_ROW("rounds", RUN, OPTION_COUNT, AT(rounds), "1", 1, 1000, false, "N",
               "how often everything is repeated, strategies in turn"),
    OPTION_ROW("rounds", SWEEP, OPTION_COUNT, AT(rounds), "3", 1, 100, false, "N",
               "how often everything is repeated, values in turn"),
    OPTION_ROW("work-ms", RUN | CROWDS, OPTION_MS, AT(work_ms), "-1", 0, 60000, false, "N",
               "started servers hold their protection N ms longer"),
    OPTION_ROW("body", WRKS | CROWDS, OPTION_TEXT, AT(body), "", 0, 0, false, "plain|guarded",
               "what runs under the lock, for strategies that have the choice"),
    OPTION_ROW("wait-ms", WRKS | CROWDS, OPTION_MS, AT(wait_ms), "-1", 0, 60000, false, "N",
               "how long an order may wait"),
    OPTION_ROW("redis", CHECK, OPTION_SECRET, AT(redis), "", 0, 0, true, "URL",
               "the locks' Redis: locks without a lease are residue (not looked at)"),
    OPTION_ROW("stock-redis", CHECK, OPTION_SECRET, AT(stock_redis), "", 0, 0, true, "URL",
               "redis-stock's: its stock is the database's when all is quiet (--redis)"),
    OPTION_ROW("system-name", FAULTS, OPTION_TEXT, AT(system_name), "seckill-faults", 0, 0, false,
               "NAME",
               "the started servers' prefix of keys in Redis: every key with it is deleted"),
    OPTION_ROW("system-name", CHECK, OPTION_TEXT, AT(system_name), "seckill", 0, 0, true, "NAME",
               "the servers' prefix of keys in Redis"),
    OPTION_ROW("show", CHECK, OPTION_COUNT, AT(show), "3", 0, 1000000, false, "N",
               "of each kind of violation, print so many cases with their operations"),
    OPTION_ROW("exact", CHECK, OPTION_COUNT, AT(exact), "200", 0, 512, false, "N",
               "products with at most N operations are searched exactly; 0: none"),
    OPTION_ROW("product", AUDIT, OPTION_COUNT, AT(product), "0", 1, INT64_C(9007199254740991),
               false, "ID", "audit this product alone"),
    OPTION_ROW("server", RUN | CROWDS, OPTION_LIST, AT(servers), NULL, 0, 0, false, "URL,URL,...",
               "use these running servers instead of starting some"),
    OPTION_ROW("reset", RUN | CROWDS, OPTION_SWITCH, AT(reset), NULL, 0, 0, false, NULL,
               "with --server: products that have orders may be reset"),
    OPTION_ROW("format", RUN, OPTION_CHOICE, AT(format), "table|wide|md|json|csv", 0, 0, false,
               "NAME", "what is printed: table, wide, md (Markdown), json or csv (below)"),
    OPTION_ROW("wide", RUN, OPTION_SWITCH, AT(wide), NULL, 0, 0, false, NULL,
               "every column, as --format wide"),
    OPTION_ROW("redis", ZOO, OPTION_SECRET, AT(redis), "", 0, 0, true, "URL",
               "Redis, for the exhibits with a lock there"),
    OPTION_ROW("stock-redis", ZOO, OPTION_SECRET, AT(stock_redis), "", 0, 0, true, "URL",
               "Redis for redis-stock's exhibit (--redis)"),
    OPTION_ROW("redlock", ZOO, OPTION_SECRET, AT(redlock), "", 0, 0, true, "URL,URL,URL",
               "three Redis nodes, for redlock's"),
    OPTION_ROW("memcached", ZOO, OPTION_TEXT, AT(memcached), "", 0, 0, true, "ADDRESS",
               "memcached, for memcached-lock's"),
    OPTION_ROW("zookeeper", ZOO, OPTION_TEXT, AT(zookeeper), "", 0, 0, true, "HOSTS",
               "ZooKeeper, for zookeeper-lock's"),
    OPTION_ROW("format", ZOO, OPTION_CHOICE, AT(zoo_format), "table|md|json", 0, 0, false, "NAME",
               "what is printed: a table, docs/strategies/zoo.md, or the live page's data"),
    OPTION_ROW("step", ZOO, OPTION_SWITCH, AT(step), NULL, 0, 0, false, NULL,
               "wait for Enter before each step, where there is a terminal"),
    OPTION_ROW("picture", REPORT, OPTION_SWITCH, AT(picture), NULL, 0, 0, false, NULL,
               "print the first run's rates as an SVG picture, and write no page"),
};

static const struct option_stop stops[] = {
    {"--help", OPTIONS_HELP, "print this and exit"},
    {"-h", OPTIONS_HELP, NULL},
    {"help", OPTIONS_HELP, NULL},
    {NULL, 0, NULL},
};

static const struct option_table table = {.rows = rows,
                                          .count = sizeof rows / sizeof rows[0],
                                          .more = &option_table_backends,
                                          .stops = stops};

/* Without a flag. The first is enough for wrk to keep any server busy; with the second a server
 * that is slow for a tenth of a second at 10,000 orders a second makes nobody start late. */
enum { WRK_CONNECTIONS = 64, OPEN_CONNECTIONS = 1024, BELL_RATE = 500 };

static const char run_help[] =
    "Scenarios\n"
    "  hot      one product. Each round has two phases: speed (stock that cannot run out, for\n"
    "           --duration) and truth (--stock units, until they are gone and as many orders were\n"
    "           refused as there are connections). Rates and latencies come from the first,\n"
    "           oversold from the second, lost updates from both.\n"
    "  spread   the same over --products products, bought in an order that --seed decides.\n"
    "  soldout  nothing to sell: refusals alone. Kept when orders were refused and none was sold.\n"
    "  counter  restocks by one, from 0: the lost-update experiment.\n"
    "  bell     --stock units of one product, whose sale opens after a fifth of --duration. "
    "Orders\n"
    "           come at --rate (500) until then and are told that it is not open, at --surge "
    "times\n"
    "           that for three tenths of --duration, and at --rate again, most of them too late.\n"
    "  articles the experiments of the articles that the strategies come from, each with its own\n"
    "           strategies, instances and number of calls, beside the figures they published\n"
    "           (docs/ARTICLES.md). Takes a minute or two.\n"
    "  unpaid   --stock units of one product, bought for --duration by as many buyers as there "
    "are\n"
    "           connections (256 at the most) with a hold of a second. Four in ten pay at once,\n"
    "           three when the hold ends, three never. The rows are counted all the while: each\n"
    "           unit is in the stock, sold or held; and at the end nothing is held, and what was\n"
    "           sold is what was paid. One line a strategy; nothing of the output below.\n"
    "\n"
    "Verdicts\n"
    "  kept              promised for this many instances, and no violation was found\n"
    "  BROKEN            promised, and violated; or the server answered internal_error\n"
    "  unsafe, as stated not promised, and a violation was seen\n"
    "  proved nothing    not promised and nothing went wrong, or nothing was sold, or the stock\n"
    "                    was not gone in time, or several strategies sold one product\n"
    "  no run            the figures do not add up, or are not of as many connections as were\n"
    "                    asked for: see the error\n"
    "  A violation is oversold, lost updates, duplicate orders, limits exceeded, undersold (sold\n"
    "  out was answered though stock is left), resold (of one product: it was answered, and who\n"
    "  asked later was sold a unit), or a 201 or 202 without its row.\n"
    "\n"
    "Output\n"
    "  table    eight columns, the fastest strategy first, for one number of instances after the "
    "other\n"
    "  wide     every figure, with half the spread of the rounds behind each rate\n"
    "  md       the eight columns in Markdown\n"
    "  json, csv  what stands in results.json and results.csv\n"
    "  With md, json and csv nothing else is on stdout; what else there is to say goes to stderr.\n"
    "  Colours are for a terminal alone, and not where NO_COLOR is set or TERM is dumb.\n"
    "\n"
    "Exit status: 0 nothing is BROKEN and everything asked for was proved; 1 something is BROKEN;\n"
    "2 the run could not be made or proved nothing. Ctrl-C ends a run, which then prints and\n"
    "writes the strategies that are complete.\n"
    "\n"
    "Without --rate latencies are wrk's, which corrects them for the requests it could not send\n"
    "while it waited. With --rate the harness sends the orders itself, when they are due, and\n"
    "counts each latency from then; apart for committed, accepted (202), refused and failed, to\n"
    "6.25 %. Orders that found all connections busy are late starts; those that had found none\n"
    "when the last one was due failed.\n";

static const char sweep_help[] =
    "NAME, for --over and --set\n"
    "  in-flight-per-product  orders of one product that a server works on at once\n"
    "  pg-sessions            PostgreSQL sessions of a server; three are not for workers\n"
    "  max-batch              orders that are merged into one transaction\n"
    "  connections            wrk's; rounded up to a multiple of its threads\n"
    "  work-ms                how much longer each protection is held\n"
    "  instances              how many servers share the load\n"
    "  redis-delay-us         round trip to Redis, by a relay that the harness puts before it; "
    "the\n"
    "                         relay costs something at 0 too. Redis must be on a unix socket\n"
    "\n"
    "Servers are started anew for each value, with that setting, and loaded with wrk as in the\n"
    "speed phase of run. Every round takes all values in turn. commit/s is the median; best, the\n"
    "value with the highest; = best, one whose rounds overlap with its rounds: no difference is\n"
    "shown. sweep.csv has every measurement.\n"
    "\n"
    "Exit status: 0; 1 a promise was BROKEN; 2 a measurement could not be made.\n";

static const char record_help[] = "Every operation stands in ledger.jsonl before it is sent, and "
                                  "again when it is answered: buys\n"
                                  "with and without a key, repeats of a key, cancels, restocks, "
                                  "and reads until what was accepted\n"
                                  "is decided. `check` judges it, now or later (docs/LEDGER.md).\n"
                                  "\n"
                                  "Exit status: 0 recorded to the end; 2 not.\n";

static const char oasis_help[] =
    "Seventeen nights, 1,400,000 tickets, at most four a buyer. Buyers look at their night's page, "
    "some\n"
    "of them twice; ask for one to four tickets under an Idempotency-Key, some of them twice at "
    "once, or\n"
    "again with the same key; and some come back for more than they may have. Who is told that "
    "too few are\n"
    "left asks for one less, then for another night. When all is sold, a twentieth of the tickets' "
    "number\n"
    "of buyers still come, and must be refused. Then the rows of PostgreSQL are counted; "
    "oasis.json "
    "has the\n"
    "figures. Ctrl-C ends the sale, and says what the rows say so far.\n"
    "\n"
    "Exit status: 0 sold out, and the audit is clean; 1 it is not; 2 the sale could not be made, "
    "or "
    "was\n"
    "ended.\n";

static const char check_help[] = "Exit status: 0 nothing is wrong, and something was sold; 1 an "
                                 "invariant is broken: each is named\n"
                                 "with the operations that show it, the smallest case first "
                                 "(docs/LEDGER.md); 2 the ledger or the\n"
                                 "database cannot be read or are not of one sale, nothing was "
                                 "sold, or the exact search gave up.\n";

static const char faults_help[] =
    "Faults\n"
    "  stall     an instance is stopped for longer than a lock's lease, and goes on\n"
    "  forget    the Redis that holds locks, counters or queues forgets all of them\n"
    "  kill      an instance is killed while it sells, and started again\n"
    "  database  PostgreSQL is killed and started again, by --stack; left out without it\n"
    "  commit    the reply to a COMMIT is lost after PostgreSQL has made it\n"
    "  reply     a reply of Redis is lost after it has done what it was told\n"
    "  hold      PostgreSQL's replies are held up for longer than an order's work may take\n"
    "  reset     every connection to PostgreSQL and Redis is reset\n"
    "\n"
    "Each cell is run on two servers of its own: a recorded crowd buys while the fault is made "
    "and\n"
    "healed by a schedule that --seed decides, and what buyers were told is then checked against\n"
    "the rows, as `record` and `check` do. A strategy is held to what it promises (GET\n"
    "/strategies). Each column has a strategy that is known to fail, which must be seen to fail "
    "in\n"
    "the same matrix: it is run again, with other seeds, until it does. A run in which the fault\n"
    "met nobody does not count, and is made again too.\n"
    "\n"
    "Exit status: 0 every cell is as expected; 1 one contradicts what is expected of it; 2 a cell\n"
    "could not be run or is invalid, or a column's control was never seen to fail.\n";

static const char report_help[] =
    "DIR, before the flags, is a folder with a results.json, or that file. Of one, the "
    "page goes beside it; of several it\n"
    "begins with what differs beyond the spread of the rounds, and "
    "in which settings they differ.\n"
    "It is one file that needs no network, in English and Chinese. "
    "Files of earlier versions have no\n"
    "latencies one by one: they get no curves and histograms.\n"
    "\n"
    "Exit status: 0 written; 2 a file is missing or is no "
    "results.json, and nothing was written.\n";

static const char zoo_help[] =
    "An exhibit is the shortest interleaving of two or three buyers that breaks a strategy, and\n"
    "the same with one that it does not break (docs/strategies/zoo.md). Each buyer has sessions\n"
    "of their own with PostgreSQL and Redis; the statements are the server's. They are played in\n"
    "a schema of the zoo's own, seckill_zoo, which is made and dropped again: it must not be\n"
    "there. No server is needed, and no sale is touched.\n"
    "\n"
    "Without a name it lists them (with --format md or json: plays all of them); all is every\n"
    "one.\n"
    "\n"
    "Exit status: 0 each broke as it says, and its counterpart did not; 2 one ended otherwise,\n"
    "or could not be played.\n";

static const struct option_command commands[] = {
    {"run", COMMAND_RUN, "load strategies side by side and say what each promised and kept",
     run_help},
    {"audit", COMMAND_AUDIT, "say from PostgreSQL's rows whether each product's books agree", NULL},
    {"sweep", COMMAND_SWEEP, "take one setting through a list of values", sweep_help},
    {"report", COMMAND_REPORT,
     "DIR [DIR...]: make report.html of a run's or a sweep's folder, or compare several",
     report_help},
    {"record", COMMAND_RECORD, "buy, repeat, cancel and restock, and write down every answer",
     record_help},
    {"oasis", COMMAND_OASIS, "sell 1,400,000 tickets, at most four a buyer, and count the rows",
     oasis_help},
    {"faults", COMMAND_FAULTS,
     "break things while strategies sell, and say who keeps what it promises", faults_help},
    {"check", COMMAND_CHECK, "LEDGER: judge what was recorded against what the database holds",
     check_help},
    {"zoo", COMMAND_ZOO, "[NAME...]: play how an unsafe strategy breaks, step by step", zoo_help},
};

/* In a command's place. */
static const struct option_stop first_stops[] = {
    {"--version", OPTIONS_VERSION, "print the version and exit"},
    {"--help", OPTIONS_HELP, "list the commands and exit; help COMMAND lists its flags"},
    {"-h", OPTIONS_HELP, NULL},
    {"help", OPTIONS_HELP, NULL},
    {NULL, 0, NULL},
};

const struct option_program options_program = {
    .name = "seckill-loadtest",
    .summary = "load seckill servers and audit what they promise",
    .table = &table,
    .commands = commands,
    .commands_count = sizeof commands / sizeof commands[0],
    .stops = first_stops,
};

const char *scenario_name(enum scenario scenario)
{
    return scenarios[scenario];
}

bool options_use_wrk(const struct options *options)
{
    return !(options->command & (CROWDS | FAULTS)) && options->rate_per_s == 0 &&
           options->scenario != SCENARIO_ARTICLES && options->scenario != SCENARIO_UNPAID;
}

bool options_settle(struct options *options, struct error *error)
{
    if (options->scenario == SCENARIO_BELL && options->rate_per_s == 0)
        options->rate_per_s = BELL_RATE;
    if (options->connections == 0)
        options->connections = options->rate_per_s > 0 ? OPEN_CONNECTIONS : WRK_CONNECTIONS;
    if (*options->body && strcmp(options->body, "plain") != 0 &&
        strcmp(options->body, "guarded") != 0)
        return error_fail(error, "--body takes plain or guarded, not '%s'", options->body);
    if (options->wide && options->format > FORMAT_WIDE)
        return error_fail(error,
                          "--wide is a form of the table: not with --format md, json or csv");
    if (options->wide)
        options->format = FORMAT_WIDE;
    if (options->scenario == SCENARIO_UNPAID &&
        (options->format != FORMAT_TABLE || options->rate_per_s > 0))
        return error_fail(error, "--format, --wide and --rate are not for --scenario unpaid, which "
                                 "prints its own lines");
    if (options->servers.count > OPTIONS_MAX_INSTANCES)
        return error_fail(error, "--server takes at most %d URLs", OPTIONS_MAX_INSTANCES);
    if (options->servers.count > 0 && options->work_ms >= 0)
        return error_fail(error,
                          "--work-ms needs servers that the harness starts: not with --server");
    if (options->servers.count > 0 && *options->server_binary)
        return error_fail(error, "--server-binary makes no sense with --server");
    if (options->servers.count == 0 && options->reset)
        return error_fail(error,
                          "--reset is for --server: started servers' products are always reset");
    for (size_t i = 0; i < options->servers.count; i++) {
        if (strncmp(options->servers.items[i], "http://", 7) != 0)
            return error_fail(error, "--server takes http:// URLs, not '%s'",
                              options->servers.items[i]);
    }
    if (options->instances.count == 0) {
        options->instances.items[0] = options->servers.count ? (int)options->servers.count : 1;
        options->instances.count = 1;
    }
    if ((options->command & CROWDS) && options->instances.count > 1)
        return error_fail(error, "--instances takes one figure here");
    if (options->command == COMMAND_OASIS && options->tickets < options->products)
        return error_fail(error, "--tickets must be at least one for each of --products");
    for (size_t i = 0; i < options->instances.count; i++) {
        if (options->servers.count > 0 &&
            (size_t)options->instances.items[i] > options->servers.count)
            return error_fail(error, "--instances %d is more than the URLs of --server",
                              options->instances.items[i]);
    }
    return true;
}

/* What the articles' experiments say themselves. */
static bool check_articles(const struct options *options, const struct option_given *given,
                           struct error *error)
{
    static const char *const fixed[] = {
        "strategies", "instances", "connections", "threads", "duration", "stock", "products",
        "rounds",     "work-ms",   "body",        "wait-ms", "server",   "rate"};
    if (options->scenario != SCENARIO_ARTICLES)
        return true;
    for (size_t i = 0; i < given->count; i++) {
        for (size_t j = 0; j < sizeof fixed / sizeof fixed[0]; j++) {
            if (strcmp(given->flags[i], fixed[j]) == 0)
                return error_fail(error,
                                  "--%s is not for --scenario articles: its experiments are the "
                                  "articles' own",
                                  fixed[j]);
        }
    }
    return true;
}

/* What is no command is not repeated: it may be what a space has cut off a secret. */
static bool name_command(struct options *options, int number, const char *word, struct error *error)
{
    char names[100] = "", meant[NEAREST_TEXT_SIZE];
    struct nearest nearest = nearest_to(word, strlen(word));
    for (size_t i = 0; i < options_program.commands_count; i++) {
        const char *name = commands[i].name;
        if (strcmp(word, name) == 0)
            options->command = (enum command)commands[i].command;
        nearest_offer(&nearest, name);
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s",
                 i == 0                                    ? ""
                 : i + 1 == options_program.commands_count ? " and "
                                                           : ", ",
                 name);
    }
    return options->command ||
           error_fail(error, "argument %d is no command; there are %s (--help)%s", number, names,
                      nearest_text(&nearest, "", meant));
}

static bool find_command(struct options *options, enum options_action *action, int argc,
                         char **argv, struct error *error)
{
    const char *word = argc > 1 ? argv[1] : "";
    const struct option_stop *stop = option_find_stop(first_stops, word, strlen(word));
    *action = argc < 2 ? OPTIONS_USAGE : stop ? (enum options_action)stop->number : OPTIONS_GO;
    if (*action == OPTIONS_HELP && argc > 2) /* help run */
        return name_command(options, 2, argv[2], error);
    if (*action != OPTIONS_GO)
        return true;
    return name_command(options, 1, word, error);
}

/* The folders, the ledger, or the names, stand before the flags. */
static bool take_folders(struct options *out, struct option_line *line, struct error *error)
{
    const char *command = out->command == COMMAND_CHECK ? "check"
                          : out->command == COMMAND_ZOO ? "zoo"
                                                        : "report";
    size_t most = out->command == COMMAND_CHECK ? 1 : OPTION_LIST_MAX;
    for (; line->argc > 0 && line->argv[0][0] != '-'; line->argc--, line->argv++) {
        if (out->folders.count == most)
            return error_fail(error, "%s: at most %zu of them", command, most);
        if (strlen(line->argv[0]) >= sizeof out->folders.items[0])
            return error_fail(error, "%s: %.40s... is too long a name", command, line->argv[0]);
        snprintf(out->folders.items[out->folders.count++], sizeof out->folders.items[0], "%s",
                 line->argv[0]);
    }
    return true;
}

void options_begin(struct options *out)
{
    *out = (struct options){.body = "", .work_ms = -1, .wait_ms = -1, .server_binary = ""};
}

bool options_parse(struct options *out, enum options_action *action, int argc, char **argv,
                   char *(*environment)(const char *), struct error *error)
{
    struct option_given given;
    char help[16];
    options_begin(out);
    *action = OPTIONS_GO;
    if (!find_command(out, action, argc, argv, error))
        return false;
    if (*action != OPTIONS_GO)
        return true;
    snprintf(help, sizeof help, "%s --help", argv[1]);
    struct option_line line = {help, argc - 2, argv + 2, environment};
    bool takes_files = out->command == COMMAND_REPORT || out->command == COMMAND_CHECK;
    if ((takes_files || out->command == COMMAND_ZOO) && !take_folders(out, &line, error))
        return false;
    if (!option_rows_parse(&table, out->command, &line, out, &given, error))
        return false;
    if (given.stop) {
        *action = (enum options_action)given.stop;
        return true;
    }
    if (takes_files && out->folders.count == 0)
        return error_fail(error, out->command == COMMAND_CHECK
                                     ? "check: which ledger? Name its file"
                                     : "report: which run? Name the folder of its results.json");
    if (takes_files || out->command == COMMAND_ZOO)
        return true;
    return options_settle(out, error) && check_articles(out, &given, error);
}

void options_print_help(FILE *to, enum command command)
{
    if (!command)
        fputs("seckill-loadtest COMMAND [flags]\n\n", to);
    for (size_t i = 0; i < options_program.commands_count; i++) {
        if (!command)
            fprintf(to, "  %-6s %s\n", commands[i].name, commands[i].summary);
        if (commands[i].command != command)
            continue;
        fprintf(to, "seckill-loadtest %s: %s\n\n", commands[i].name, commands[i].summary);
        option_rows_print(to, &table, command);
        if (commands[i].text)
            fprintf(to, "\n%s", commands[i].text);
    }
    if (!command)
        fputs("\nseckill-loadtest COMMAND --help lists its flags; --version says which this is.\n",
              to);
}
