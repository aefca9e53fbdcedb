/* Programmatic dependent launch: a kernel with cudaLaunchAttributeProgrammaticStreamSerialization
 * may begin when every block of the kernel in front of it has said
 * griddepcontrol.launch_dependents, or has ended. It still completes after that one: who waits for
 * it waits for both (oracle pdl_basic, pdl_chain). Only kernels that stand side by side in their
 * stream do that; whatever is between them ends it, and so does an edge to another stream.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_DEPENDENT_H
#define WEIR_CORE_DEPENDENT_H

#include "core/stream.h"

/* Of a programmatic kernel that has begun before its turn. */
enum weir_early { WEIR_EARLY_NONE, WEIR_EARLY_RUNS, WEIR_EARLY_ENDED };

/* Begins what in s may begin early. Thread: any, no lock held. */
void weir_dependent_look(struct weir_stream *s);
/* weir_kernel_work.triggered. */
void weir_dependent_triggered(struct weir_kernel_work *work);
/* The kernel's turn has come. NONE: it is to be started. RUNS: it runs, and will complete as others
 * do. ENDED: it is to be completed with *status. */
enum weir_early weir_dependent_turn(struct weir_kernel_op *op, enum weir_err *status);
/* The kernel has ended; true when that was before its turn: it is completed later. */
bool weir_dependent_ended(struct weir_op *op, enum weir_err status);
/* weir_kernel_services.wait_dependencies: until everything in front of the block's kernel is
 * complete. Meanwhile the thread runs blocks of what it waits for, parked ones too. */
void weir_dependent_wait(struct weir_block *block);

#endif
