/* What every stream and host thread waits for, and where the cycle is: `weir where PID`, and what
 * --hang says. A reader of the model and of the engines: nothing is noted for it beforehand but the
 * call that each thread is in (thread.h).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_WHERE_H
#define WEIR_CORE_WHERE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weir_op;

/* Writes lines of text, and a zero, into out; what does not fit is cut off. Result: bytes without
 * the zero. Thread: one of Weir's own, holding no lock: it takes each stream's lock for a moment,
 * and gives up on one that stays locked. */
size_t weir_where_report(char *out, size_t room);
/* Is there a cycle of waits of which none ends by itself? Its steps as text, a thread that waits in
 * a call (0: none), and the address of a host function's operation (NULL: none). Thread: as above.
 */
bool weir_where_deadlock(char *out, size_t room, uint32_t *thread, const struct weir_op **op);

struct weir_where_progress {
    uint64_t sign; /* differs when an operation began or ended, a block finished or a call ended */
    bool is_pending; /* something is to be waited for: an operation, or a call that has not come
                        back */
    bool compiles;   /* code is being made for a kernel: that is no standstill */
};
/* Thread: as above. */
void weir_where_look(struct weir_where_progress *out);

#endif
