/* See frame.h. Lays out by hand what the kernel lays out on x86-64: the return address of the
 * handler, which calls rt_sigreturn; the ucontext; the siginfo; and further up the floating point
 * state that the ucontext points to.
 * SPDX-License-Identifier: Apache-2.0 */
#include "takeover/frame.h"

#if defined(__x86_64__)

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum {
    RED_ZONE = 128,
    UCONTEXT_BYTES =
        304, /* the kernel's struct; glibc's has more behind, which no signal frame fills */
    SIGINFO_BYTES = 128,
    FXSAVE_BYTES = 512,
    FXSAVE_MAGIC_AT = 464, /* FP_XSTATE_MAGIC1 of <asm/sigcontext.h>, then the whole size */
};

struct frame {
    void (*restore)(void);
    unsigned char context[UCONTEXT_BYTES];
    unsigned char info[SIGINFO_BYTES];
};

void weir_frame_restore(void);

/* The handler returns to here, and the stack pointer is at the frame's context. */
__asm__(".text\n"
        ".globl weir_frame_restore\n"
        ".hidden weir_frame_restore\n"
        ".type weir_frame_restore, @function\n"
        "weir_frame_restore:\n"
        "  mov $15, %eax\n" /* rt_sigreturn */
        "  syscall\n"
        "  ud2\n"
        ".size weir_frame_restore, .-weir_frame_restore\n");

bool weir_frame_can_move(void)
{
    return true;
}

static bool on(const stack_t *s, uintptr_t at)
{
    return !(s->ss_flags & SS_DISABLE) && at - (uintptr_t)s->ss_sp < s->ss_size;
}

static size_t state_bytes(const unsigned char *fpregs)
{
    uint32_t magic, bytes;

    memcpy(&magic, fpregs + FXSAVE_MAGIC_AT, sizeof magic);
    memcpy(&bytes, fpregs + FXSAVE_MAGIC_AT + 4, sizeof bytes);
    return magic == FP_XSTATE_MAGIC1 && bytes >= FXSAVE_BYTES ? bytes : FXSAVE_BYTES;
}

bool weir_frame_move(int signo, const siginfo_t *info, void *context,
                     void (*handler)(int, siginfo_t *, void *))
{
    ucontext_t *uc = context;
    greg_t *r = uc->uc_mcontext.gregs;
    uintptr_t sp = (uintptr_t)r[REG_RSP];
    const unsigned char *fpregs = (const unsigned char *)uc->uc_mcontext.fpregs;
    struct frame *f;
    uint64_t now = 0;

    if (!on(&uc->uc_stack, (uintptr_t)context) || on(&uc->uc_stack, sp))
        return false;
    sp -= RED_ZONE;
    if (fpregs) {
        size_t bytes = state_bytes(fpregs);
        void *copy = (void *)((sp - bytes) & ~(uintptr_t)63);

        memcpy(copy, fpregs, bytes);
        sp = (uintptr_t)copy;
    }
    f = (struct frame *)(((sp - sizeof *f) & ~(uintptr_t)15) - 8); /* as behind a call */
    f->restore = weir_frame_restore;
    memcpy(f->context, uc, UCONTEXT_BYTES);
    memcpy(f->info, info, SIGINFO_BYTES);
    if (fpregs) {
        void *copy = (void *)sp;

        memcpy(f->context + offsetof(ucontext_t, uc_mcontext.fpregs), &copy, sizeof copy);
    }
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &now, sizeof now); /* the real mask */
    memcpy(&uc->uc_sigmask, &now, sizeof now);
    r[REG_RSP] = (greg_t)f;
    r[REG_RIP] = (greg_t)handler;
    r[REG_RDI] = signo;
    r[REG_RSI] = (greg_t)f->info;
    r[REG_RDX] = (greg_t)f->context;
    r[REG_RAX] = 0;
    r[REG_EFL] &=
        ~(greg_t)(0x400 | 0x100 | 0x10000); /* direction, trap, resume: as the kernel does */
    return true;
}

#else

bool weir_frame_can_move(void)
{
    return false;
}

bool weir_frame_move(int signo, const siginfo_t *info, void *context,
                     void (*handler)(int, siginfo_t *, void *))
{
    (void)signo;
    (void)info;
    (void)context;
    (void)handler;
    return false;
}

#endif
