/* Opening a library while the program may hold the dynamic loader's lock. dlopen and dlclose hold
 * it while constructors and destructors run, and those may wait in Weir: for a kernel that must be
 * compiled first, by a library that is still to be opened. So the opening is done by whoever can: a
 * thread of its own, or a program's thread that sleeps in weir_loader_wait (for whoever holds the
 * lock it is free).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_BASE_LOADER_H
#define WEIR_BASE_LOADER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Returns when open() has run to its end on some thread. It may run on several at the same time,
 * and more than once. Once per process: later calls return at once. Thread: any that is Weir's own;
 * no lock held. */
void weir_loader_call(void (*open)(void));

/* weir_futex_wait for the program's threads that wait for the device: may run what weir_loader_call
 * was given meanwhile. May wake early. Thread: any, holding no lock that open() needs. */
bool weir_loader_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t timeout_ns);

#endif
