/* weir check's program is a child of this process, which keeps what is found (check/tally.h): so
 * the exit status is right however the program ends, and whichever of its processes found
 * something. Else nothing is to be seen of it: signals that are sent to it go to the program, and
 * it ends as that did.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/tally.h"

static volatile sig_atomic_t program; /* its process */

static const int passed[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGCONT};

/* A terminal's signals come to both. */
static void pass(int signo, siginfo_t *info, void *context)
{
    int saved_errno = errno;

    (void)context;
    if (info->si_code <= 0)
        kill((pid_t)program, signo);
    errno = saved_errno;
}

/* What this process ignores the program does as well. */
static void pass_signals(void)
{
    struct sigaction a = {.sa_sigaction = pass, .sa_flags = SA_SIGINFO | SA_RESTART}, was;

    sigemptyset(&a.sa_mask);
    for (size_t i = 0; i < sizeof passed / sizeof passed[0]; i++) {
        if (sigaction(passed[i], NULL, &was) == 0 && was.sa_handler != SIG_IGN)
            sigaction(passed[i], &a, NULL);
    }
}

static int become_program(const struct cli_tally *t, pid_t launcher, int first, int argc,
                          char **argv)
{
    char process[32];

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launcher) /* it is gone already */
        return WEIR_EXIT_REFUSED;
    snprintf(process, sizeof process, "%ld", (long)getpid());
    if (setenv("WEIR_CHECK_PROCESS", process, 1) != 0 || !weir_cli_tally_tell(t)) {
        perror("weir");
        return WEIR_EXIT_REFUSED;
    }
    return weir_cli_run_rest(first, argc, argv);
}

static int end_as(int status)
{
    struct rlimit none = {0, 0};
    sigset_t set;

    if (!WIFSIGNALED(status))
        return WEXITSTATUS(status);
    setrlimit(RLIMIT_CORE, &none); /* the program has left one */
    signal(WTERMSIG(status), SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, WTERMSIG(status));
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    raise(WTERMSIG(status));
    return 128 + WTERMSIG(status);
}

int weir_cli_check_run(int first, int argc, char **argv, int found)
{
    pid_t launcher = getpid(), pid;
    struct cli_tally tally;
    sigset_t all, before;
    int status;

    if (!weir_cli_tally_begin(&tally)) {
        perror("weir");
        return WEIR_EXIT_REFUSED;
    }
    fflush(NULL);
    sigfillset(&all); /* none gets lost on the way */
    sigprocmask(SIG_BLOCK, &all, &before);
    pid = fork();
    if (pid == 0) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        exit(become_program(&tally, launcher, first, argc, argv));
    }
    if (pid > 0) {
        program = pid;
        pass_signals();
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (pid < 0) {
        perror("weir");
        return WEIR_EXIT_REFUSED;
    }
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return WEIR_EXIT_REFUSED;
    }
    if (weir_cli_tally_sum(&tally, pid, true))
        return found;
    weir_cli_tally_end(&tally);
    return end_as(status);
}
