/* Of the tests of textures: their kernels, each by its name, and how one runs.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TESTS_PTX_TEXTURES_RUN_H
#define WEIR_TESTS_PTX_TEXTURES_RUN_H

#include <stddef.h>

#include "textures.h"

#define LANES 64 /* two warps */
#define ROWS  16

/* textures_kernels.c */
extern const char *const geometry_names[GEOMETRIES], *const bound_names[3];
bool is_layered(enum geometry g);
int coordinates(enum geometry g);

#define GATHERS 7
extern const struct gather_form {
    const char *tag;
    enum geometry g;
    int component;
    const char *types;
} gathers[GATHERS];

struct surface_form {
    enum geometry g;
    int bits, count;
};
extern const struct surface_form surfaces[];
extern const size_t surface_count;

struct reduction {
    const char *op, *type;
    enum geometry g;
};
extern const struct reduction reductions[];
extern const size_t reduction_count;

#define QUERIES 14
const char *texture_kernels(void); /* NULL: the text is too long */

/* textures_run.c: what each lane loads and stores, a word a row. */
extern uint32_t kernel_in[ROWS][LANES], kernel_out[ROWS][LANES];
void kernels_load(void);
cudaError_t run_kernel(const char *name, bool each, unsigned long long handle);
bool runs(int lane); /* the others leave the kernel early */
/* textures_answers.c: what a GPU answered, a row a run, four digits a lane. */
bool answers_open(const char *path, bool record);
void answers_row(const char *name);
int answers_close(void); /* the lanes that differ */
void check_untouched(const char *name);
int runs_failed(void);

void rnd_seed(uint64_t seed);
uint32_t rnd(void);
int rnd_in(int lo, int hi);
float rnd_unit(void);

/* textures_surface.c */
void test_surface(size_t which, int bound);
void test_reduction(const struct reduction *r);
/* The last of all: the device stays failed. */
void test_trap(bool no_object);
int surfaces_failed(void);

#endif
