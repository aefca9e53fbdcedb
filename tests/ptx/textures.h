/* Of the tests of textures: a description of one texture with its elements in host memory, and what
 * a fetch of it must give, written from the programming guide's appendix on texture fetching.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TESTS_PTX_TEXTURES_H
#define WEIR_TESTS_PTX_TEXTURES_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

enum geometry { G_1D, G_A1D, G_2D, G_A2D, G_3D, G_CUBE, G_ACUBE, GEOMETRIES };

#define LEVELS_MAX 4

struct level {
    int size[3];         /* elements, rows, slices, at least 1 */
    unsigned char *data; /* rows behind each other */
};

struct texture {
    enum geometry geometry;
    int channels, bits;
    enum cudaChannelFormatKind kind;
    struct cudaTextureDesc desc;
    bool flat; /* linear memory */
    int levels;
    struct level level[LEVELS_MAX];
    int layers; /* cubes: without their faces */
};

struct place {
    bool whole; /* s32 coordinates */
    float x[3];
    int i[3];
    unsigned layer;
};

/* Words of the four results; tolerance[k]: how far from them a float may be (0: exact bits). */
struct expected {
    uint32_t word[4];
    double tolerance[4];
};

/* lod: of .level or .grad, before bias and clamps. */
void expect_fetch(const struct texture *t, const struct place *p, double lod, struct expected *e);
void expect_gather(const struct texture *t, const struct place *p, int component,
                   struct expected *e);
/* What is documented of a gradient: log2 of the longer step in elements. */
double expect_lod(const struct texture *t, const float *dx, const float *dy, int axes);

#endif
