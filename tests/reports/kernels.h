/* The kernels of the reports (kernels.cu), which nvcc and weir cc compile: everything else is C.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TESTS_REPORTS_KERNELS_H
#define WEIR_TESTS_REPORTS_KERNELS_H

#include <cuda_runtime_api.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Launches: nothing is checked, the caller asks for the last error. */
void launch_fill(unsigned *p, size_t n, unsigned value, cudaStream_t s);
/* *bad grows by the number of elements that are not `value`. */
void launch_compare(const unsigned *p, size_t n, unsigned value, unsigned *bad, cudaStream_t s);
void launch_add(unsigned *p, size_t n, unsigned value, cudaStream_t s);
/* Runs until *flag, mapped or on the device, is not zero; `blocks` of them. *begun is set first. */
void launch_spin(const unsigned *flag, unsigned *begun, unsigned blocks, cudaStream_t s);
/* Appends id to the order in which kernels ran: list[0] is how many there are. */
void launch_append(unsigned *list, unsigned id, cudaStream_t s);
void launch_first_use(unsigned *p, cudaStream_t s); /* nobody else launches it */
void launch_illegal(unsigned *p, cudaStream_t s);   /* writes where nothing is */

/* For the parameters of nodes: (unsigned *p, size_t n, unsigned value). */
const void *kernel_fill(void);
const void *kernel_add(void);

#ifdef __cplusplus
}
#endif

#endif
