/* System calls on memory that lies on a page of an unfinished copy: none may fail, and none is a
 * finding but for those that name the copy's own bytes. Usage: calls [FORM]; without one, all that
 * are beside the copy. What weir check must say is in calls.sh.
 * SPDX-License-Identifier: Apache-2.0 */
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/msg.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <linux/futex.h>
#include <unistd.h>

#include "../ok.h"

enum { COPIED = 64, BYTES = 256 };

static char *page, *device;
static cudaStream_t s1;
static int pair[2];
static int failures;

/* The copy's bytes, or those behind them. */
static char *where(bool same)
{
    return page + (same ? 0 : 1024);
}

static void close_page(void)
{
    OK(cudaMemcpyAsync(page, device, COPIED, cudaMemcpyDeviceToHost, s1));
}

static void open_page(void)
{
    OK(cudaStreamSynchronize(s1));
}

static void is(const char *what, bool good)
{
    if (good)
        return;
    printf("%s: %s\n", what, strerror(errno));
    failures++;
}

/* Bytes to be read from pair[0]. */
static void feed(void)
{
    char bytes[BYTES] = {5};

    is("feed", write(pair[1], bytes, sizeof bytes) == sizeof bytes);
}

static void drain(ssize_t n)
{
    char bytes[BYTES];

    is("drain", n <= 0 || read(pair[0], bytes, (size_t)n) == n);
}

/* ---- calls that are judged ---- */

static ssize_t do_read(char *p) { return read(pair[0], p, COPIED); }
static ssize_t do_recv(char *p) { return recv(pair[0], p, COPIED, 0); }
static ssize_t by_number(char *p) { return syscall(SYS_read, pair[0], p, (size_t)COPIED); }

static ssize_t do_readv(char *p)
{
    struct iovec v[2] = {{p, 8}, {p + 8, COPIED - 8}};

    return readv(pair[0], v, 2);
}

static ssize_t do_recvmsg(char *p)
{
    struct iovec v = {p, COPIED};
    struct msghdr m = {0};

    m.msg_iov = &v;
    m.msg_iovlen = 1;
    return recvmsg(pair[0], &m, 0);
}

static ssize_t do_recvmmsg(char *p)
{
    struct iovec v = {p, COPIED};
    struct mmsghdr m = {0};

    m.msg_hdr.msg_iov = &v;
    m.msg_hdr.msg_iovlen = 1;
    return recvmmsg(pair[0], &m, 1, 0, NULL) == 1 ? (ssize_t)m.msg_len : -1;
}

static ssize_t vm_readv(char *p)
{
    static char from[COPIED];
    struct iovec to = {p, COPIED}, source = {from, COPIED};

    return process_vm_readv(getpid(), &to, 1, &source, 1, 0);
}

static ssize_t do_getrandom(char *p) { return getrandom(p, COPIED, 0); }

static ssize_t do_pread(char *p)
{
    int fd = open("/proc/self/exe", O_RDONLY);
    ssize_t n = pread(fd, p, COPIED, 64);

    close(fd);
    return n;
}

/* Done by a thread of the library's, when the call has returned. */
static ssize_t aio(char *p)
{
    int fd = open("/proc/self/exe", O_RDONLY), e;
    struct aiocb cb = {0};

    cb.aio_fildes = fd;
    cb.aio_buf = p;
    cb.aio_nbytes = COPIED;
    is("aio_read", aio_read(&cb) == 0);
    while ((e = aio_error(&cb)) == EINPROGRESS)
        usleep(100);
    close(fd);
    errno = e;
    return e ? -1 : aio_return(&cb);
}

static ssize_t do_write(char *p) { return write(pair[1], p, COPIED); }
static ssize_t do_send(char *p) { return send(pair[1], p, COPIED, 0); }

static ssize_t do_writev(char *p)
{
    struct iovec v[2] = {{p, 8}, {p + 8, COPIED - 8}};

    return writev(pair[1], v, 2);
}

static ssize_t do_sendmsg(char *p)
{
    struct iovec v = {p, COPIED};
    struct msghdr m = {0};

    m.msg_iov = &v;
    m.msg_iovlen = 1;
    return sendmsg(pair[1], &m, 0);
}

static ssize_t do_sendmmsg(char *p)
{
    struct iovec v = {p, COPIED};
    struct mmsghdr m = {0};

    m.msg_hdr.msg_iov = &v;
    m.msg_hdr.msg_iovlen = 1;
    return sendmmsg(pair[1], &m, 1, 0) == 1 ? (ssize_t)m.msg_len : -1;
}

/* Another process has the pages as they were; this one is asked for its own. */
static ssize_t vm_writev(char *p)
{
    static char to[COPIED];
    struct iovec from = {p, COPIED}, target = {to, COPIED};

    return process_vm_writev(getpid(), &from, 1, &target, 1, 0);
}

static ssize_t vm_of_itself(char *p)
{
    static char to[COPIED];
    struct iovec local = {to, COPIED}, remote = {p, COPIED};

    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
}

static ssize_t do_vmsplice(char *p)
{
    struct iovec v = {p, COPIED};
    char bytes[COPIED];
    int fd[2];
    ssize_t n;

    is("pipe", pipe(fd) == 0);
    n = vmsplice(fd[1], &v, 1, 0);
    open_page(); /* the pipe has the page itself */
    is("vmsplice'd", n != COPIED || read(fd[0], bytes, COPIED) == COPIED);
    close(fd[0]);
    close(fd[1]);
    return n;
}

static ssize_t messages(char *p, bool receives)
{
    struct {
        long type;
        char text[COPIED];
    } own = {1, {0}};
    int queue = msgget(IPC_PRIVATE, 0600);
    ssize_t n;

    *(long *)p = 1;
    if (receives) {
        is("msgsnd", msgsnd(queue, &own, COPIED - sizeof(long), 0) == 0);
        n = msgrcv(queue, p, COPIED - sizeof(long), 0, 0);
    } else {
        n = msgsnd(queue, p, COPIED - sizeof(long), 0) == 0 ? COPIED - (ssize_t)sizeof(long) : -1;
    }
    msgctl(queue, IPC_RMID, NULL);
    return n < 0 ? n : n + (ssize_t)sizeof(long);
}

static ssize_t do_msgsnd(char *p) { return messages(p, false); }
static ssize_t do_msgrcv(char *p) { return messages(p, true); }

static const struct {
    const char *name;
    ssize_t (*call)(char *p);
    bool fed, leaves; /* there is something to be read before; and behind it */
} calls[] = {
    {"read", do_read, true, false},         {"recv", do_recv, true, false},
    {"readv", do_readv, true, false},       {"recvmsg", do_recvmsg, true, false},
    {"recvmmsg", do_recvmmsg, true, false}, {"by-number", by_number, true, false},
    {"vm-readv", vm_readv, false, false},   {"getrandom", do_getrandom, false, false},
    {"pread", do_pread, false, false}, {"aio", aio, false, false},      {"write", do_write, false, true},
    {"send", do_send, false, true},         {"writev", do_writev, false, true},
    {"sendmsg", do_sendmsg, false, true},   {"sendmmsg", do_sendmmsg, false, true},
    {"vm-writev", vm_writev, false, false}, {"vm-itself", vm_of_itself, false, false},
    {"vmsplice", do_vmsplice, false, false}, {"msgsnd", do_msgsnd, false, false},
    {"msgrcv", do_msgrcv, false, false},
};

static void judged(size_t i, bool same)
{
    if (calls[i].fed)
        feed();
    close_page();
    is(calls[i].name, calls[i].call(where(same)) == COPIED);
    open_page();
    if (calls[i].fed)
        drain(BYTES - COPIED);
    if (calls[i].leaves)
        drain(COPIED);
}

/* ---- calls that only have to work: everything they point to is on the page ---- */

template <class T> static T *on_page(size_t offset = 0)
{
    return (T *)(void *)(page + 1024 + offset);
}

static void names_and_states(void)
{
    char *path = on_page<char>();
    int fd;

    strcpy(path, "/proc/self/exe");
    close_page();
    fd = open(path, O_RDONLY);
    is("open", fd >= 0);
    is("fstat", fstat(fd, on_page<struct stat>(256)) == 0);
    is("stat", stat(path, on_page<struct stat>(256)) == 0);
    is("access", access(path, R_OK) == 0);
    is("readlink", readlink(path, on_page<char>(512), 512) > 0);
    is("getcwd", getcwd(on_page<char>(512), 1024) != NULL);
    is("uname", uname(on_page<struct utsname>(512)) == 0);
    is("ioctl", ioctl(pair[0], FIONREAD, on_page<int>(2048)) == 0);
    is("by number", syscall(SYS_uname, on_page<struct utsname>(512)) == 0);
    is("getrusage by number", syscall(SYS_getrusage, 0, on_page<char>(512)) == 0);
    open_page();
    close(fd);
}

static void readiness(void)
{
    struct pollfd *p = on_page<struct pollfd>();
    struct epoll_event *e = on_page<struct epoll_event>(64);
    struct timespec *t = on_page<struct timespec>(256);
    struct timeval *tv = on_page<struct timeval>(256);
    fd_set *set = on_page<fd_set>(512);
    int fd = epoll_create1(0);

    feed();
    *p = (struct pollfd){pair[0], POLLIN, 0};
    e->events = EPOLLIN;
    *t = (struct timespec){0, 1000};
    FD_ZERO(set);
    FD_SET(pair[0], set);
    close_page();
    is("poll", poll(p, 1, 1000) == 1);
    is("ppoll", ppoll(p, 1, t, NULL) == 1);
    is("epoll_ctl", epoll_ctl(fd, EPOLL_CTL_ADD, pair[0], e) == 0);
    is("epoll_wait", epoll_wait(fd, e, 4, 1000) == 1);
    is("select", select(pair[0] + 1, set, NULL, NULL, tv) == 1);
    is("nanosleep", nanosleep(t, t) == 0);
    open_page();
    is("polled", p->revents == POLLIN);
    drain(BYTES);
    close(fd);
}

static void addresses(void)
{
    struct sockaddr_un *a = on_page<struct sockaddr_un>();
    socklen_t *length = on_page<socklen_t>(512);
    int *option = on_page<int>(520), s = socket(AF_UNIX, SOCK_STREAM, 0);

    memset(a, 0, sizeof *a);
    a->sun_family = AF_UNIX;
    *length = sizeof *a;
    close_page();
    is("bind", bind(s, (struct sockaddr *)a, sizeof a->sun_family) == 0); /* any name */
    is("getsockname", getsockname(s, (struct sockaddr *)a, length) == 0);
    open_page();
    *length = sizeof *option;
    close_page();
    is("getsockopt", getsockopt(s, SOL_SOCKET, SO_TYPE, option, length) == 0);
    is("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, on_page<int>(600)) == 0);
    open_page();
    close(on_page<int>(600)[0]);
    close(on_page<int>(600)[1]);
    close(s);
}

/* A child's end. */
static void children(void)
{
    pid_t child = fork();

    if (!child)
        _exit(7);
    close_page();
    is("waitpid", waitpid(child, on_page<int>(), 0) == child);
    open_page();
    is("status", WIFEXITED(*on_page<int>()) && WEXITSTATUS(*on_page<int>()) == 7);
}

/* ---- locks ---- */

struct locks {
    sem_t sem;
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    pthread_barrier_t barrier;
    int go, word;
};

static void *other(void *arg)
{
    struct locks *l = (struct locks *)arg;

    usleep(20000); /* the main thread waits by then, or does so later: right in both cases */
    sem_post(&l->sem);
    pthread_mutex_lock(&l->mutex);
    l->go = 1;
    pthread_cond_signal(&l->cond);
    pthread_mutex_unlock(&l->mutex);
    pthread_barrier_wait(&l->barrier);
    __atomic_store_n(&l->word, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &l->word, FUTEX_WAKE, 1, NULL, NULL, 0);
    return NULL;
}

static void locks(void)
{
    struct locks *l = on_page<struct locks>();
    pthread_t thread;

    memset(l, 0, sizeof *l);
    sem_init(&l->sem, 0, 0);
    pthread_mutex_init(&l->mutex, NULL);
    pthread_cond_init(&l->cond, NULL);
    pthread_barrier_init(&l->barrier, NULL, 2);
    pthread_create(&thread, NULL, other, l);
    close_page();
    is("sem_wait", sem_wait(&l->sem) == 0);
    pthread_mutex_lock(&l->mutex);
    while (!l->go)
        is("pthread_cond_wait", pthread_cond_wait(&l->cond, &l->mutex) == 0);
    pthread_mutex_unlock(&l->mutex);
    pthread_barrier_wait(&l->barrier);
    while (!__atomic_load_n(&l->word, __ATOMIC_ACQUIRE))
        is("futex", syscall(SYS_futex, &l->word, FUTEX_WAIT, 0, NULL, NULL, 0) == 0 ||
                        errno == EAGAIN || errno == EINTR);
    open_page();
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&l->barrier);
    pthread_cond_destroy(&l->cond);
    pthread_mutex_destroy(&l->mutex);
    sem_destroy(&l->sem);
}

/* A stream's buffer: the library reads into it. */
static void buffer_of_a_stream(void)
{
    FILE *f = fopen("/proc/self/exe", "r");
    char bytes[16];

    close_page();
    setvbuf(f, on_page<char>(), _IOFBF, 1024);
    is("fread", fread(bytes, 1, sizeof bytes, f) == sizeof bytes);
    fclose(f);
    open_page();
}

int main(int argc, char **argv)
{
    OK(cudaMalloc((void **)&device, COPIED));
    OK(cudaMallocHost((void **)&page, 4096));
    OK(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
    is("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if (argc < 2 || !strcmp(argv[1], calls[i].name))
            judged(i, argc > 1);
    if (argc < 2) {
        names_and_states();
        readiness();
        addresses();
        children();
        locks();
        buffer_of_a_stream();
    }
    printf(failures ? "failed\n" : "done\n");
    OK(cudaFreeHost(page));
    OK(cudaStreamDestroy(s1));
    OK(cudaFree(device));
    return failures != 0;
}
