/* "ld.global.nc.v4.f32" to opcode and modifier fields. Each spelling is decoded once per module
 * and then copied. The same word means different things after different opcodes: those stand in
 * the W_* cases of apply_word.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "ptx/ptx_int.h"

enum word_kind {
    W_TYPE,
    W_ROUND,
    W_CMP,
    W_LOHI,
    W_LOGIC,
    W_SPACE,
    W_SEM,
    W_SCOPE,
    W_VEC,
    W_SUB,
    W_FLAG,
    W_CACHE,
    W_ATOM,
    W_SYNC,
    W_RED,
    W_ARRIVE,
    W_WARP,
    W_GL,
    W_APPROX,
    W_FULL,
    W_UNI,
    W_CCTA,
    W_LR,
    W_TESTP,
    W_PRMT,
    W_VOTE,
    W_IDX,
    W_SHFL,
    W_LEVEL,
    W_PRED,
};

#define FLAG(name) W_FLAG, (uint8_t)offsetof(struct weir_ptx_inst, name)

/* Types are looked up by ptx_type_by_name. */
static const struct word {
    const char *name;
    uint8_t kind, value;
} words[] = {
    {"rn", W_ROUND, WEIR_PTX_RN},
    {"rz", W_ROUND, WEIR_PTX_RZ},
    {"rm", W_ROUND, WEIR_PTX_RM},
    {"rp", W_ROUND, WEIR_PTX_RP},
    {"rna", W_ROUND, WEIR_PTX_RNA},
    {"rs", W_ROUND, WEIR_PTX_RS},
    {"rni", W_ROUND, WEIR_PTX_RNI},
    {"rzi", W_ROUND, WEIR_PTX_RZI},
    {"rmi", W_ROUND, WEIR_PTX_RMI},
    {"rpi", W_ROUND, WEIR_PTX_RPI},
    {"eq", W_CMP, WEIR_PTX_EQ},
    {"ne", W_CMP, WEIR_PTX_NE},
    {"lt", W_CMP, WEIR_PTX_LT},
    {"le", W_CMP, WEIR_PTX_LE},
    {"gt", W_CMP, WEIR_PTX_GT},
    {"ge", W_CMP, WEIR_PTX_GE},
    {"ls", W_CMP, WEIR_PTX_LS},
    {"hs", W_CMP, WEIR_PTX_HS},
    {"equ", W_CMP, WEIR_PTX_EQU},
    {"neu", W_CMP, WEIR_PTX_NEU},
    {"ltu", W_CMP, WEIR_PTX_LTU},
    {"leu", W_CMP, WEIR_PTX_LEU},
    {"gtu", W_CMP, WEIR_PTX_GTU},
    {"geu", W_CMP, WEIR_PTX_GEU},
    {"num", W_CMP, WEIR_PTX_NUM},
    {"nan", W_CMP, WEIR_PTX_NAN},
    {"lo", W_LOHI, WEIR_PTX_LO},
    {"hi", W_LOHI, WEIR_PTX_HI},
    {"and", W_LOGIC, WEIR_PTX_BOOL_AND},
    {"or", W_LOGIC, WEIR_PTX_BOOL_OR},
    {"xor", W_LOGIC, WEIR_PTX_BOOL_XOR},
    {"const", W_SPACE, WEIR_PTX_CONST},
    {"global", W_SPACE, WEIR_PTX_GLOBAL},
    {"local", W_SPACE, WEIR_PTX_LOCAL},
    {"param", W_SPACE, WEIR_PTX_PARAM},
    {"shared", W_SPACE, WEIR_PTX_SHARED},
    {"shared::cta", W_SPACE, WEIR_PTX_SHARED},
    {"shared::cluster", W_SPACE, WEIR_PTX_SHARED_CLUSTER},
    {"param::entry", W_SPACE, WEIR_PTX_PARAM},
    {"param::func", W_SPACE, WEIR_PTX_PARAM},
    {"generic", W_SPACE, WEIR_PTX_GENERIC},
    {"weak", W_SEM, WEIR_PTX_WEAK},
    {"volatile", W_SEM, WEIR_PTX_VOLATILE},
    {"relaxed", W_SEM, WEIR_PTX_RELAXED},
    {"acquire", W_SEM, WEIR_PTX_ACQUIRE},
    {"release", W_SEM, WEIR_PTX_RELEASE},
    {"acq_rel", W_SEM, WEIR_PTX_ACQ_REL},
    {"sc", W_SEM, WEIR_PTX_SC},
    {"mmio", W_SEM, WEIR_PTX_MMIO},
    {"cta", W_CCTA, WEIR_PTX_SCOPE_CTA},
    {"cluster", W_SCOPE, WEIR_PTX_SCOPE_CLUSTER},
    {"gpu", W_SCOPE, WEIR_PTX_SCOPE_GPU},
    {"sys", W_SCOPE, WEIR_PTX_SCOPE_SYS},
    {"gl", W_GL, 0},
    {"v2", W_VEC, 2},
    {"v4", W_VEC, 4},
    {"v8", W_VEC, 8},
    {"wide", W_SUB, WEIR_PTX_WIDE},
    {"to", W_SUB, WEIR_PTX_SUB_TO},
    {"popc", W_ATOM, WEIR_PTX_SUB_POPC},
    {"add", W_ATOM, WEIR_PTX_SUB_ADD},
    {"inc", W_ATOM, WEIR_PTX_SUB_INC},
    {"dec", W_ATOM, WEIR_PTX_SUB_DEC},
    {"min", W_ATOM, WEIR_PTX_SUB_MIN},
    {"max", W_ATOM, WEIR_PTX_SUB_MAX},
    {"exch", W_ATOM, WEIR_PTX_SUB_EXCH},
    {"cas", W_ATOM, WEIR_PTX_SUB_CAS},
    {"up", W_SHFL, WEIR_PTX_SUB_UP},
    {"down", W_SHFL, WEIR_PTX_SUB_DOWN},
    {"bfly", W_SHFL, WEIR_PTX_SUB_BFLY},
    {"idx", W_IDX, WEIR_PTX_SUB_IDX},
    {"all", W_VOTE, WEIR_PTX_SUB_ALL},
    {"any", W_VOTE, WEIR_PTX_SUB_ANY},
    {"ballot", W_VOTE, WEIR_PTX_SUB_BALLOT},
    {"uni", W_UNI, 0},
    {"sync", W_SYNC, 0},
    {"red", W_RED, 0},
    {"arrive", W_ARRIVE, 0},
    {"warp", W_WARP, 0},
    {"l", W_LR, WEIR_PTX_SUB_L},
    {"r", W_LR, WEIR_PTX_SUB_R},
    {"full", W_FULL, 0},
    {"approx", W_APPROX, 0},
    {"f4e", W_PRMT, WEIR_PTX_SUB_F4E},
    {"b4e", W_PRMT, WEIR_PTX_SUB_B4E},
    {"rc8", W_PRMT, WEIR_PTX_SUB_RC8},
    {"ecl", W_PRMT, WEIR_PTX_SUB_ECL},
    {"ecr", W_PRMT, WEIR_PTX_SUB_ECR},
    {"rc16", W_PRMT, WEIR_PTX_SUB_RC16},
    {"finite", W_TESTP, WEIR_PTX_SUB_FINITE},
    {"infinite", W_TESTP, WEIR_PTX_SUB_INFINITE},
    {"number", W_TESTP, WEIR_PTX_SUB_NUMBER},
    {"notanumber", W_TESTP, WEIR_PTX_SUB_NOTANUMBER},
    {"normal", W_TESTP, WEIR_PTX_SUB_NORMAL},
    {"subnormal", W_TESTP, WEIR_PTX_SUB_SUBNORMAL},
    {"ftz", FLAG(ftz)},
    {"sat", FLAG(sat)},
    {"cc", FLAG(cc)},
    {"relu", FLAG(relu)},
    {"NaN", FLAG(nan)},
    {"xorsign", FLAG(xorsign)},
    {"abs", FLAG(abs)},
    {"nc", FLAG(nc)},
    {"aligned", FLAG(aligned)},
    {"noftz", FLAG(noftz)},
    {"clamp", FLAG(clamp)},
    {"wrap", FLAG(wrap)},
    {"shiftamt", FLAG(shiftamt)},
    {"satfinite", FLAG(satfinite)},
    {"ca", W_CACHE, 0},
    {"cg", W_CACHE, 0},
    {"cs", W_CACHE, 0},
    {"lu", W_CACHE, 0},
    {"cv", W_CACHE, 0},
    {"wb", W_CACHE, 0},
    {"wt", W_CACHE, 0},
    {"L1", W_LEVEL, 0},
    {"L2", W_LEVEL, 0},
};

static const struct word *find_word(struct ptx_str s)
{
    for (size_t i = 0; i < WEIR_ARRAY_SIZE(words); i++) {
        if (words[i].name[0] == s.s[0] && ptx_is(s, words[i].name))
            return &words[i];
    }
    return NULL;
}

static bool is_memory_op(unsigned op)
{
    return op == WEIR_PTX_OP_ld || op == WEIR_PTX_OP_st || op == WEIR_PTX_OP_ldu ||
           op == WEIR_PTX_OP_atom || op == WEIR_PTX_OP_red;
}

static bool is_level_op(unsigned op)
{
    return op == WEIR_PTX_OP_prefetch || op == WEIR_PTX_OP_prefetchu ||
           op == WEIR_PTX_OP_applypriority || op == WEIR_PTX_OP_discard;
}

/* Takes the word as the mode; the second one is sub2, a third one is unknown. */
static bool set_sub(struct weir_ptx_inst *i, unsigned sub)
{
    if (i->sub == WEIR_PTX_SUB_NONE)
        i->sub = (uint8_t)sub;
    else if (i->sub2 == WEIR_PTX_SUB_NONE)
        i->sub2 = (uint8_t)sub;
    else
        return false;
    return true;
}

static bool is_bar(const struct weir_ptx_inst *i)
{
    return i->opcode == WEIR_PTX_OP_bar || i->opcode == WEIR_PTX_OP_barrier;
}

/* Words whose meaning depends on the opcode. False: unknown here. */
/* dispatch */
static bool apply_word_by_opcode(struct weir_ptx_inst *i, const struct word *w)
{
    unsigned op = i->opcode;
    bool compare = op == WEIR_PTX_OP_set || op == WEIR_PTX_OP_setp;

    switch (w->kind) {
    case W_LOHI:
        if (compare)
            i->cmp = w->value;
        else
            return set_sub(i, w->value == WEIR_PTX_LO ? WEIR_PTX_LO_ : WEIR_PTX_HI_);
        return true;
    case W_LOGIC:
        if (compare || op == WEIR_PTX_OP_lop3) {
            i->boolop = w->value;
            return true;
        }
        return set_sub(i, WEIR_PTX_SUB_AND + w->value - WEIR_PTX_BOOL_AND);
    case W_SYNC:
        if (is_bar(i) && i->sub == WEIR_PTX_SUB_NONE)
            i->sub = WEIR_PTX_SUB_SYNC;
        else
            i->async_sync = true;
        return true;
    case W_UNI:
        if (op == WEIR_PTX_OP_vote)
            return set_sub(i, WEIR_PTX_SUB_UNI);
        i->uni = true;
        return op == WEIR_PTX_OP_bra || op == WEIR_PTX_OP_brx || op == WEIR_PTX_OP_call ||
               op == WEIR_PTX_OP_ret;
    case W_RED:
        return is_bar(i) && set_sub(i, WEIR_PTX_SUB_RED);
    case W_ARRIVE:
        return is_bar(i) && set_sub(i, WEIR_PTX_SUB_ARRIVE);
    case W_WARP:
        return is_bar(i) && set_sub(i, WEIR_PTX_SUB_WARP);
    case W_CCTA:
        i->scope = w->value;
        return op != WEIR_PTX_OP_membar || set_sub(i, WEIR_PTX_SUB_CTA);
    case W_GL:
        i->scope = WEIR_PTX_SCOPE_GPU;
        return op == WEIR_PTX_OP_membar && set_sub(i, WEIR_PTX_SUB_GL);
    case W_SCOPE:
        i->scope = w->value;
        if (op == WEIR_PTX_OP_membar)
            return w->value == WEIR_PTX_SCOPE_SYS && set_sub(i, WEIR_PTX_SUB_SYS);
        return !is_bar(i); /* barrier.cluster.* is another thing */
    case W_APPROX:
        i->approx = true;
        return set_sub(i, WEIR_PTX_SUB_APPROX);
    case W_FULL:
        i->full = true;
        return set_sub(i, WEIR_PTX_SUB_FULL);
    case W_ATOM:
        return set_sub(i, w->value);
    case W_LR:
        return op == WEIR_PTX_OP_shf && set_sub(i, w->value);
    case W_TESTP:
        return op == WEIR_PTX_OP_testp && set_sub(i, w->value);
    case W_PRMT:
        return op == WEIR_PTX_OP_prmt && set_sub(i, w->value);
    case W_SHFL:
        return op == WEIR_PTX_OP_shfl && set_sub(i, w->value);
    case W_IDX:
        return (op == WEIR_PTX_OP_shfl || op == WEIR_PTX_OP_brx) && set_sub(i, w->value);
    case W_VOTE:
        return (op == WEIR_PTX_OP_vote || op == WEIR_PTX_OP_match) && set_sub(i, w->value);
    case W_CACHE:
        return is_memory_op(op);
    case W_LEVEL:
        return is_level_op(op);
    default:
        return false;
    }
}

static bool apply_word(struct weir_ptx_inst *i, const struct word *w, bool *saw_space)
{
    switch (w->kind) {
    case W_ROUND:
        i->rounding = w->value;
        return true;
    case W_CMP:
        i->cmp = w->value;
        return i->opcode == WEIR_PTX_OP_set || i->opcode == WEIR_PTX_OP_setp;
    case W_SPACE:
        if (*saw_space)
            return false; /* cp.async.shared.global: two spaces */
        *saw_space = true;
        i->space = w->value;
        return true;
    case W_SEM:
        i->sem = w->value;
        return true;
    case W_VEC:
        i->vec = w->value;
        return true;
    case W_SUB:
        return set_sub(i, w->value);
    case W_FLAG:
        *((bool *)i + w->value) = true;
        return true;
    default:
        return apply_word_by_opcode(i, w);
    }
}

static bool apply_type(struct weir_ptx_inst *i, enum weir_ptx_type t)
{
    for (int k = 0; k < 3; k++) {
        if (i->type[k] == WEIR_PTX_NONE) {
            i->type[k] = (uint8_t)t;
            return true;
        }
    }
    return false;
}

/* Cache levels, eviction priorities, prefetch sizes: hints without a meaning here, except that one
 * adds an operand. */
static bool apply_hint(struct weir_ptx_inst *i, struct ptx_str s)
{
    if (s.n < 5 || s.s[0] != 'L' || (s.s[1] != '1' && s.s[1] != '2') || s.s[2] != ':')
        return false;
    if (ptx_is(s, "L2::cache_hint"))
        i->cache_hint = true;
    return is_memory_op(i->opcode) || is_level_op(i->opcode);
}

static void apply_defaults(struct weir_ptx_inst *i, bool saw_sem, bool saw_scope)
{
    bool atomic = i->opcode == WEIR_PTX_OP_atom || i->opcode == WEIR_PTX_OP_red;

    if (atomic && !saw_sem)
        i->sem = WEIR_PTX_RELAXED;
    if (i->opcode == WEIR_PTX_OP_fence && !saw_sem)
        i->sem = WEIR_PTX_ACQ_REL;
    if (atomic && !saw_scope)
        i->scope = WEIR_PTX_SCOPE_GPU;
}

static bool decode_modifiers(struct weir_ptx_inst *i, const char *s, const char *end)
{
    bool known = true, saw_space = false, saw_sem = false;

    while (s < end) {
        const char *dot = memchr(s + 1, '.', (size_t)(end - s - 1));
        struct ptx_str word = {s + 1, (size_t)((dot ? dot : end) - s - 1)};
        enum weir_ptx_type t;
        const struct word *w;
        bool ok;

        if (word.n == 0)
            return false;
        t = ptx_type_by_name(word);
        if (t != WEIR_PTX_NONE && t != WEIR_PTX_OPAQUE) {
            ok = apply_type(i, t);
        } else if ((w = find_word(word)) != NULL) {
            ok = apply_word(i, w, &saw_space);
            saw_sem |= w->kind == W_SEM;
        } else {
            ok = apply_hint(i, word);
        }
        known &= ok;
        s = dot ? dot : end;
    }
    if (!known)
        i->sub = WEIR_PTX_SUB_OTHER;
    apply_defaults(i, saw_sem, i->scope != WEIR_PTX_SCOPE_NONE);
    return true;
}

static int find_opcode(struct ptx_str s)
{
    for (int op = 0; op < WEIR_PTX_OP_COUNT; op++) {
        const char *name = weir_ptx_opcode_name((enum weir_ptx_opcode)op);

        if (name[0] == s.s[0] && ptx_is(s, name))
            return op;
    }
    return -1;
}

/* -1: depends on the form, see set_dest_count in inst.c. */
static const int8_t opcode_dests[] = {
#define WEIR_PTX_OP(name, dests, ...) dests,
#include "ptx/ptx_ops.def"
#undef WEIR_PTX_OP
};

const struct weir_ptx_inst *ptx_mnemonic(struct ptx_parser *p, struct ptx_str text)
{
    struct weir_ptx_inst *i = weir_strmap_get(&p->mnemonics, text.s, text.n);
    const char *copy, *dot;
    int op;

    if (i)
        return i;
    dot = memchr(text.s, '.', text.n);
    op = find_opcode((struct ptx_str){text.s, dot ? (size_t)(dot - text.s) : text.n});
    if (op < 0) {
        ptx_fail(p, "unknown instruction '%.*s'", (int)WEIR_MIN(text.n, (size_t)100), text.s);
        return NULL;
    }
    i = PTX_NEW(p, struct weir_ptx_inst);
    copy = ptx_copy_str(p, text);
    if (!i || !copy)
        return NULL;
    i->opcode = (uint16_t)op;
    i->dest_count = (uint8_t)WEIR_MAX(opcode_dests[op], 0);
    i->suffix = dot ? copy + (dot - text.s) : "";
    i->guard = -1;
    if (dot && !decode_modifiers(i, i->suffix, copy + text.n)) {
        ptx_fail(p, "an empty modifier in '%s'", copy);
        return NULL;
    }
    if (!weir_strmap_put(&p->mnemonics, copy, text.n, i)) {
        ptx_fail_memory(p);
        return NULL;
    }
    return i;
}
