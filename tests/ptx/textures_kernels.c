/* The PTX text of all instructions of textures and surfaces that the tests run.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "textures_run.h"

const char *const geometry_names[GEOMETRIES] = {"1d", "a1d", "2d", "a2d", "3d", "cube", "acube"};

bool is_layered(enum geometry g)
{
    return g == G_A1D || g == G_A2D || g == G_ACUBE;
}

int coordinates(enum geometry g)
{
    return g <= G_A1D ? 1 : g <= G_A2D ? 2 : 3;
}

static char text[1 << 18];
static size_t text_used;

static void put(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    text_used += (size_t)vsnprintf(text + text_used, sizeof text - text_used, format, ap);
    va_end(ap);
}

/* Every lane but each fifth loads `rows` words, does the instruction, stores `results` words. The
 * object comes as a parameter, or from an array with one of each lane. */
static void begin_kernel(const char *name, bool each, int rows)
{
    put(".visible .entry %s_%s(.param .u64 object, .param .u64 in, .param .u64 out)\n{\n"
        ".reg .pred %%p<4>;\n.reg .b16 %%h<8>;\n.reg .b32 %%r<40>;\n.reg .b64 %%rd<24>;\n"
        ".reg .f32 %%f<8>;\n"
        "ld.param.u64 %%rd1, [object];\nld.param.u64 %%rd2, [in];\nld.param.u64 %%rd3, [out];\n"
        "mov.u32 %%r39, %%tid.x;\nrem.u32 %%r38, %%r39, 5;\nsetp.eq.u32 %%p1, %%r38, 4;\n"
        "@%%p1 bra done;\nmul.wide.u32 %%rd4, %%r39, 4;\nadd.u64 %%rd2, %%rd2, %%rd4;\n"
        "add.u64 %%rd3, %%rd3, %%rd4;\n",
        name, each ? "each" : "one");
    if (each)
        put("mul.wide.u32 %%rd4, %%r39, 8;\nadd.u64 %%rd1, %%rd1, %%rd4;\n"
            "ld.global.u64 %%rd1, [%%rd1];\n");
    for (int k = 0; k < rows; k++)
        put("ld.global.b32 %%r%d, [%%rd2+%d];\n", k, k * LANES * 4);
}

static void end_kernel(int first, int results)
{
    for (int k = 0; k < results; k++)
        put("st.global.b32 [%%rd3+%d], %%r%d;\n", k * LANES * 4, first + k);
    put("done:\nret;\n}\n");
}

/* {%r0, %r1, ...}: three coordinates are a vector of four */
static void put_vector(int first, int count)
{
    put("{");
    for (int k = 0; k < (count == 3 ? 4 : count); k++)
        put("%s%%r%d", k ? ", " : "", first + (k < count ? k : 0));
    put("}");
}

static void put_fetch(const char *op, enum geometry g, const char *types, const char *tag,
                      const char *more, bool each)
{
    int n = coordinates(g) + is_layered(g), d = coordinates(g);
    int rows = n + (*more == 'l' ? 1 : *more == 'g' ? 2 * d : 0);
    char name[64];

    snprintf(name, sizeof name, "%s_%s", tag, geometry_names[g]);
    begin_kernel(name, each, rows);
    put("%s.%s.v4.%s {%%r30, %%r31, %%r32, %%r33}, [%%rd1, ", op, geometry_names[g], types);
    put_vector(0, n);
    put("]");
    if (*more == 'l')
        put(", %%r%d", n);
    if (*more == 'g') {
        put(", ");
        put_vector(n, d);
        put(", ");
        put_vector(n + d, d);
    }
    put(";\n");
    end_kernel(30, 4);
}

const struct gather_form gathers[GATHERS] = {
    {"tld4r", G_2D, 0, "f32.f32"},   {"tld4g", G_A2D, 1, "f32.f32"}, {"tld4b", G_2D, 2, "f32.f32"},
    {"tld4a", G_CUBE, 3, "f32.f32"}, {"tld4gf", G_2D, 1, "f32.f32"}, {"tld4gs", G_2D, 1, "s32.f32"},
    {"tld4gu", G_2D, 1, "u32.f32"},
};

static void put_fetches(void)
{
    static const char *const results[] = {"f32.f32", "s32.f32", "u32.f32"};

    for (enum geometry g = 0; g < GEOMETRIES; g++) {
        for (int k = 0; k < 6; k++) {
            char tag[16] = "fetch_f";

            tag[6] = *results[k / 2];
            put_fetch("tex", g, results[k / 2], tag, "", k & 1);
        }
        put_fetch("tex.level", g, "f32.f32", "level", "l", g & 1);
        put_fetch("tex.grad", g, "s32.f32", "grad", "g", g & 1);
        if (g < G_CUBE) {
            put_fetch("tex", g, "f32.s32", "whole_f", "", !(g & 1));
            put_fetch("tex", g, "u32.s32", "whole_u", "", !(g & 1));
        }
    }
    for (size_t k = 0; k < GATHERS; k++) {
        char op[8] = "tld4.r";

        op[5] = "rgba"[gathers[k].component];
        put_fetch(op, gathers[k].g, gathers[k].types, gathers[k].tag, "", k & 1);
    }
    begin_kernel("half", false, 2); /* results as f16 and as pairs; a predicate of residency */
    put("tex.2d.v4.f16.f32 {%%h1, %%h2, %%h3, %%h4}, [%%rd1, {%%r0, %%r1}];\n"
        "tex.2d.v2.f16x2.f32 {%%r32, %%r33}, [%%rd1, {%%r0, %%r1}];\n"
        "mov.b32 %%r30, {%%h1, %%h2};\nmov.b32 %%r31, {%%h3, %%h4};\n"
        "tex.2d.v4.f32.f32 {%%f1, _, _, _}|%%p2, [%%rd1, {%%r0, %%r1}];\n"
        "selp.b32 %%r34, 1, 0, %%p2;\nmov.b32 %%r35, %%f1;\n");
    end_kernel(30, 6);
}

const char *const bound_names[3] = {"trap", "clamp", "zero"};

/* suld_2d_8_clamp and so on: bits of the element, vector 1 */
static void put_surface(enum geometry g, int bits, int count, int bound)
{
    int n = coordinates(g) + is_layered(g), words = bits == 64 ? 2 * count : count;
    const char *reg = bits == 64 ? "%rd" : bits == 32 ? "%r" : "%h";
    char name[64], vector[16] = "", list[64] = "";
    size_t used = 0;

    if (count > 1)
        snprintf(vector, sizeof vector, ".v%d", count);
    for (int k = 0; k < count; k++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s%d", k ? ", " : "", reg,
                                 bits == 64   ? 10 + k
                                 : bits == 32 ? 20 + k
                                              : 1 + k);
    snprintf(name, sizeof name, "suld_%s_%d_%d_%s", geometry_names[g], bits, count,
             bound_names[bound]);
    begin_kernel(name, bits & 8, n);
    put("suld.b.%s%s.b%d.%s {%s}, [%%rd1, ", geometry_names[g], vector, bits, bound_names[bound],
        list);
    put_vector(0, n);
    put("];\n");
    for (int k = 0; k < count; k++) {
        if (bits == 64)
            put("mov.b64 {%%r%d, %%r%d}, %%rd%d;\n", 20 + 2 * k, 21 + 2 * k, 10 + k);
        else if (bits < 32)
            put("cvt.u32.u16 %%r%d, %%h%d;\n", 20 + k, 1 + k);
    }
    end_kernel(20, words);
    name[2] = 's';
    name[3] = 't';
    begin_kernel(name, bits & 16, n + words);
    for (int k = 0; k < count; k++) {
        if (bits == 64)
            put("mov.b64 %%rd%d, {%%r%d, %%r%d};\n", 10 + k, n + 2 * k, n + 2 * k + 1);
        else if (bits == 32)
            put("mov.b32 %%r%d, %%r%d;\n", 20 + k, n + k);
        else
            put("cvt.u16.u32 %%h%d, %%r%d;\n", 1 + k, n + k);
    }
    put("sust.b.%s%s.b%d.%s [%%rd1, ", geometry_names[g], vector, bits, bound_names[bound]);
    put_vector(0, n);
    put("], {%s};\n", list);
    end_kernel(0, 0);
}

const struct reduction reductions[] = {
    {"add", "u32", G_1D}, {"min", "s32", G_2D}, {"max", "u32", G_2D}, {"and", "b32", G_3D},
    {"or", "b32", G_1D},  {"min", "u32", G_2D}, {"add", "u64", G_2D}, {"max", "s64", G_1D},
    {"min", "u64", G_3D}, {"max", "s32", G_1D},
};
const size_t reduction_count = sizeof reductions / sizeof reductions[0];

static void put_reduction(const struct reduction *r)
{
    int n = coordinates(r->g) + is_layered(r->g);
    bool wide = r->type[1] == '6';
    char name[64];

    snprintf(name, sizeof name, "sured_%s_%s", r->op, r->type);
    begin_kernel(name, false, n + 1 + wide);
    if (wide)
        put("mov.b64 %%rd10, {%%r%d, %%r%d};\n", n, n + 1);
    put("sured.b.%s.%s.%s.clamp [%%rd1, ", r->op, geometry_names[r->g], r->type);
    put_vector(0, n);
    put("], %s%d;\n", wide ? "%rd" : "%r", wide ? 10 : n);
    end_kernel(0, 0);
}

const struct surface_form surfaces[] = {
    {G_1D, 8, 1},   {G_1D, 8, 2},  {G_1D, 8, 4},   {G_1D, 16, 1},  {G_1D, 16, 2}, {G_1D, 16, 4},
    {G_1D, 32, 1},  {G_1D, 32, 2}, {G_1D, 32, 4},  {G_2D, 8, 1},   {G_2D, 8, 2},  {G_2D, 8, 4},
    {G_2D, 16, 1},  {G_2D, 16, 2}, {G_2D, 16, 4},  {G_2D, 32, 1},  {G_2D, 32, 2}, {G_2D, 32, 4},
    {G_2D, 64, 2},  {G_3D, 8, 1},  {G_3D, 8, 2},   {G_3D, 16, 2},  {G_3D, 32, 1}, {G_A1D, 16, 1},
    {G_A1D, 64, 1}, {G_A2D, 8, 4}, {G_A2D, 32, 2}, {G_A2D, 32, 4},
};
const size_t surface_count = sizeof surfaces / sizeof surfaces[0];

static const char *const queries[QUERIES] = {
    "txq.width",         "txq.height",      "txq.depth",       "txq.normalized_coords",
    "txq.filter_mode",   "txq.addr_mode_0", "txq.addr_mode_2", "txq.num_mipmap_levels",
    "txq.array_size",    "txq.num_samples", "suq.width",       "suq.height",
    "txq.channel_order", "txq.level.width",
};

static void put_queries(void)
{
    begin_kernel("query", false, 1); /* row 0: the level */
    for (size_t k = 0; k < QUERIES; k++)
        put("%s.b32 %%r%zu, [%%rd1]%s;\n", queries[k], 10 + k,
            strstr(queries[k], "level.") ? ", %r0" : "");
    put("istypep.texref %%p1, %%rd1;\nistypep.surfref %%p2, %%rd1;\n"
        "istypep.samplerref %%p3, %%rd1;\nselp.b32 %%r24, 1, 0, %%p1;\n"
        "selp.b32 %%r25, 2, 0, %%p2;\nselp.b32 %%r26, 4, 0, %%p3;\n"
        "or.b32 %%r24, %%r24, %%r25;\nor.b32 %%r24, %%r24, %%r26;\n");
    end_kernel(10, (int)QUERIES + 1);
}

const char *texture_kernels(void)
{
    put(".version 8.1\n.target sm_60\n.address_size 64\n");
    put_fetches();
    for (size_t k = 0; k < surface_count; k++)
        for (int bound = 0; bound < 3; bound++)
            put_surface(surfaces[k].g, surfaces[k].bits, surfaces[k].count, bound);
    for (size_t k = 0; k < reduction_count; k++)
        put_reduction(&reductions[k]);
    put_queries();
    return text_used < sizeof text ? text : NULL;
}
