/* See forms_bulk.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "codegen/forms_bulk.h"

#include <string.h>

struct word {
    const char *text;
    uint8_t value, type; /* of types: weir_bulk_type and weir_ptx_type */
};

static const struct word spaces[] = {{"global", WEIR_PTX_GLOBAL, 0},
                                     {"shared::cta", WEIR_PTX_SHARED, 0},
                                     {"shared::cluster", WEIR_PTX_SHARED_CLUSTER, 0},
                                     {NULL, 0, 0}};
static const struct word operations[] = {
    {"add", WEIR_BULK_ADD, 0}, {"min", WEIR_BULK_MIN, 0}, {"max", WEIR_BULK_MAX, 0},
    {"inc", WEIR_BULK_INC, 0}, {"dec", WEIR_BULK_DEC, 0}, {"and", WEIR_BULK_AND, 0},
    {"or", WEIR_BULK_OR, 0},   {"xor", WEIR_BULK_XOR, 0}, {NULL, 0, 0}};
static const struct word types[] = {{"u32", WEIR_BULK_U32, WEIR_PTX_U32},
                                    {"s32", WEIR_BULK_S32, WEIR_PTX_S32},
                                    {"b32", WEIR_BULK_U32, WEIR_PTX_B32},
                                    {"u64", WEIR_BULK_U64, WEIR_PTX_U64},
                                    {"s64", WEIR_BULK_S64, WEIR_PTX_S64},
                                    {"b64", WEIR_BULK_U64, WEIR_PTX_B64},
                                    {"f16", WEIR_BULK_F16, WEIR_PTX_F16},
                                    {"bf16", WEIR_BULK_BF16, WEIR_PTX_BF16},
                                    {"f32", WEIR_BULK_F32, WEIR_PTX_F32},
                                    {"f64", WEIR_BULK_F64, WEIR_PTX_F64},
                                    {NULL, 0, 0}};
static const struct word vectors[] = {{"v2", 2, 0}, {"v4", 4, 0}, {NULL, 0, 0}};

static bool take(const char **at, const struct word *words, struct word *out)
{
    if (**at != '.')
        return false;
    for (; words->text; words++) {
        size_t n = strlen(words->text);
        if (strncmp(*at + 1, words->text, n) == 0 && ((*at)[n + 1] == '.' || !(*at)[n + 1])) {
            *out = *words;
            *at += n + 1;
            return true;
        }
    }
    return false;
}

static bool accept(const char **at, const char *text)
{
    struct word ignored;
    return take(at, (const struct word[]){{text, 0, 0}, {NULL, 0, 0}}, &ignored);
}

bool weir_cg_is_bulk(const struct weir_ptx_inst *p)
{
    const char *s = p->suffix ? p->suffix : "";
    switch (p->opcode) {
    case WEIR_PTX_OP_cp:
        return strncmp(s, ".async.bulk.", 12) == 0 || strncmp(s, ".reduce.async.bulk.", 19) == 0;
    case WEIR_PTX_OP_st:
    case WEIR_PTX_OP_red:
        return strncmp(s, ".async.", 7) == 0;
    default:
        return false;
    }
}

static bool is_address(const struct weir_ptx_inst *p, unsigned k)
{
    return k < p->operand_count && p->operands[k].kind == WEIR_PTX_OPERAND_ADDRESS &&
           !p->operands[k].elements;
}

/* Which operations a type has. */
static bool operation_ok(uint32_t op, uint32_t type, bool global)
{
    bool is_float = type >= WEIR_BULK_F16, half = type == WEIR_BULK_F16 || type == WEIR_BULK_BF16;
    switch (op) {
    case WEIR_BULK_ADD:
        return !is_float || global;
    case WEIR_BULK_MIN:
    case WEIR_BULK_MAX:
        return !is_float || (half && global);
    case WEIR_BULK_INC:
    case WEIR_BULK_DEC:
        return type == WEIR_BULK_U32;
    default:
        return !is_float;
    }
}

static bool read_operation(const char **s, struct bulk_form *f, bool global)
{
    struct word op, type;
    if (!take(s, operations, &op))
        return false;
    accept(s, "noftz");
    if (!take(s, types, &type) || !operation_ok(op.value, type.value, global))
        return false;
    f->code |= WEIR_BULK_CODE(op.value, type.value);
    f->element = (enum weir_ptx_type)type.type;
    return true;
}

/* [to], [from], bytes {, [barrier] {, mask}} {, policy} */
static bool copy_operands(const struct weir_ptx_inst *p, struct bulk_form *f, bool completes)
{
    unsigned n = 3;
    if (!is_address(p, 0) || !is_address(p, 1) || p->operand_count < 3)
        return false;
    if (completes) {
        f->code |= WEIR_BULK_COMPLETES;
        f->barrier = (int8_t)n;
        if (!is_address(p, n++))
            return false;
    }
    if (f->code & WEIR_BULK_MANY)
        f->mask = (int8_t)n++;
    return p->operand_count == n + p->cache_hint;
}

static bool read_copy(const char *s, const struct weir_ptx_inst *p, struct bulk_form *f)
{
    bool reduces = accept(&s, "reduce"), completes, global;
    struct word to, from;
    if (!accept(&s, "async") || !accept(&s, "bulk"))
        return false;
    f->nothing =
        !reduces && (strcmp(s, ".commit_group") == 0 || strncmp(s, ".wait_group", 11) == 0 ||
                     strncmp(s, ".prefetch.L2.global", 19) == 0);
    if (f->nothing)
        return true;
    if (!take(&s, spaces, &to) || !take(&s, spaces, &from))
        return false;
    global = to.value == WEIR_PTX_GLOBAL;
    completes = accept(&s, "mbarrier::complete_tx::bytes");
    if ((!completes && !accept(&s, "bulk_group")) || completes == global ||
        from.value == WEIR_PTX_SHARED_CLUSTER ||
        (from.value == WEIR_PTX_GLOBAL && (global || reduces)))
        return false;
    if (accept(&s, "multicast::cluster")) {
        if (from.value != WEIR_PTX_GLOBAL || to.value != WEIR_PTX_SHARED_CLUSTER)
            return false;
        f->code |= WEIR_BULK_MANY;
    }
    accept(&s, "L2::cache_hint");
    if (reduces && !read_operation(&s, f, global))
        return false;
    f->to_space = to.value;
    f->from_space = from.value;
    f->code |= (global ? 0 : WEIR_BULK_TO_SHARED) |
               (from.value == WEIR_PTX_GLOBAL ? 0 : WEIR_BULK_FROM_SHARED);
    return !*s && copy_operands(p, f, completes);
}

/* st.async{.weak}{.shared::cluster}.mbarrier::complete_tx::bytes{.v2}.b32 [to], data, [barrier];
 * red.async.relaxed.cluster... likewise */
static bool read_store(const char *s, const struct weir_ptx_inst *p, struct bulk_form *f)
{
    bool reduces = p->opcode == WEIR_PTX_OP_red;
    struct word vector = {NULL, 1, 0}, type;
    const struct weir_ptx_operand *data;
    accept(&s, "async");
    if (reduces && (!accept(&s, "relaxed") || !accept(&s, "cluster")))
        return false;
    if (!reduces)
        accept(&s, "weak");
    accept(&s, "shared::cluster");
    if (!accept(&s, "mbarrier::complete_tx::bytes"))
        return false;
    f->to_space = WEIR_PTX_SHARED_CLUSTER;
    f->barrier = 2;
    if (reduces) {
        if (!read_operation(&s, f, false))
            return false;
    } else {
        take(&s, vectors, &vector);
        if (!take(&s, types, &type) || type.value == WEIR_BULK_F16 || type.value == WEIR_BULK_BF16)
            return false;
        f->code |= WEIR_BULK_CODE(WEIR_BULK_SET, type.value);
        f->element = (enum weir_ptx_type)type.type;
    }
    f->code |=
        WEIR_BULK_TO_SHARED | WEIR_BULK_COMPLETES | (uint32_t)vector.value << WEIR_BULK_DATA_AT;
    if (*s || p->operand_count != 3 || !is_address(p, 0) || !is_address(p, 2))
        return false;
    data = &p->operands[1];
    return data->kind == WEIR_PTX_OPERAND_VECTOR ? data->count == vector.value : vector.value == 1;
}

bool weir_cg_bulk_form(const struct weir_ptx_inst *p, struct bulk_form *f)
{
    *f = (struct bulk_form){.barrier = -1, .mask = -1};
    return p->opcode == WEIR_PTX_OP_cp ? read_copy(p->suffix, p, f) : read_store(p->suffix, p, f);
}
