/* Separately compiled modules to one, by symbol: what `extern` names in one unit is what another
 * defines. The units stay whole in memory (their arenas hold all parts); the linked module has
 * lists of its own, and each use of a declaration, or of a copy of something that several units
 * define weakly, is pointed to the one that stays. Names that are private to a unit may repeat.
 * SPDX-License-Identifier: Apache-2.0 */
#include "ptx/link.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"

#define MAX_ALIASES 64                  /* that lead from one to the next */
#define MAX_SHARED  ((uint64_t)1 << 30) /* as the parser's own bound */

/* The later ones win. */
enum strength { DECLARED, COMMON, WEAK, STRONG };

/* One name that units may share. */
struct symbol {
    struct weir_ptx_var *var; /* one of the two is set */
    struct weir_ptx_function *function;
    size_t unit;
    enum strength strength;
};

/* One unit while it is linked: what becomes of its variables and functions, by their index there.
 */
struct unit {
    struct weir_ptx_module *m;
    const char *name;
    struct symbol **var_symbols, **function_symbols; /* NULL: private to the unit */
    struct weir_ptx_function **functions;            /* what each stands for in the end */
    int first_file;
};

struct linker {
    struct unit *units;
    size_t count;
    struct weir_arena arena; /* of symbols and tables: until the link is done */
    struct weir_strmap names;
    struct weir_ptx_module *out;
    WEIR_VEC(struct weir_ptx_var *) vars;
    WEIR_VEC(struct weir_ptx_function *) functions;
    WEIR_VEC(const char *) files;
    struct weir_ptx_error *error;
    enum weir_err code;
};

static bool fail(struct linker *l, enum weir_err code, const char *what, const char *name,
                 size_t unit, size_t other)
{
    l->code = code;
    snprintf(l->error->message, sizeof l->error->message, "%.44s %.70s (in %.36s and %.36s)", what,
             name, l->units[unit].name, l->units[other].name);
    return false;
}

static bool fail_memory(struct linker *l)
{
    l->code = WEIR_ERR_MEMORY_ALLOCATION;
    snprintf(l->error->message, sizeof l->error->message, "out of memory");
    return false;
}

static void *make(struct linker *l, size_t bytes)
{
    void *p = weir_arena_alloc(&l->arena, bytes + 1);

    if (!p)
        fail_memory(l);
    return p;
}

/* ---- choosing ---- */

static bool is_global_var(const struct weir_ptx_var *v)
{
    /* `extern .shared x[]` is the block's dynamic memory, the same for all. */
    if (v->is_extern && v->space == WEIR_PTX_SHARED && v->bytes == 0)
        return false;
    return v->is_extern || v->is_visible || v->is_weak || v->is_common;
}

static enum strength var_strength(const struct weir_ptx_var *v)
{
    return v->is_extern ? DECLARED : v->is_common ? COMMON : v->is_weak ? WEAK : STRONG;
}

static enum strength function_strength(const struct weir_ptx_function *f)
{
    if (f->is_extern && !f->alias_of)
        return DECLARED;
    return f->is_weak ? WEAK : STRONG;
}

static bool same_params(struct weir_ptx_var **a, size_t n, struct weir_ptx_var **b, size_t m)
{
    if (n != m)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (a[i]->bytes != b[i]->bytes || a[i]->space != b[i]->space)
            return false;
    }
    return true;
}

static bool check_function(struct linker *l, const struct symbol *s,
                           const struct weir_ptx_function *f, size_t unit)
{
    const struct weir_ptx_function *g = s->function;

    if (!g)
        return fail(l, WEIR_ERR_INVALID_PTX, "a variable and a function are both called", f->name,
                    s->unit, unit);
    if (g->is_entry != f->is_entry ||
        !same_params(g->params, g->param_count, f->params, f->param_count) ||
        !same_params(g->rets, g->ret_count, f->rets, f->ret_count))
        return fail(l, WEIR_ERR_INVALID_PTX, "different parameters of function", f->name, s->unit,
                    unit);
    if (s->strength == STRONG && function_strength(f) == STRONG)
        return fail(l, WEIR_ERR_INVALID_PTX, "two definitions of function", f->name, s->unit, unit);
    return true;
}

static bool check_var(struct linker *l, const struct symbol *s, const struct weir_ptx_var *v,
                      size_t unit)
{
    const struct weir_ptx_var *w = s->var;
    bool common = w && w->is_common && v->is_common;

    if (!w)
        return fail(l, WEIR_ERR_INVALID_PTX, "a function and a variable are both called", v->name,
                    s->unit, unit);
    if (w->space != v->space || w->is_managed != v->is_managed)
        return fail(l, WEIR_ERR_INVALID_PTX, "different kinds of memory for variable", v->name,
                    s->unit, unit);
    if (w->bytes && v->bytes && w->bytes != v->bytes && !common)
        return fail(l, WEIR_ERR_INVALID_PTX, "different sizes of variable", v->name, s->unit, unit);
    if (s->strength == STRONG && var_strength(v) == STRONG)
        return fail(l, WEIR_ERR_INVALID_PTX, "two definitions of variable", v->name, s->unit, unit);
    return true;
}

/* The symbol of this name, made when it is new; *is_new says so. */
static struct symbol *find_symbol(struct linker *l, const char *name, bool *is_new)
{
    struct symbol *s = weir_strmap_get(&l->names, name, strlen(name));

    *is_new = s == NULL;
    if (s)
        return s;
    s = make(l, sizeof *s);
    if (s && !weir_strmap_put(&l->names, name, strlen(name), s)) {
        fail_memory(l);
        s = NULL;
    }
    return s;
}

static bool add_var(struct linker *l, size_t unit, struct weir_ptx_var *v)
{
    enum strength strength = var_strength(v);
    struct symbol *s;
    bool is_new;

    if (!is_global_var(v) ||
        weir_ptx_find_var(l->units[unit].m, v->name) != v) /* the second: of a function's body */
        return true;
    s = find_symbol(l, v->name, &is_new);
    if (!s || (!is_new && !check_var(l, s, v, unit)))
        return false;
    l->units[unit].var_symbols[v->index] = s;
    if (is_new || strength > s->strength ||
        (strength == COMMON && s->strength == COMMON && v->bytes > s->var->bytes))
        *s = (struct symbol){.var = v, .unit = unit, .strength = strength};
    return true;
}

static bool add_function(struct linker *l, size_t unit, struct weir_ptx_function *f)
{
    enum strength strength = function_strength(f);
    struct symbol *s;
    bool is_new;

    if (!f->is_visible && !f->is_weak && strength != DECLARED)
        return true;
    s = find_symbol(l, f->name, &is_new);
    if (!s || (!is_new && !check_function(l, s, f, unit)))
        return false;
    l->units[unit].function_symbols[f->index] = s;
    if (is_new || strength > s->strength)
        *s = (struct symbol){.function = f, .unit = unit, .strength = strength};
    return true;
}

static bool choose(struct linker *l)
{
    for (size_t u = 0; u < l->count; u++) {
        struct unit *unit = &l->units[u];
        struct weir_ptx_module *m = unit->m;

        unit->var_symbols = make(l, m->var_count * sizeof(struct symbol *));
        unit->function_symbols = make(l, m->function_count * sizeof(struct symbol *));
        if (!unit->var_symbols || !unit->function_symbols)
            return false;
        for (size_t i = 0; i < m->var_count; i++) {
            if (!add_var(l, u, m->vars[i]))
                return false;
        }
        for (size_t i = 0; i < m->function_count; i++) {
            if (!add_function(l, u, m->functions[i]))
                return false;
        }
    }
    return true;
}

/* ---- pointing uses to what was chosen ---- */

static struct weir_ptx_var *final_var(const struct unit *u, struct weir_ptx_var *v)
{
    const struct symbol *s = v && v->role == WEIR_PTX_VAR_MODULE ? u->var_symbols[v->index] : NULL;

    return s ? s->var : v;
}

/* Follows symbols and aliases from unit to unit; NULL when they go round in a circle. */
static struct weir_ptx_function *follow(const struct linker *l, size_t unit,
                                        struct weir_ptx_function *f)
{
    for (size_t steps = 0; steps < 2 * MAX_ALIASES; steps++) {
        const struct symbol *s = l->units[unit].function_symbols[f->index];

        if (s) {
            f = s->function;
            unit = s->unit;
        }
        if (!f->alias_of)
            return f;
        f = f->alias_of;
    }
    return NULL;
}

static bool resolve_functions(struct linker *l)
{
    for (size_t u = 0; u < l->count; u++) {
        struct unit *unit = &l->units[u];
        const struct weir_ptx_module *m = unit->m;

        unit->functions = make(l, m->function_count * sizeof(struct weir_ptx_function *));
        if (!unit->functions)
            return false;
        for (size_t i = 0; i < m->function_count; i++) {
            unit->functions[i] = follow(l, u, m->functions[i]);
            if (!unit->functions[i])
                return fail(l, WEIR_ERR_INVALID_PTX, "aliases without an end: function",
                            m->functions[i]->name, u, u);
        }
    }
    return true;
}

static struct weir_ptx_function *final_function(const struct unit *u, struct weir_ptx_function *f)
{
    return f ? u->functions[f->index] : NULL;
}

static void point_operand(const struct unit *u, struct weir_ptx_operand *o)
{
    o->var = final_var(u, o->var);
    o->function = final_function(u, o->function);
    for (unsigned i = 0; o->elements && i < o->count; i++)
        point_operand(u, &o->elements[i]);
}

static bool point_call(struct linker *l, const struct unit *u, struct weir_ptx_call *c)
{
    struct weir_ptx_function **targets = c->targets;

    c->callee = final_function(u, c->callee);
    point_operand(u, &c->target);
    for (unsigned i = 0; i < c->ret_count; i++)
        point_operand(u, &c->rets[i]);
    for (unsigned i = 0; i < c->arg_count; i++)
        point_operand(u, &c->args[i]);
    if (!targets)
        return true;
    /* Several calls may share one list. */
    c->targets = WEIR_ARENA_NEW_ARRAY(&l->out->arena, struct weir_ptx_function *, c->target_count);
    if (!c->targets)
        return fail_memory(l);
    for (size_t i = 0; i < c->target_count; i++)
        c->targets[i] = final_function(u, targets[i]);
    return true;
}

static bool point_function(struct linker *l, const struct unit *u, struct weir_ptx_function *f)
{
    for (size_t i = 0; i < f->inst_count; i++) {
        struct weir_ptx_inst *x = &f->insts[i];

        /* A file that the unit does not name must not become another unit's. */
        if (x->file < 0 || (size_t)x->file >= u->m->file_count)
            x->file = x->source_line = 0;
        else if (x->source_line)
            x->file += u->first_file;
        for (unsigned n = 0; n < x->operand_count; n++)
            point_operand(u, &x->operands[n]);
        if (x->call && !point_call(l, u, x->call))
            return false;
    }
    return true;
}

static bool point_all(struct linker *l)
{
    for (size_t k = 0; k < l->count; k++) {
        const struct unit *u = &l->units[k];

        for (size_t i = 0; i < u->m->var_count; i++) {
            for (size_t n = 0; n < u->m->vars[i]->reloc_count; n++) {
                struct weir_ptx_reloc *r = &u->m->vars[i]->relocs[n];

                r->var = final_var(u, r->var);
                r->function = final_function(u, r->function);
            }
        }
        for (size_t i = 0; i < u->m->function_count; i++) {
            if (!point_function(l, u, u->m->functions[i]))
                return false;
        }
    }
    return true;
}

/* ---- the linked module ---- */

static bool publish(struct linker *l, const char *name, struct weir_ptx_var *v,
                    struct weir_ptx_function *f)
{
    struct weir_strmap *symbols = &l->out->symbols;
    struct weir_ptx_symbol *y;

    if (weir_strmap_get(symbols, name, strlen(name)))
        return true; /* private to two units: the first one answers to the name */
    y = WEIR_ARENA_NEW(&l->out->arena, struct weir_ptx_symbol);
    if (!y)
        return fail_memory(l);
    *y = (struct weir_ptx_symbol){v, f};
    return weir_strmap_put(symbols, name, strlen(name), y) || fail_memory(l);
}

/* Symbols that units share first, so that no private one takes their name. */
static bool collect(struct linker *l, bool shared)
{
    for (size_t k = 0; k < l->count; k++) {
        const struct unit *u = &l->units[k];

        for (size_t i = 0; i < u->m->var_count; i++) {
            struct weir_ptx_var *v = u->m->vars[i];
            const struct symbol *s = u->var_symbols[i];

            if ((s != NULL) != shared || (s && s->var != v))
                continue;
            if (!weir_vec_push(&l->vars, v))
                return fail_memory(l);
            if (weir_ptx_find_var(u->m, v->name) == v && !publish(l, v->name, v, NULL))
                return false;
        }
        for (size_t i = 0; i < u->m->function_count; i++) {
            struct weir_ptx_function *f = u->m->functions[i];
            const struct symbol *s = u->function_symbols[i];

            if ((s != NULL) != shared || (s && s->function != f))
                continue;
            if (!weir_vec_push(&l->functions, f) || !publish(l, f->name, NULL, f))
                return fail_memory(l);
        }
    }
    return true;
}

static bool collect_files(struct linker *l)
{
    for (size_t k = 0; k < l->count; k++) {
        const struct weir_ptx_module *m = l->units[k].m;

        l->units[k].first_file = (int)l->files.count;
        for (size_t i = 0; i < m->file_count; i++) {
            if (!weir_vec_push(&l->files, m->files[i]))
                return fail_memory(l);
        }
    }
    return true;
}

static bool place_shared(struct linker *l, struct weir_ptx_var *v)
{
    uint64_t at = WEIR_ALIGN_UP(l->out->shared_bytes, (uint64_t)WEIR_MAX(v->align, 1u));

    if (v->bytes > MAX_SHARED || at + v->bytes > MAX_SHARED) {
        l->code = WEIR_ERR_INVALID_PTX;
        snprintf(l->error->message, sizeof l->error->message,
                 "too much .shared memory in all units");
        return false;
    }
    v->offset = at;
    l->out->shared_bytes = at + v->bytes;
    return true;
}

/* Indices are given last: until here they are those of the units. */
static bool store(struct linker *l)
{
    struct weir_ptx_module *m = l->out;

    m->vars = WEIR_ARENA_NEW_ARRAY(&m->arena, struct weir_ptx_var *, l->vars.count + 1);
    m->functions =
        WEIR_ARENA_NEW_ARRAY(&m->arena, struct weir_ptx_function *, l->functions.count + 1);
    m->files = WEIR_ARENA_NEW_ARRAY(&m->arena, const char *, l->files.count + 1);
    if (!m->vars || !m->functions || !m->files)
        return fail_memory(l);
    m->var_count = l->vars.count;
    m->function_count = l->functions.count;
    m->file_count = l->files.count;
    for (size_t i = 0; i < m->file_count; i++)
        m->files[i] = l->files.items[i];
    for (size_t i = 0; i < m->var_count; i++) {
        struct weir_ptx_var *v = m->vars[i] = l->vars.items[i];

        v->index = (uint32_t)i;
        if (v->space == WEIR_PTX_SHARED && !place_shared(l, v))
            return false;
    }
    for (size_t i = 0; i < m->function_count; i++) {
        struct weir_ptx_function *f = m->functions[i] = l->functions.items[i];

        f->index = (uint32_t)i;
        f->module = m;
    }
    return true;
}

static void take_header(struct linker *l)
{
    struct weir_ptx_module *out = l->out;

    out->address_bits = 64;
    for (size_t k = 0; k < l->count; k++) {
        const struct weir_ptx_module *m = l->units[k].m;

        out->version = WEIR_MAX(out->version, m->version);
        out->debug |= m->debug;
        if (m->target_sm > out->target_sm) {
            out->target_sm = m->target_sm;
            out->target_suffix = m->target_suffix;
        }
    }
}

/* Aliases that stay in the list name what they stand for in the end. */
static void point_aliases(struct linker *l)
{
    for (size_t k = 0; k < l->count; k++) {
        for (size_t i = 0; i < l->units[k].m->function_count; i++) {
            struct weir_ptx_function *f = l->units[k].m->functions[i];

            if (f->alias_of)
                f->alias_of = l->units[k].functions[i];
        }
    }
}

static bool link_units(struct linker *l)
{
    if (!choose(l) || !resolve_functions(l) || !collect_files(l) || !point_all(l))
        return false;
    point_aliases(l);
    take_header(l);
    return collect(l, true) && collect(l, false) && store(l);
}

/* The linked module owns the units from here on. */
static bool start(struct linker *l, const struct weir_ptx_unit *units, size_t count)
{
    l->units = make(l, count * sizeof *l->units);
    l->out = weir_calloc(1, sizeof *l->out);
    if (!l->units || !l->out)
        return fail_memory(l);
    weir_arena_init(&l->out->arena, 0);
    l->out->units = weir_calloc(count + 1, sizeof *l->out->units);
    if (!l->out->units)
        return fail_memory(l);
    for (size_t i = 0; i < count; i++)
        l->units[i] = (struct unit){.m = units[i].module, .name = units[i].name};
    l->count = count;
    return true;
}

enum weir_err weir_ptx_link(const struct weir_ptx_unit *units, size_t count,
                            struct weir_ptx_module **out, struct weir_ptx_error *error)
{
    struct weir_ptx_error local;
    struct linker l = {.error = error ? error : &local, .code = WEIR_OK};
    bool ok;

    memset(l.error, 0, sizeof *l.error);
    weir_arena_init(&l.arena, 0);
    ok = start(&l, units, count) && link_units(&l);
    for (size_t i = 0; i < count; i++) {
        if (ok)
            l.out->units[l.out->unit_count++] = units[i].module;
        else
            weir_ptx_module_destroy(units[i].module);
    }
    if (!ok)
        weir_ptx_module_destroy(l.out);
    weir_vec_finish(&l.vars);
    weir_vec_finish(&l.functions);
    weir_vec_finish(&l.files);
    weir_strmap_finish(&l.names);
    weir_arena_finish(&l.arena);
    *out = ok ? l.out : NULL;
    return ok ? WEIR_OK : WEIR_FAIL(l.code, "%s", l.error->message);
}
