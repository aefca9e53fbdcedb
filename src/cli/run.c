/* weir run: puts Weir's libraries and settings into the environment and becomes the program. There
 * is no process of Weir's in between: exit status, signals and the three standard streams are the
 * program's.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <unistd.h>

#include "cli/cli.h"
#include "core/profile.h"
#include "core/late.h"
#include "core/watch.h"
#include "plan/device.h"
#include "takeover/object.h"

#define TSAN_STATIC_TLS "1048576"

static const char help[] =
    "usage: weir run [OPTIONS] [--] PROGRAM [ARGUMENTS]\n"
    "\n"
    "Runs a CUDA program, as built by nvcc or by weir cc, on this machine's processor. The "
    "program's exit\n"
    "status and output are its own; Weir writes to stderr only what you ask for and what it does "
    "not support.\n"
    "\n"
    "  --device PROFILE  what the program is told about its GPU; `weir info` lists the profiles "
    "(default: cpu),\n"
    "                    ./FILE is one of your own\n"
    "  --devices N       how many of them there are, 0 to 64 (default: 1)\n"
    "  --memory SIZE     memory of each device, such as 512M or 8G (default: half of this "
    "machine's)\n"
    "  --stats           at the program's end: time per engine, overlap, memory, implicit "
    "synchronisations,\n"
    "                    what managed memory would move on a GPU, and why\n"
    "  --fidelity        at the program's end: which instructions were exact, within bounds, or "
    "refused\n"
    "  --trace FILE      writes down what happens; `weir view`, `summary`, `advise` and `export` "
    "read it\n"
    "  --counts          kernels count their instructions and bytes, for the trace: weir plan "
    "TRACE "
    "takes a kernel's\n"
    "                    time on another device from them\n"
    "  --clock model     times between events, and the trace's, are those of a modelled GPU: the "
    "profile's engines\n"
    "                    and costs (--device; default: h200), kernels by what they count. The same "
    "program\n"
    "                    gives the same times on every machine (docs/plan.md)\n"
    "  --inject RULE     makes calls, kernels or devices fail, such as "
    "\"cudaMalloc:3=cudaErrorMemoryAllocation\",\n"
    "                    \"cudaMalloc:10%=cudaErrorMemoryAllocation,seed=7\", "
    "\"kernel:NAME=illegal-address\" or\n"
    "                    \"device:1=lost@2s\"; several with ';' between them, or the option again "
    "(docs/faults.md)\n"
    "  --late-dma[=SECS] copies of pageable memory to the device land as late as CUDA's documents "
    "allow (but\n"
    "                    within 0.2 s), so that a stream that reads too early shows; ORD-061\n"
    "  --strict [LIST]   imitates limits that hurt on hardware: lazy-loading, hw-queues[=8], "
    "queue-depth[=1021],\n"
    "                    staging[=2M], copy-engines[=1], with commas between; without a list all "
    "of "
    "them;\n"
    "                    and managed, which is none of all: a device without "
    "concurrentManagedAccess\n"
    "  --schedule SPEC   one legal order of many, the same each time: what `weir explore` printed "
    "for "
    "a failure, or\n"
    "                    early, late, reverse, late-copies, random:7 ... (docs/explore.md)\n"
    "  --hang SECONDS    when nothing advances for so long: prints what every stream and thread "
    "waits for and\n"
    "                    where the cycle is, and ends the program with status 124; more than the "
    "longest kernel\n"
    "                    block takes (`weir where PID` prints the same of a running program)\n"
    "  --perf            kernels have names in Linux's perf: perf record weir run --perf PROGRAM\n"
    "  --gdb             kernels have names and lines in gdb: gdb --args weir run --gdb PROGRAM\n"
    "  --help            this text\n"
    "\n"
    "Children of the program are taken over too. The environment does the same as the options: "
    "WEIR_DEVICE,\n"
    "WEIR_DEVICES, WEIR_CLOCK=model, WEIR_MEMORY, WEIR_STATS=1, WEIR_FIDELITY=1, WEIR_TRACE=FILE, "
    "WEIR_COUNT=1, "
    "WEIR_HANG=SECONDS, WEIR_GDB=1, WEIR_PERF=1, "
    "WEIR_INJECT=RULES, WEIR_STRICT=LIST, WEIR_LATE_DMA=SECONDS, WEIR_SCHEDULE=SPEC; "
    "an option "
    "wins. WEIR_LOG=error|warn|info|debug\n"
    "says how much Weir tells (default: warn).\n"
    "\n"
    "A program may hold the CUDA runtime inside (nvcc's default) or use the shared one (nvcc "
    "-cudart shared).\n"
    "In the first case it must not be stripped: Weir finds the runtime by its symbols. Device code "
    "must be there\n"
    "as PTX: nvcc -arch=sm_XX and -gencode arch=compute_XX,code=compute_XX put it in.\n"
    "\n"
    "Exit status: the program's; 124 after --hang's report, 125 if Weir cannot take it over, 126 "
    "if it cannot be started, 127 "
    "if there is no\n"
    "such program, 2 for a wrong command line.\n";

/* An option sets an environment variable that libweir.so reads. */
static const struct option {
    const char *name;
    const char *variable; /* NULL: documented, not there yet */
    bool has_value;
} options[] = {
    {"device", "WEIR_DEVICE", true},      {"devices", "WEIR_DEVICES", true},
    {"memory", "WEIR_MEMORY", true},      {"stats", "WEIR_STATS", false},
    {"fidelity", "WEIR_FIDELITY", false}, {"counts", "WEIR_COUNT", false},
    {"clock", "WEIR_CLOCK", true},        {"trace", "WEIR_TRACE", true},
    {"schedule", "WEIR_SCHEDULE", true},  {"late-dma", "WEIR_LATE_DMA", true},
    {"inject", "WEIR_INJECT", true},      {"strict", "WEIR_STRICT", true},
    {"hang", "WEIR_HANG", true},          {"gdb", "WEIR_GDB", false},
    {"perf", "WEIR_PERF", false},
};

static const struct option *find_option(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        if (strlen(options[i].name) == n && strncmp(options[i].name, name, n) == 0)
            return &options[i];
    }
    return NULL;
}

static bool is_seconds(const char *value, double low, double high)
{
    char *end;
    double n = strtod(value, &end);

    return end != value && *end == '\0' && n >= low && n <= high;
}

/* 0, or the exit status after a message. */
static int check_value(const struct option *o, const char *value)
{
    unsigned long long bytes;
    const char *problem;
    char *end;
    long n;

    if (strcmp(o->name, "devices") == 0) {
        n = strtol(value, &end, 10);
        if (*value == '\0' || *end || n < 0 || n > 64)
            return weir_cli_usage_error("run", "--devices takes a number from 0 to 64, not \"%s\"",
                                        value);
    }
    if (strcmp(o->name, "clock") == 0 && strcmp(value, "model") != 0 && strcmp(value, "wall") != 0)
        return weir_cli_usage_error("run", "--clock is model or wall, not \"%s\"", value);
    if (strcmp(o->name, "strict") == 0 && (problem = weir_cli_strict_problem(value)) != NULL)
        return weir_cli_usage_error("run", "--strict: %s", problem);
    if (strcmp(o->name, "inject") == 0 && (problem = weir_cli_inject_problem(value)) != NULL)
        return weir_cli_usage_error("run", "--inject: %s", problem);
    if (strcmp(o->name, "schedule") == 0 && (problem = weir_cli_schedule_problem(value)) != NULL)
        return weir_cli_usage_error("run", "--schedule: %s", problem);
    if (strcmp(o->name, "late-dma") == 0 && strcmp(value, "default") != 0 &&
        !is_seconds(value, WEIR_LATE_MIN, WEIR_LATE_MAX))
        return weir_cli_usage_error(
            "run", "--late-dma takes seconds, such as 1 or 0.05, not \"%s\"", value);
    if (strcmp(o->name, "hang") == 0 && !is_seconds(value, WEIR_HANG_MIN, WEIR_HANG_MAX))
        return weir_cli_usage_error("run", "--hang takes seconds, such as 10 or 0.5, not \"%s\"",
                                    value);
    if (strcmp(o->name, "memory") == 0 && !weir_cli_parse_size(value, &bytes))
        return weir_cli_usage_error("run", "--memory takes a size such as 512M or 8G, not \"%s\"",
                                    value);
    if (strcmp(o->name, "device") == 0 && (problem = weir_cli_profile_problem(value)) != NULL)
        return weir_cli_usage_error(
            "run", "--device takes a profile that `weir info` lists, or a file of one: %s",
            problem);
    return 0;
}

/* Rules of --inject add up; all other options replace what was there. */
static bool set_variable(const struct option *o, const char *value)
{
    static bool has_rules;
    const char *old = getenv(o->variable);
    char *both;
    bool ok;

    if (strcmp(o->name, "inject") != 0 || !has_rules || old == NULL) {
        has_rules = has_rules || strcmp(o->name, "inject") == 0;
        return setenv(o->variable, value, 1) == 0;
    }
    both = malloc(strlen(old) + strlen(value) + 2);
    if (both == NULL)
        return false;
    sprintf(both, "%s;%s", old, value);
    ok = setenv(o->variable, both, 1) == 0;
    free(both);
    return ok;
}

/* Is it meant as a list of --strict's modes, right or wrong, and not as a program? */
static bool is_strict_list(const char *text)
{
    char word[32];
    size_t n = strcspn(text, "=,");

    if (!text[n])
        return weir_cli_strict_problem(text) == NULL;
    snprintf(word, sizeof word, "%.*s", (int)n, text);
    return n < sizeof word && weir_cli_strict_problem(word) == NULL;
}

int weir_cli_run_option_width(int argc, char **argv, int i)
{
    const char *name = argv[i] + 2;
    size_t n = strcspn(name, "=");
    const struct option *o = strncmp(argv[i], "--", 2) == 0 ? find_option(name, n) : NULL;

    if (o == NULL)
        return 0;
    if (name[n] == '=' || !o->has_value || i + 1 >= argc || strcmp(o->name, "late-dma") == 0 ||
        (strcmp(o->name, "strict") == 0 && !is_strict_list(argv[i + 1])))
        return 1;
    return 2;
}

void weir_cli_run_option_keep(int argc, char **argv, int *i, int *kept)
{
    int width = weir_cli_run_option_width(argc, argv, *i);

    memmove(argv + 1 + *kept, argv + *i, (size_t)width * sizeof *argv);
    *kept += width;
    *i += width - 1;
}

int weir_cli_run_option_join(char **argv, int i, int kept)
{
    memmove(argv + i - kept, argv + 1, (size_t)kept * sizeof *argv);
    return i - kept;
}

/* Takes the option at argv[*i] and its value; 0, or the exit status after a message. */
static int take_option(int argc, char **argv, int *i)
{
    const char *name = argv[*i] + 2, *value = "1";
    size_t n = strcspn(name, "=");
    const struct option *o = find_option(name, n);
    int status;

    if (strcmp(argv[0], "trace") == 0 && strncmp(argv[*i], "-o", 2) == 0)
        return weir_cli_trace_file(argc, argv, i);
    if (strncmp(argv[*i], "--", 2) != 0 || o == NULL)
        return weir_cli_usage_error("run", "unknown option %s", argv[*i]);
    if (o->variable == NULL) {
        fprintf(stderr, "weir: not supported yet: weir run --%s\n", o->name);
        return WEIR_EXIT_USAGE;
    }
    if (!o->has_value && name[n] == '=')
        return weir_cli_usage_error("run", "--%s takes no value", o->name);
    if (strcmp(o->name, "strict") == 0 && name[n] != '=') {
        /* alone it means all of them: what follows is a list, or the program */
        value = *i + 1 < argc && is_strict_list(argv[*i + 1]) ? argv[++*i] : "all";
    } else if (strcmp(o->name, "late-dma") == 0 && name[n] != '=') {
        value = "default";
    } else if (o->has_value) {
        if (name[n] == '=')
            value = name + n + 1;
        else if (*i + 1 < argc)
            value = argv[++*i];
        else
            return weir_cli_usage_error("run", "--%s needs a value", o->name);
    }
    status = check_value(o, value);
    if (status == 0 && !set_variable(o, value)) {
        perror("weir");
        return WEIR_EXIT_REFUSED;
    }
    return status;
}

static bool is_ours(const char *entry, size_t n)
{
    static const char *const names[] = {"libweir-audit.so", "libweir-preload.so", "libweir.so",
                                        "libweir-io.so"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t bytes = strlen(names[i]);

        if (n > bytes && entry[n - bytes - 1] == '/' &&
            strncmp(entry + n - bytes, names[i], bytes) == 0)
            return true;
    }
    return false;
}

/* The list without what another `weir run` around this one put there, and DIR/LIBRARY for each
 * library behind it. What the user preloads comes first: sanitizers insist on that. */
static bool set_list(const char *variable, const char *dir, const char *first, const char *second,
                     const char *third)
{
    const char *old = getenv(variable) ? getenv(variable) : "";
    size_t room =
               strlen(old) + 3 * strlen(dir) + strlen(first) + strlen(second) + strlen(third) + 8,
           n;
    char *list = malloc(room), *at = list;
    bool ok;

    if (list == NULL)
        return false;
    for (; *old; old += n) {
        old += strspn(old, ": ");
        n = strcspn(old, ": ");
        if (n && !is_ours(old, n))
            at += sprintf(at, "%.*s:", (int)n, old);
    }
    at += sprintf(at, "%s/%s", dir, first);
    if (*second)
        at += sprintf(at, ":%s/%s", dir, second);
    if (*third)
        sprintf(at, ":%s/%s", dir, third);
    ok = setenv(variable, list, 1) == 0;
    free(list);
    return ok;
}

/* Adds an option to a variable's list unless the user has chosen a value for it. */
static bool add_option(const char *variable, const char *name, const char *value)
{
    const char *old = getenv(variable) ? getenv(variable) : "";
    size_t room = strlen(old) + strlen(name) + strlen(value) + 3;
    char *text;
    bool ok;

    if (strstr(old, name))
        return true;
    text = malloc(room);
    if (text == NULL)
        return false;
    snprintf(text, room, "%s%s%s=%s", old, *old ? ":" : "", name, value);
    ok = setenv(variable, text, 1) == 0;
    free(text);
    return ok;
}

/* The file that execvp will take; false when there is none (execvp tells why). */
static bool find_program(const char *name, char out[PATH_MAX])
{
    const char *path = getenv("PATH");

    if (strchr(name, '/'))
        return snprintf(out, PATH_MAX, "%s", name) < PATH_MAX;
    for (; path && *path; path += strcspn(path, ":"), path += *path == ':') {
        if (snprintf(out, PATH_MAX, "%.*s/%s", (int)strcspn(path, ":"), path, name) < PATH_MAX &&
            access(out, X_OK) == 0)
            return true;
    }
    return false;
}

/* With an auditor glibc lays out static thread-local memory before it has seen the program's
 * libraries, and what they (and libweir.so) need must fit into its reserve of some hundred bytes:
 * allocators alone need kilobytes, ThreadSanitizer's run time, when it is a library (gcc's way),
 * most of a megabyte. The reserve is address space of each thread. AddressSanitizer's run time,
 * when it is a library (gcc's way), refuses to be loaded behind any other; ours interpose nothing
 * that it does. */
static bool set_options(const char *program)
{
    char path[PATH_MAX];
    bool tsan = find_program(program, path) && weir_cli_needs(path, "libtsan.so");
    const char *room = tsan ? TSAN_STATIC_TLS : "65536";

    return add_option("GLIBC_TUNABLES", "glibc.rtld.optional_static_tls", room) &&
           add_option("ASAN_OPTIONS", "verify_asan_link_order", "0");
}

/* The loader's lists are separated by colons and, LD_PRELOAD, by spaces; there is no quoting. */
static bool set_loader(const char *dir, const char *program)
{
    if (strpbrk(dir, ": ;") != NULL) {
        fprintf(stderr,
                "weir: the path %s holds a space, colon or semicolon, which the dynamic loader "
                "cannot take\n",
                dir);
        return false;
    }
    if (set_list("LD_AUDIT", dir, "libweir-audit.so", "", "") &&
        set_list("LD_PRELOAD", dir, "libweir-preload.so", "libweir.so",
                 getenv("WEIR_CHECK") || weir_cli_strict_managed() ? "libweir-io.so" : "") &&
        set_options(program))
        return true;
    perror("weir");
    return false;
}

/* A trace belongs to this process, which becomes the program; children write FILE.PID. Programs
 * that mark ranges by NVTX give them to the library that the variable names. */
static bool set_trace(const char *dir)
{
    const char *file = getenv("WEIR_TRACE");
    char text[PATH_MAX];

    if (file == NULL || *file == '\0')
        return true;
    snprintf(text, sizeof text, "%ld", (long)getpid());
    if (setenv("WEIR_TRACE_PID", text, 1) != 0)
        return false;
    if (*file != '/') { /* the program may change its folder before the first call */
        char *cwd = getcwd(NULL, 0);
        bool ok = cwd != NULL && snprintf(text, sizeof text, "%s/%s", cwd, file) < PATH_MAX &&
                  setenv("WEIR_TRACE", text, 1) == 0;

        free(cwd);
        if (!ok)
            return false;
    }
    return snprintf(text, sizeof text, "%s/libweir.so", dir) < PATH_MAX &&
           setenv("NVTX_INJECTION64_PATH", text, 0) == 0;
}

/* Of --inject: are its devices there? 0, or the exit status after a message. */
static int check_devices(void)
{
    const char *rules = getenv("WEIR_INJECT"), *devices = getenv("WEIR_DEVICES"), *problem = NULL;

    if (rules && *rules)
        problem = weir_cli_inject_device_problem(rules, devices && *devices ? atoi(devices) : 1);
    return problem ? weir_cli_usage_error("run", "--inject: %s", problem) : 0;
}

/* Modelled time needs a device with costs. 0, or the exit status after a message. */
static int set_clock(void)
{
    const char *clock = getenv("WEIR_CLOCK"), *device = getenv("WEIR_DEVICE");
    struct weir_profile profile;
    struct weir_plan_machine machine;

    if (!clock || strcmp(clock, "model") != 0)
        return 0;
    if (!device || !*device)
        device = "h200";
    if (!weir_cli_machine("run", device, &profile, &machine))
        return WEIR_EXIT_USAGE;
    weir_profile_finish(&profile);
    if (setenv("WEIR_DEVICE", device, 1) == 0)
        return 0;
    perror("weir");
    return WEIR_EXIT_REFUSED;
}

/* A program without a dynamic loader cannot be taken over: one with CUDA inside is refused, others
 * run. */
static bool is_refused(const char *name)
{
    struct weir_object o;
    char path[PATH_MAX];
    bool refused;

    if (!find_program(name, path) || !weir_object_open(&o, path, false))
        return false;
    refused = !o.is_dynamic && (o.has_device_code || weir_object_has_cudart(&o));
    weir_object_close(&o);
    if (refused)
        fprintf(stderr,
                "weir: cannot take over %s: it is linked statically, without a dynamic loader; "
                "build it without -static\n",
                path);
    return refused;
}

int weir_cli_run(int argc, char **argv)
{
    char dir[PATH_MAX];
    int i = 1, status;

    for (; i < argc && argv[i][0] == '-' && argv[i][1] != '\0'; i++) {
        if (strcmp(argv[i], "--") == 0) {
            i++;
            break;
        }
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(help, stdout);
            return 0;
        }
        status = take_option(argc, argv, &i);
        if (status != 0)
            return status;
    }
    if (i >= argc)
        return weir_cli_usage_error("run", "no program given");
    if ((status = check_devices()) != 0 || (status = set_clock()) != 0)
        return status;
    if (!weir_cli_libdir(dir) || is_refused(argv[i]) || !set_loader(dir, argv[i]))
        return WEIR_EXIT_REFUSED;
    if (!set_trace(dir)) {
        perror("weir");
        return WEIR_EXIT_REFUSED;
    }
    if (getenv("WEIR_SCHEDULE")) /* addresses repeat, too */
        personality((unsigned long)personality(0xffffffff) | ADDR_NO_RANDOMIZE);
    execvp(argv[i], argv + i);
    fprintf(stderr, "weir: cannot run %s: %s\n", argv[i], strerror(errno));
    return errno == ENOENT ? WEIR_EXIT_NOT_FOUND : WEIR_EXIT_CANNOT_RUN;
}

int weir_cli_run_rest(int first, int argc, char **argv)
{
    argv[first - 1] = argv[0];
    return weir_cli_run(argc - first + 1, argv + first - 1);
}
