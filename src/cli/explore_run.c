/* See explore.h. A run is a child that becomes `weir run`'s program; what it writes goes to files
 * in memory.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "check/settings.h"
#include "cli/cli.h"
#include "cli/explore.h"

#define TAIL_BYTES 4096

static void become_program(const struct explore_setup *s, const char *spec, const char *log,
                           const struct explore_child *c)
{
    int in = open("/dev/null", O_RDONLY);
    char sum[64];

    /* By way of this process, which lives until then: the program may close what it inherits. */
    snprintf(sum, sizeof sum, "/proc/%ld/fd/%d", (long)getppid(), c->sum);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (in < 0 || dup2(in, 0) < 0 || dup2(c->out, 1) < 0 || dup2(c->err, 2) < 0 ||
        setenv("WEIR_SCHEDULE", spec, 1) != 0 ||
        (s->same_memory && setenv("WEIR_SCHEDULE_SUM", sum, 1) != 0) ||
        (log ? setenv("WEIR_SCHEDULE_LOG", log, 1) : unsetenv("WEIR_SCHEDULE_LOG")) != 0 ||
        (s->check && (setenv("WEIR_CHECK", "1", 1) != 0 || unsetenv("WEIR_CHECK_STATUS") != 0 ||
                      !weir_cli_tally_tell(&c->tally))))
        _exit(WEIR_EXIT_REFUSED);
    _exit(weir_cli_run_rest(s->first, s->argc, s->argv));
}

bool weir_explore_child_start(const struct explore_setup *s, const char *spec, const char *log,
                              struct explore_child *c)
{
    *c = (struct explore_child){.out = memfd_create("out", MFD_CLOEXEC),
                                .err = memfd_create("err", MFD_CLOEXEC),
                                .sum = s->same_memory ? memfd_create("sum", MFD_CLOEXEC) : -1,
                                .tally = {.fd = -1}};
    fflush(NULL);
    c->started_ns = weir_clock_ns();
    c->pid = c->out < 0 || c->err < 0 || (s->same_memory && c->sum < 0) ||
                     (s->check && !weir_cli_tally_begin(&c->tally))
                 ? -1
                 : fork();
    if (c->pid == 0)
        become_program(s, spec, log, c);
    if (c->pid > 0) {
        setpgid(c->pid, c->pid); /* here as well: it may be killed before it got that far */
        return true;
    }
    perror("weir explore");
    weir_explore_child_close(c);
    return false;
}

static uint64_t hash_file(int fd)
{
    uint64_t hash = 0;
    char part[16384];
    off_t at = 0;
    ssize_t n;

    while ((n = pread(fd, part, sizeof part, at)) > 0) {
        hash = weir_hash_bytes(part, (size_t)n, hash);
        at += n;
    }
    return hash;
}

static uint64_t read_number(int fd)
{
    char text[32];
    ssize_t n = fd >= 0 ? pread(fd, text, sizeof text - 1, 0) : -1;

    if (n <= 0)
        return 0;
    text[n] = '\0';
    return strtoull(text, NULL, 10);
}

static struct explore_result judge(const struct explore_setup *s, const struct explore_child *c,
                                   int status)
{
    struct explore_result r = {.output = hash_file(c->out), .memory = read_number(c->sum)};

    if (c->killed) {
        r.kind = EXPLORE_HANG;
    } else if (weir_cli_tally_sum(&c->tally, c->pid, false)) {
        r.kind = EXPLORE_FOUND;
        r.code = WEIR_CHECK_STATUS;
    } else if (WIFSIGNALED(status)) {
        r.kind = EXPLORE_SIGNAL;
        r.code = WTERMSIG(status);
    } else if (WEXITSTATUS(status) != 0) {
        r.code = WEXITSTATUS(status);
        r.kind = s->check && r.code == WEIR_CHECK_STATUS ? EXPLORE_FOUND : EXPLORE_STATUS;
    } else if (s->same_output && s->has_first && r.output != s->first_output) {
        r.kind = EXPLORE_OUTPUT;
    } else if (s->same_memory && s->has_first && r.memory && s->first_memory &&
               r.memory != s->first_memory) {
        r.kind = EXPLORE_MEMORY;
    }
    return r;
}

void weir_explore_child_kill(struct explore_child *c)
{
    if (c->pid > 0)
        kill(-c->pid, SIGKILL);
}

bool weir_explore_child_ended(const struct explore_setup *s, struct explore_child *c,
                              struct explore_result *out)
{
    int status;
    pid_t ended = waitpid(c->pid, &status, WNOHANG);

    if (ended == 0) {
        if (!c->killed && (double)(weir_clock_ns() - c->started_ns) * 1e-9 > s->hang_s) {
            c->killed = true;
            weir_explore_child_kill(c);
        }
        return false;
    }
    if (ended < 0)
        status = WEIR_EXIT_REFUSED << 8;
    else
        weir_explore_child_kill(c); /* what it may have left behind */
    *out = judge(s, c, status);
    c->pid = 0;
    return true;
}

bool weir_explore_child_is_refused(const struct explore_child *c, const struct explore_result *r)
{
    static const char words[] = "weir run: ";
    char text[sizeof words] = "";

    if (r->kind != EXPLORE_STATUS)
        return false;
    return (r->code >= WEIR_EXIT_REFUSED && r->code <= WEIR_EXIT_NOT_FOUND) ||
           (r->code == WEIR_EXIT_USAGE && pread(c->err, text, sizeof words - 1, 0) > 0 &&
            strcmp(text, words) == 0);
}

static void print_tail(int fd, const char *lead, int lines)
{
    char text[TAIL_BYTES + 1], *at = text;
    struct stat st;
    ssize_t n;
    int count = 0;

    if (fstat(fd, &st) != 0 || st.st_size == 0)
        return;
    n = pread(fd, text, TAIL_BYTES, st.st_size > TAIL_BYTES ? st.st_size - TAIL_BYTES : 0);
    if (n <= 0)
        return;
    text[n] = '\0';
    for (char *c = text; *c; c++)
        count += *c == '\n' && c[1];
    for (; count >= lines && (at = strchr(at, '\n')); count--)
        at++;
    while (at && *at) {
        size_t length = strcspn(at, "\n");

        printf("%s%.*s\n", lead, (int)length, at);
        at += length + (at[length] == '\n');
    }
}

void weir_explore_child_print(const struct explore_child *c, const char *lead, int lines)
{
    print_tail(c->out, lead, lines);
    print_tail(c->err, lead, lines);
}

void weir_explore_child_close(struct explore_child *c)
{
    if (c->out >= 0)
        close(c->out);
    if (c->err >= 0)
        close(c->err);
    if (c->sum >= 0)
        close(c->sum);
    weir_cli_tally_end(&c->tally);
    *c = (struct explore_child){.out = -1, .err = -1, .sum = -1, .tally = {.fd = -1}};
}

bool weir_explore_once(const struct explore_setup *s, const char *spec, const char *log,
                       struct explore_result *out)
{
    struct explore_child c;

    if (!weir_explore_child_start(s, spec, log, &c))
        return false;
    while (!weir_explore_child_ended(s, &c, out))
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    weir_explore_child_close(&c);
    return true;
}

char *weir_explore_result_text(const struct explore_result *r, char *out, size_t room)
{
    switch (r->kind) {
    case EXPLORE_OK:
        snprintf(out, room, "no failure");
        break;
    case EXPLORE_STATUS:
        snprintf(out, room, "exit status %d", r->code);
        break;
    case EXPLORE_SIGNAL:
        snprintf(out, room, "signal %d (%s)", r->code, strsignal(r->code));
        break;
    case EXPLORE_HANG:
        snprintf(out, room, "hang");
        break;
    case EXPLORE_OUTPUT:
        snprintf(out, room, "output other than the first run's");
        break;
    case EXPLORE_MEMORY:
        snprintf(out, room, "other contents of memory than the first run's");
        break;
    case EXPLORE_FOUND:
        snprintf(out, room, "a finding of the checker");
        break;
    }
    return out;
}

static void print_quoted(const char *word)
{
    if (*word && strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                              "_-+=./:,@%") == strlen(word)) {
        printf(" %s", word);
        return;
    }
    fputs(" '", stdout);
    for (; *word; word++) {
        if (*word == '\'')
            fputs("'\\''", stdout);
        else
            putchar(*word);
    }
    putchar('\'');
}

void weir_explore_print_again(const struct explore_setup *s, const char *spec)
{
    fputs(s->check ? "  again: weir check --schedule" : "  again: weir run --schedule", stdout);
    print_quoted(spec);
    for (int i = s->first; i < s->argc; i++)
        print_quoted(s->argv[i]);
    putchar('\n');
}
