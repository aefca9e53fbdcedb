/* Register pressure by liveness: the figure that cudaFuncGetAttributes and the occupancy calls
 * show. A real compiler would find another number; this one is of the right size, grows with the
 * kernel, and is the same on every machine.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/bits.h"
#include "codegen/codegen_int.h"

#define REGISTERS_MAX  255
#define REGISTERS_MIN  8 /* no kernel is said to use fewer */
#define REGISTERS_BASE 2 /* addresses and temporaries of the instructions themselves */
#define MEMORY_MAX     ((size_t)64 << 20)

struct block {
    size_t first, end; /* instructions */
    size_t next[2];    /* blocks, SIZE_MAX = none */
    bool any_label;    /* indexed branch: every labelled block follows */
};

struct pressure {
    const struct weir_ptx_function *f;
    size_t words; /* of a register set */
    struct block *blocks;
    size_t block_count;
    size_t *block_of;  /* instruction -> block */
    bool *labelled;    /* block */
    uint64_t *live_in; /* blocks x words */
    uint64_t *live;    /* scratch set */
};

struct walk {
    const struct weir_ptx_function *f;
    uint64_t *live;
    bool dests; /* first the destinations go, then the sources come */
    bool keep;  /* a guarded instruction does not end the old value's life */
};

static void set_bit(uint64_t *set, size_t i, bool on)
{
    if (on)
        weir_bit_put(set, i);
    else
        set[i / 64] &= ~(UINT64_C(1) << (i % 64));
}

static void walk_operand(void *ctx, const struct weir_ptx_operand *o, bool is_dest)
{
    struct walk *w = ctx;
    bool is_address = o->kind == WEIR_PTX_OPERAND_ADDRESS;
    bool is_value = o->kind == WEIR_PTX_OPERAND_REG || is_address;

    if (is_value && o->reg >= 0 && (size_t)o->reg < w->f->reg_count) {
        bool writes = is_dest && !is_address && w->f->regs[o->reg].vector == 0;

        if (w->dests && writes && !w->keep)
            set_bit(w->live, (size_t)o->reg, false);
        else if (!w->dests && !writes)
            set_bit(w->live, (size_t)o->reg, true);
    }
    if (w->dests && is_dest && !w->keep && o->pred_reg >= 0 &&
        (size_t)o->pred_reg < w->f->reg_count && o->kind != WEIR_PTX_OPERAND_ADDRESS)
        set_bit(w->live, (size_t)o->pred_reg, false);
}

static void step_back(const struct weir_ptx_function *f, const struct weir_ptx_inst *inst,
                      uint64_t *live)
{
    struct walk w = {.f = f, .live = live, .dests = true, .keep = inst->guard >= 0};

    weir_ptx_inst_visit(inst, walk_operand, &w);
    w.dests = false;
    weir_ptx_inst_visit(inst, walk_operand, &w);
    if (inst->guard >= 0 && (size_t)inst->guard < f->reg_count)
        set_bit(live, (size_t)inst->guard, true);
}

static bool ends_block(const struct weir_ptx_inst *i)
{
    return i->opcode == WEIR_PTX_OP_bra || i->opcode == WEIR_PTX_OP_brx ||
           i->opcode == WEIR_PTX_OP_ret || i->opcode == WEIR_PTX_OP_exit ||
           i->opcode == WEIR_PTX_OP_trap || i->opcode == WEIR_PTX_OP_brkpt;
}

static const struct weir_ptx_label *target_label(const struct weir_ptx_inst *i)
{
    for (unsigned n = 0; n < i->operand_count; n++) {
        if (i->operands[n].kind == WEIR_PTX_OPERAND_LABEL)
            return i->operands[n].label;
    }
    return NULL;
}

static bool make_blocks(struct pressure *p)
{
    const struct weir_ptx_function *f = p->f;
    bool *leader = weir_calloc(f->inst_count + 1, sizeof *leader);

    if (!leader)
        return false;
    leader[0] = true;
    for (size_t i = 0; i < f->label_count; i++) {
        if (f->labels[i]->inst <= f->inst_count)
            leader[f->labels[i]->inst] = true;
    }
    for (size_t i = 0; i < f->inst_count; i++) {
        if (ends_block(&f->insts[i]))
            leader[i + 1] = true;
    }
    for (size_t i = 0; i < f->inst_count; i++)
        p->block_count += leader[i];
    p->blocks = weir_calloc(p->block_count, sizeof *p->blocks);
    p->block_of = weir_calloc(f->inst_count, sizeof *p->block_of);
    p->labelled = weir_calloc(p->block_count, sizeof *p->labelled);
    if (p->blocks && p->block_of && p->labelled) {
        size_t b = SIZE_MAX;

        for (size_t i = 0; i < f->inst_count; i++) {
            if (leader[i])
                p->blocks[++b].first = i;
            p->blocks[b].end = i + 1;
            p->block_of[i] = b;
        }
    }
    weir_free(leader);
    return p->blocks && p->block_of && p->labelled;
}

static void link_blocks(struct pressure *p)
{
    const struct weir_ptx_function *f = p->f;

    for (size_t i = 0; i < f->label_count; i++) {
        if (f->labels[i]->inst < f->inst_count)
            p->labelled[p->block_of[f->labels[i]->inst]] = true;
    }
    for (size_t b = 0; b < p->block_count; b++) {
        struct block *k = &p->blocks[b];
        const struct weir_ptx_inst *last = &f->insts[k->end - 1];
        const struct weir_ptx_label *label =
            last->opcode == WEIR_PTX_OP_bra ? target_label(last) : NULL;
        bool falls = !ends_block(last) || last->guard >= 0;

        k->next[0] = falls && b + 1 < p->block_count ? b + 1 : SIZE_MAX;
        k->next[1] = label && label->inst < f->inst_count ? p->block_of[label->inst] : SIZE_MAX;
        k->any_label = last->opcode == WEIR_PTX_OP_brx;
    }
}

static void add_live_in(struct pressure *p, size_t b)
{
    for (size_t w = 0; w < p->words; w++)
        p->live[w] |= p->live_in[b * p->words + w];
}

static void live_out(struct pressure *p, const struct block *k)
{
    memset(p->live, 0, p->words * sizeof *p->live);
    for (int n = 0; n < 2; n++) {
        if (k->next[n] != SIZE_MAX)
            add_live_in(p, k->next[n]);
    }
    for (size_t b = 0; k->any_label && b < p->block_count; b++) {
        if (p->labelled[b])
            add_live_in(p, b);
    }
}

static void solve(struct pressure *p)
{
    bool changed = true;

    /* Backwards over the text, a few rounds; the cap bounds hostile graphs, the figure is an
     * estimate anyway. */
    for (int round = 0; changed && round < 32; round++) {
        changed = false;
        for (size_t b = p->block_count; b-- > 0;) {
            struct block *k = &p->blocks[b];

            live_out(p, k);
            for (size_t i = k->end; i-- > k->first;)
                step_back(p->f, &p->f->insts[i], p->live);
            if (memcmp(p->live, p->live_in + b * p->words, p->words * sizeof *p->live) != 0) {
                memcpy(p->live_in + b * p->words, p->live, p->words * sizeof *p->live);
                changed = true;
            }
        }
    }
}

static int count_live(const struct pressure *p)
{
    int sum = 0;

    for (size_t w = 0; w < p->words; w++) {
        for (uint64_t bits = p->live[w]; bits; bits &= bits - 1) {
            const struct weir_ptx_reg *r = &p->f->regs[w * 64 + (size_t)__builtin_ctzll(bits)];
            unsigned n = weir_ptx_type_bits((enum weir_ptx_type)r->type);

            if (n > 1)
                sum += (int)((n + 31) / 32 * (r->vector ? r->vector : 1u));
        }
    }
    return sum;
}

static int widest(struct pressure *p)
{
    int most = 0;

    for (size_t b = 0; b < p->block_count; b++) {
        struct block *k = &p->blocks[b];

        live_out(p, k);
        for (size_t i = k->end; i-- > k->first;) {
            int now;

            step_back(p->f, &p->f->insts[i], p->live);
            now = count_live(p);
            most = WEIR_MAX(most, now);
        }
    }
    return most;
}

int weir_cg_pressure(const struct weir_ptx_function *f)
{
    struct pressure p = {.f = f, .words = (f->reg_count + 63) / 64};
    int most = REGISTERS_MAX;

    if (f->inst_count == 0 || f->reg_count == 0)
        return REGISTERS_MIN;
    if (make_blocks(&p) && p.block_count <= MEMORY_MAX / 8 / p.words) {
        p.live_in = weir_calloc(p.block_count * p.words, sizeof *p.live_in);
        p.live = weir_calloc(p.words, sizeof *p.live);
        if (p.live_in && p.live) {
            link_blocks(&p);
            solve(&p);
            most = WEIR_MIN(REGISTERS_MAX, WEIR_MAX(REGISTERS_MIN, REGISTERS_BASE + widest(&p)));
        }
    }
    weir_free(p.blocks);
    weir_free(p.block_of);
    weir_free(p.labelled);
    weir_free(p.live_in);
    weir_free(p.live);
    return most;
}
