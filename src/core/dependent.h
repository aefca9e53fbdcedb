/* Programmatic dependent launch in streams: begins what the model gives leave to
 * (model/dependent.h, ORD-031), and waits inside kernels (ORD-032).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_DEPENDENT_H
#define WEIR_CORE_DEPENDENT_H

#include "core/stream.h"
#include "model/dependent.h"

/* Begins what in s may begin early. Thread: any, no lock held. */
void weir_dependent_look(struct weir_stream *s);
/* weir_kernel_work.triggered. */
void weir_dependent_triggered(struct weir_kernel_work *work);
/* The kernel's turn has come: weir_model_turn. *status: of one that has ended. */
unsigned weir_dependent_turn(struct weir_kernel_op *op, enum weir_err *status);
/* The kernel has ended; true when that was before its turn: it is completed later. */
bool weir_dependent_ended(struct weir_op *op, enum weir_err status);
/* weir_kernel_services.wait_dependencies: until everything in front of the block's kernel is
 * complete. Meanwhile the thread runs blocks of what it waits for, parked ones too. */
void weir_dependent_wait(struct weir_block *block);

/* Runs a block of the kernel at the stream's head that nobody else runs. False: there is none. */
bool weir_dependent_help_head(struct weir_stream *s);

#endif
