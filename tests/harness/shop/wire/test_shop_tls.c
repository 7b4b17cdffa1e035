/*
 * A shop behind TLS, which is our own server behind a real HAProxy: judged as any other, closed and
 * open, once its certificate is vouched for; and what is said of one that is not, of one that is
 * made out to another host, and of a --ca-file that can vouch for nobody.
 */
#include "harness/shop/own_shop.h"
#include "lib/net/certificates.h"
#include "lib/t.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- HAProxy, which speaks TLS before a server that does not; it ends with this program --- */

static pid_t front;
static int port;

static _Noreturn void become_front(const char *settings, int fd)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (fcntl(fd, F_SETFD, 0) == 0)
        execl(HAPROXY, HAPROXY, "-db", "-f", settings, (char *)NULL);
    _exit(127);
}

/* On `port` one may connect at once: until HAProxy takes them, connections wait. It is this
 * process's before HAProxy has it, so that nobody else is given it in between. HAProxy makes a
 * connection to the server for each request, and keeps none that the server may have closed by
 * then. */
static void start_front(void)
{
    int fd = t_listen(&port);
    char settings[256];
    snprintf(settings, sizeof settings, "%s/front.cfg", program->folder);
    t_write(settings, t_text("defaults\n"
                             "  mode http\n"
                             "  maxconn 200\n"
                             "  option http-server-close\n"
                             "  timeout connect 60s\n"
                             "  timeout client 300s\n"
                             "  timeout server 300s\n"
                             "listen shop\n"
                             "  bind fd@%d ssl crt %s/server.both\n"
                             "  server shop %s\n",
                             fd, program->folder, program->servers[0].url + strlen("http://")));
    front = fork();
    if (front == 0)
        become_front(settings, fd);
    close(fd);
    assert_true(front > 0);
}

static void stop_front(void)
{
    if (front <= 0)
        return;
    kill(front, SIGKILL);
    waitpid(front, NULL, 0);
    front = 0;
}

/* --- its shop --- */

/* It ends with this status. `vouching` names a file of the certificates' folder; NULL: no
 * --ca-file. */
static void judge(int status, const char *host, const char *vouching, const char *arguments)
{
    char server[100], option[200] = "";
    snprintf(server, sizeof server, "https://%s:%d", host, port);
    own_shop_describe(&(struct own_shop){.server = server, .audit = OWN_SHOP_AUDIT});
    if (vouching)
        snprintf(option, sizeof option, "--ca-file %s/%s", program->folder, vouching);
    own_shop_exits(status, t_text("--timeout 300s %s %s", option, arguments));
}

static void is_kept(const char *arguments)
{
    judge(0, "localhost", "ca.pem", arguments);
    program_says("\nkept: ");
    if (strstr(program->output, "went wrong"))
        fail_msg("a request went wrong: %s", program->output);
    program_file_says("results.json", "\"units\": 20");
}

TEST(a_closed_sale_is_judged)
{
    is_kept(OWN_SHOP_BUYERS);
}

TEST(an_open_sale_is_judged)
{
    is_kept("--rate 60 --duration 1s --arrivals constant --connections 8 "
            "--max-lag-ms 60000");
}

/* Two purchases: for each curl reads all the CAs of the system again. */
#define TWO "--buyers 2 --connections 1"

/* Nothing was bought, and the reason names the way out. */
static void is_refused(const char *host, const char *vouching)
{
    judge(2, host, vouching, TWO);
    program_says("INVALID: ");
    program_says("2 requests went wrong, the first: https://");
    program_says(": its certificate is refused (");
    program_says("): --ca-file names the CA that vouches for it, the URL the host that it is made "
                 "out to\n");
    program_file_says("results.json", "\"units\": 0");
}

TEST(one_that_nobody_vouches_for_is_refused)
{
    is_refused("localhost", NULL);
    is_refused("localhost", "other.pem");
}

TEST(one_that_is_made_out_to_another_host_is_refused)
{
    is_refused("127.0.0.1", "ca.pem");
}

/* The shop is not asked: no ledger was begun. */
static void expect_unasked(const char *vouching, const char *said)
{
    unlink(program_path("ledger.jsonl"));
    judge(2, "localhost", vouching, TWO);
    program_says(said);
    assert_int_equal(access(program_path("ledger.jsonl"), F_OK), -1);
}

TEST(a_file_that_can_vouch_for_nobody_is_said_first)
{
    expect_unasked("nowhere.pem", "/nowhere.pem: No such file or directory");
    expect_unasked("server.key", "/server.key has no certificate in it: PEM is wanted, with a line "
                                 "-----BEGIN CERTIFICATE-----");
}

/* It looks like a certificate, so that curl alone finds out. */
TEST(a_damaged_file_is_named)
{
    t_write(program_path("damaged.pem"),
            "-----BEGIN CERTIFICATE-----\nbm9uZQ==\n-----END CERTIFICATE-----\n");
    judge(2, "localhost", "damaged.pem", TWO);
    program_says("2 requests went wrong, the first: --ca-file cannot be used: ");
}

BEFORE_ALL()
{
    program = program_create(1);
    certificates_make(program->folder);
    start_front();
}

AFTER_ALL()
{
    stop_front();
    program_destroy(program);
}
