/* See forms_texture.h. Texture and surface references (a module's .texref and .surfref variables)
 * are refused: CUDA 12 has none any more.
 * SPDX-License-Identifier: Apache-2.0 */
#include "codegen/forms_texture.h"

#include <string.h>

struct word {
    const char *text;
    uint8_t value;
};

#define WORDS(...)                                                                                 \
    (const struct word[])                                                                          \
    {                                                                                              \
        __VA_ARGS__,                                                                               \
        {                                                                                          \
            NULL, 0                                                                                \
        }                                                                                          \
    }

static const struct word geometries[] = {
    {"1d", WEIR_TEX_1D}, {"a1d", WEIR_TEX_A1D},   {"2d", WEIR_TEX_2D},       {"a2d", WEIR_TEX_A2D},
    {"3d", WEIR_TEX_3D}, {"cube", WEIR_TEX_CUBE}, {"acube", WEIR_TEX_ACUBE}, {NULL, 0},
};
static const struct word components[] = {{"r", 0}, {"g", 1}, {"b", 2}, {"a", 3}, {NULL, 0}};
static const struct word bounds[] = {
    {"trap", WEIR_TEX_TRAP}, {"clamp", WEIR_TEX_CLAMP}, {"zero", WEIR_TEX_ZERO}, {NULL, 0}};
static const struct word reductions[] = {{"add", WEIR_TEX_RED_ADD}, {"min", WEIR_TEX_RED_MIN},
                                         {"max", WEIR_TEX_RED_MAX}, {"and", WEIR_TEX_RED_AND},
                                         {"or", WEIR_TEX_RED_OR},   {NULL, 0}};
static const struct word vectors[] = {{"v2", 2}, {"v4", 4}, {NULL, 0}};
static const struct word queries[] = {
    {"width", WEIR_TEX_QUERY_WIDTH},
    {"height", WEIR_TEX_QUERY_HEIGHT},
    {"depth", WEIR_TEX_QUERY_DEPTH},
    {"channel_data_type", WEIR_TEX_QUERY_TYPE},
    {"channel_order", WEIR_TEX_QUERY_ORDER},
    {"array_size", WEIR_TEX_QUERY_LAYERS},
    {"normalized_coords", WEIR_TEX_QUERY_NORMALIZED},
    {"filter_mode", WEIR_TEX_QUERY_FILTER},
    {"addr_mode_0", WEIR_TEX_QUERY_ADDRESS_0},
    {"addr_mode_1", WEIR_TEX_QUERY_ADDRESS_1},
    {"addr_mode_2", WEIR_TEX_QUERY_ADDRESS_2},
    {"num_mipmap_levels", WEIR_TEX_QUERY_LEVELS},
    {"num_samples", WEIR_TEX_QUERY_SAMPLES},
    {"memory_layout", WEIR_TEX_QUERY_MEMORY_LAYOUT},
    {NULL, 0},
};

/* The rest of a suffix: words are taken from its front. */
struct reader {
    const char *at;
};

static bool take(struct reader *r, const struct word *words, uint8_t *value)
{
    if (*r->at != '.')
        return false;
    for (size_t n = strcspn(r->at + 1, "."); words->text; words++)
        if (strlen(words->text) == n && memcmp(words->text, r->at + 1, n) == 0) {
            *value = words->value;
            r->at += n + 1;
            return true;
        }
    return false;
}

static bool accept(struct reader *r, const char *word)
{
    uint8_t ignored;
    return take(r, WORDS({word, 0}), &ignored);
}

static bool is_object(const struct weir_ptx_operand *o, const char **why)
{
    *why = "form";
    if (o->kind == WEIR_PTX_OPERAND_REG)
        return true;
    if (o->kind == WEIR_PTX_OPERAND_VAR || (o->kind == WEIR_PTX_OPERAND_ADDRESS && o->var)) {
        *why = "texture and surface references";
        return false;
    }
    return o->kind == WEIR_PTX_OPERAND_ADDRESS && o->reg >= 0 && o->imm == 0;
}

static unsigned regs_of(const struct weir_ptx_operand *o)
{
    return o->kind == WEIR_PTX_OPERAND_VECTOR    ? o->count
           : o->kind == WEIR_PTX_OPERAND_ADDRESS ? 0
                                                 : 1;
}

/* Coordinates may have more elements than the geometry needs (a vector of 4 for three). */
static bool set_place(const struct weir_ptx_inst *p, struct texture_form *f, uint8_t geometry,
                      unsigned handle, const char **why)
{
    const struct weir_ptx_operand *o;
    if (p->operand_count <= handle)
        return false;
    o = &p->operands[handle];
    if (!is_object(o, why) || o->kind != WEIR_PTX_OPERAND_ADDRESS)
        return false;
    f->handle = (uint8_t)handle;
    f->layered = weir_tex_is_layered(geometry);
    f->coordinates = (uint8_t)(weir_tex_coordinates(geometry) + f->layered);
    *why = "sampler references or form";
    f->place = o->count == 1 ? o->elements : NULL;
    return f->place && f->place->kind == WEIR_PTX_OPERAND_VECTOR &&
           f->place->count >= f->coordinates;
}

static bool set_more(const struct weir_ptx_inst *p, struct texture_form *f, unsigned count,
                     unsigned rows)
{
    f->more_count = (uint8_t)count;
    f->more_rows = (uint8_t)rows;
    if (p->operand_count != f->handle + 1u + count)
        return false; /* offsets, comparisons */
    for (unsigned k = 0; k < count; k++) {
        f->more[k] = (uint8_t)(f->handle + 1 + k);
        if (regs_of(&p->operands[f->more[k]]) < rows)
            return false;
    }
    return true;
}

static bool read_result(struct reader *r, const struct weir_ptx_inst *p, struct texture_form *f,
                        uint32_t *code)
{
    static const struct word types[] = {{"f32", WEIR_PTX_F32},   {"s32", WEIR_PTX_S32},
                                        {"u32", WEIR_PTX_U32},   {"f16", WEIR_PTX_B16},
                                        {"f16x2", WEIR_PTX_B32}, {NULL, 0}};
    uint8_t n, type;
    bool pair;
    if (!take(r, vectors, &n))
        return false;
    pair = strncmp(r->at, ".f16x2", 6) == 0;
    if (!take(r, types, &type) || n != (pair ? 2 : 4) || p->dest_count != 1 ||
        p->operands[0].kind != WEIR_PTX_OPERAND_VECTOR || p->operands[0].count != n)
        return false;
    f->type = (enum weir_ptx_type)type;
    f->results = n;
    *code |= (uint32_t)(pair                   ? WEIR_TEX_HALF2
                        : type == WEIR_PTX_B16 ? WEIR_TEX_HALF
                                               : WEIR_TEX_WORD)
             << WEIR_TEX_RESULT_AT;
    return true;
}

static bool read_tex(struct reader *r, const struct weir_ptx_inst *p, struct texture_form *f,
                     const char **why)
{
    enum weir_tex_op op = WEIR_TEX_FETCH;
    uint8_t geometry, component = 0;
    unsigned rows;
    if (p->opcode == WEIR_PTX_OP_tld4) {
        op = WEIR_TEX_GATHER;
        if (!take(r, components, &component))
            return false;
    } else if (accept(r, "level")) {
        op = WEIR_TEX_LEVEL;
    } else if (accept(r, "grad")) {
        op = WEIR_TEX_GRAD;
    } else {
        accept(r, "base");
    }
    if (!take(r, geometries, &geometry))
        return false;
    f->code = WEIR_TEX_CODE(op, geometry, component);
    if (!read_result(r, p, f, &f->code))
        return false;
    f->coordinate = WEIR_PTX_S32;
    if (accept(r, "f32")) {
        f->code |= WEIR_TEX_FLOAT;
        f->coordinate = WEIR_PTX_F32;
    } else if (!accept(r, "s32")) {
        return false;
    }
    if (*r->at || !set_place(p, f, geometry, 1, why))
        return false;
    rows = op == WEIR_TEX_GRAD ? weir_tex_coordinates(geometry) : op == WEIR_TEX_LEVEL;
    f->more_type =
        f->coordinate == WEIR_PTX_S32 && op == WEIR_TEX_LEVEL ? WEIR_PTX_S32 : WEIR_PTX_F32;
    return set_more(p, f, op == WEIR_TEX_GRAD ? 2 : op == WEIR_TEX_LEVEL ? 1 : 0, rows);
}

static bool read_query(struct reader *r, const struct weir_ptx_inst *p, struct texture_form *f,
                       const char **why)
{
    uint8_t query;
    bool level = p->opcode == WEIR_PTX_OP_txq && accept(r, "level");
    if (!take(r, queries, &query) || !accept(r, "b32") || *r->at || p->dest_count != 1 ||
        p->operands[0].kind != WEIR_PTX_OPERAND_REG || p->operand_count != 2u + level ||
        !is_object(&p->operands[1], why))
        return false;
    f->code = WEIR_TEX_CODE(WEIR_TEX_QUERY, 0, query) | (level ? WEIR_TEX_HAS_LEVEL : 0);
    f->handle = 1;
    f->results = 1;
    f->type = WEIR_PTX_B32;
    f->more_type = WEIR_PTX_S32;
    return set_more(p, f, level, level);
}

static bool set_element(struct texture_form *f, enum weir_ptx_type t, unsigned count)
{
    unsigned bits = t == WEIR_PTX_NONE ? 0 : weir_ptx_type_bits(t), log = 0;
    if (bits < 8 || bits > 64 || bits * count > 128)
        return false;
    while (8u << log != bits)
        log++;
    f->code |= log << WEIR_TEX_SIZE_AT | count << WEIR_TEX_COUNT_AT;
    f->type = f->more_type = t;
    return true;
}

/* suld.b.2d.v2.b32.clamp; sust likewise. Cache operators are hints. */
static bool read_surface(struct reader *r, const struct weir_ptx_inst *p, struct texture_form *f,
                         const char **why)
{
    static const struct word types[] = {{"b8", WEIR_PTX_B8},
                                        {"b16", WEIR_PTX_B16},
                                        {"b32", WEIR_PTX_B32},
                                        {"b64", WEIR_PTX_B64},
                                        {NULL, 0}};
    bool load = p->opcode == WEIR_PTX_OP_suld;
    uint8_t geometry, count = 1, type, bound = WEIR_TEX_TRAP;
    unsigned parts;
    if (!accept(r, "b") || !take(r, geometries, &geometry) || geometry > WEIR_TEX_3D)
        return false;
    for (const char *const *w = (const char *const[]){"ca", "cg", "cs", "cv", "wb", "wt", NULL}; *w;
         w++)
        accept(r, *w);
    take(r, vectors, &count);
    if (!take(r, types, &type))
        return false;
    take(r, bounds, &bound);
    f->code = WEIR_TEX_CODE(load ? WEIR_TEX_SULD : WEIR_TEX_SUST, geometry, bound);
    f->coordinate = WEIR_PTX_S32;
    if (*r->at || !set_element(f, (enum weir_ptx_type)type, count) ||
        !set_place(p, f, geometry, load, why))
        return false;
    *why = "form";
    parts = regs_of(&p->operands[load ? 0 : 1]);
    if (load)
        f->results = count;
    return parts == count && set_more(p, f, !load, load ? 0 : count);
}

static bool read_reduction(struct reader *r, const struct weir_ptx_inst *p, struct texture_form *f,
                           const char **why)
{
    static const struct word types[] = {{"u32", WEIR_PTX_U32},
                                        {"s32", WEIR_PTX_S32},
                                        {"b32", WEIR_PTX_B32},
                                        {"u64", WEIR_PTX_U64},
                                        {"s64", WEIR_PTX_S64},
                                        {"b64", WEIR_PTX_B64},
                                        {NULL, 0}};
    uint8_t op, geometry, type, bound = WEIR_TEX_TRAP;
    if (!accept(r, "b") || !take(r, reductions, &op) || !take(r, geometries, &geometry) ||
        geometry > WEIR_TEX_3D || !take(r, types, &type))
        return false;
    take(r, bounds, &bound);
    f->code = WEIR_TEX_CODE(WEIR_TEX_SURED, geometry, bound | op << 2);
    if (type == WEIR_PTX_S32 || type == WEIR_PTX_S64)
        f->code |= WEIR_TEX_SIGNED;
    f->coordinate = WEIR_PTX_S32;
    return !*r->at && set_element(f, (enum weir_ptx_type)type, 1) &&
           set_place(p, f, geometry, 0, why) && set_more(p, f, 1, 1);
}

static bool read_is(struct reader *r, const struct weir_ptx_inst *p, struct texture_form *f,
                    const char **why)
{
    uint8_t kind;
    if (!take(r, WORDS({"texref", 0}, {"samplerref", 1}, {"surfref", 2}), &kind) || *r->at ||
        p->operand_count != 2 || p->operands[0].kind != WEIR_PTX_OPERAND_REG ||
        !is_object(&p->operands[1], why))
        return false;
    f->code = WEIR_TEX_CODE(WEIR_TEX_IS, 0, kind);
    f->handle = 1;
    f->results = 1;
    f->type = WEIR_PTX_PRED;
    return true;
}

bool weir_cg_texture_form(const struct weir_ptx_inst *p, struct texture_form *f, const char **why)
{
    struct reader r = {p->suffix ? p->suffix : ""};
    *f = (struct texture_form){.code = 0};
    *why = "form";
    switch (p->opcode) {
    case WEIR_PTX_OP_tex:
    case WEIR_PTX_OP_tld4:
        return read_tex(&r, p, f, why);
    case WEIR_PTX_OP_txq:
    case WEIR_PTX_OP_suq:
        return read_query(&r, p, f, why);
    case WEIR_PTX_OP_suld:
    case WEIR_PTX_OP_sust:
        return read_surface(&r, p, f, why);
    case WEIR_PTX_OP_sured:
        return read_reduction(&r, p, f, why);
    case WEIR_PTX_OP_istypep:
        return read_is(&r, p, f, why);
    default:
        return false;
    }
}
