/* A real GPU through libcuda.so.1, opened at run time: shows that the tests' expectations are the
 * hardware's.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TESTS_PTX_GPU_H
#define WEIR_TESTS_PTX_GPU_H

#include "ptx/harness.h"

struct gpu_program;
bool gpu_open(char *message, size_t bytes);
void *gpu_alloc(size_t bytes); /* managed memory, zeroed */
void gpu_reset(void);
struct gpu_program *gpu_program_create(const char *ptx, char *message, size_t bytes);
void gpu_program_destroy(struct gpu_program *p);
enum outcome gpu_program_run(struct gpu_program *p, const struct launch *l, char *message,
                             size_t bytes);

#endif
