/* The module: its directives in order, then what needs all of them. Entry: weir_ptx_parse.
 * SPDX-License-Identifier: Apache-2.0 */
#include <locale.h>
#include <string.h>

#include "base/alloc.h"
#include "ptx/device_calls.h"
#include "ptx/ptx_int.h"

static bool parse_version(struct ptx_parser *p)
{
    unsigned major = 0, minor = 0;

    ptx_skip(p);
    while (*p->pos >= '0' && *p->pos <= '9' && major < 1000)
        major = major * 10 + (unsigned)(*p->pos++ - '0');
    if (*p->pos != '.')
        return ptx_fail(p, "a version such as 8.0 expected");
    for (p->pos++; *p->pos >= '0' && *p->pos <= '9' && minor < 1000; p->pos++)
        minor = minor * 10 + (unsigned)(*p->pos - '0');
    if (major < 1 || minor > 9 || ptx_is_ident_char(*p->pos))
        return ptx_fail(p, "a version such as 8.0 expected");
    if (major > 9)
        return ptx_fail_code(p, WEIR_ERR_UNSUPPORTED_PTX_VERSION,
                             "PTX version %u.%u is newer than 9.x", major, minor);
    p->m->version = (int)(10 * major + minor);
    p->saw_version = true;
    return true;
}

static bool parse_target(struct ptx_parser *p)
{
    struct ptx_str s;

    do {
        if (!ptx_ident(p, &s, "a target"))
            return false;
        if (s.n > 3 && strncmp(s.s, "sm_", 3) == 0) {
            size_t i = 3;
            int sm = 0;

            for (; i < s.n && s.s[i] >= '0' && s.s[i] <= '9' && sm < 10000; i++)
                sm = sm * 10 + (s.s[i] - '0');
            if (i == 3 || i + 1 < s.n || (i < s.n && s.s[i] != 'a' && s.s[i] != 'f'))
                return ptx_fail(p, "unknown target '%.*s'", (int)WEIR_MIN(s.n, (size_t)60), s.s);
            p->m->target_sm = sm;
            p->m->target_suffix = i < s.n ? s.s[i] : 0;
            p->saw_target = true;
        } else if (ptx_is(s, "debug")) {
            p->m->debug = true;
        } else if (!ptx_is(s, "texmode_unified") && !ptx_is(s, "texmode_independent") &&
                   !ptx_is(s, "map_f64_to_f32")) {
            return ptx_fail(p, "unknown target '%.*s'", (int)WEIR_MIN(s.n, (size_t)60), s.s);
        }
    } while (ptx_accept(p, ','));
    return true;
}

static bool parse_address_size(struct ptx_parser *p)
{
    uint64_t bits = 0;

    if (!ptx_expr_u64(p, &bits, 64, ".address_size"))
        return false;
    if (bits == 32)
        return ptx_fail(p, "32-bit addresses are not supported");
    if (bits != 64)
        return ptx_fail(p, ".address_size must be 64");
    return true;
}

/* .alias a, b;  every use of a becomes one of b when the module is complete. */
static bool parse_alias(struct ptx_parser *p)
{
    struct weir_ptx_function *f[2];

    for (int i = 0; i < 2; i++) {
        struct ptx_str name;
        const struct ptx_sym *y;

        if (i && !ptx_expect(p, ','))
            return false;
        if (!ptx_ident(p, &name, "a function"))
            return false;
        y = ptx_sym_find(p, name);
        if (!y || y->kind != PTX_SYM_FUNCTION)
            return ptx_fail(p, "'%.*s' is no function", (int)WEIR_MIN(name.n, (size_t)120), name.s);
        f[i] = y->ptr;
    }
    if (!f[0]->is_extern || f[1]->is_extern || f[0]->is_entry || f[1]->is_entry)
        return ptx_fail(p, ".alias needs a declared and a defined .func");
    f[0]->alias_of = f[1];
    p->any_alias = true;
    return ptx_expect(p, ';');
}

static bool space_by_name(struct ptx_str s, enum weir_ptx_space *out)
{
    static const struct {
        const char *name;
        enum weir_ptx_space space;
    } spaces[] = {{"global", WEIR_PTX_GLOBAL},
                  {"const", WEIR_PTX_CONST},
                  {"shared", WEIR_PTX_SHARED},
                  {"local", WEIR_PTX_LOCAL},
                  {"tex", WEIR_PTX_TEX}};

    for (size_t i = 0; i < WEIR_ARRAY_SIZE(spaces); i++) {
        if (ptx_is(s, spaces[i].name)) {
            *out = spaces[i].space;
            return true;
        }
    }
    return false;
}

/* A declaration with its linkage words. */
static bool parse_linked(struct ptx_parser *p, struct ptx_str s)
{
    struct ptx_linkage l = {0};
    enum weir_ptx_space space;

    for (;;) {
        if (ptx_is(s, "extern"))
            l.is_extern = true;
        else if (ptx_is(s, "visible"))
            l.is_visible = true;
        else if (ptx_is(s, "weak"))
            l.is_weak = true;
        else if (ptx_is(s, "common"))
            l.is_common = true;
        else
            break;
        if (!ptx_expect_directive(p, &s, "a declaration"))
            return false;
    }
    if (ptx_is(s, "entry") || ptx_is(s, "func"))
        return ptx_parse_function(p, s.s[0] == 'e', &l);
    if (space_by_name(s, &space))
        return ptx_parse_variables(p, space, &l);
    return ptx_fail(p, "unknown directive '.%.*s'", (int)WEIR_MIN(s.n, (size_t)60), s.s);
}

static bool parse_module_directive(struct ptx_parser *p, struct ptx_str s)
{
    if (ptx_is(s, "version"))
        return parse_version(p);
    if (!p->saw_version)
        return ptx_fail(p, "a module begins with .version");
    if (ptx_is(s, "target"))
        return parse_target(p);
    if (ptx_is(s, "address_size"))
        return parse_address_size(p);
    if (ptx_is(s, "file"))
        return ptx_parse_file(p);
    if (ptx_is(s, "loc"))
        return ptx_parse_loc(p);
    if (ptx_is(s, "section"))
        return ptx_parse_section(p);
    if (ptx_is(s, "pragma"))
        return ptx_parse_pragma(p);
    if (ptx_is(s, "alias"))
        return parse_alias(p);
    if (!p->saw_target)
        return ptx_fail(p, ".target must stand before declarations");
    return parse_linked(p, s);
}

static struct weir_ptx_function *unalias(struct weir_ptx_function *f)
{
    return f && f->alias_of ? f->alias_of : f;
}

static void unalias_operand(struct weir_ptx_operand *o)
{
    o->function = unalias(o->function);
}

static void apply_aliases(struct ptx_parser *p)
{
    for (size_t k = 0; k < p->functions.count; k++) {
        struct weir_ptx_function *f = p->functions.items[k];

        for (size_t i = 0; i < f->inst_count; i++) {
            struct weir_ptx_inst *x = &f->insts[i];

            for (unsigned n = 0; n < x->operand_count; n++)
                unalias_operand(&x->operands[n]);
            if (!x->call)
                continue;
            x->call->callee = unalias(x->call->callee);
            unalias_operand(&x->call->target);
            for (size_t n = 0; n < x->call->target_count; n++)
                x->call->targets[n] = unalias(x->call->targets[n]);
        }
    }
    for (size_t i = 0; i < p->init_refs.count; i++)
        p->init_refs.items[i].reloc->function = unalias(p->init_refs.items[i].reloc->function);
}

static bool store_module(struct ptx_parser *p)
{
    struct weir_ptx_module *m = p->m;

    m->vars = PTX_NEW_ARRAY(p, struct weir_ptx_var *, p->module_vars.count);
    m->functions = PTX_NEW_ARRAY(p, struct weir_ptx_function *, p->functions.count);
    m->files = PTX_NEW_ARRAY(p, const char *, p->files.count);
    if (!m->vars || !m->functions || !m->files)
        return false;
    m->var_count = p->module_vars.count;
    m->function_count = p->functions.count;
    m->file_count = p->files.count;
    for (size_t i = 0; i < m->var_count; i++) {
        struct weir_ptx_var *v = m->vars[i] = p->module_vars.items[i];

        if (v->space == WEIR_PTX_SHARED && !ptx_layout(p, v, &m->shared_bytes))
            return false;
    }
    for (size_t i = 0; i < m->function_count; i++)
        m->functions[i] = p->functions.items[i];
    for (size_t i = 0; i < m->file_count; i++)
        m->files[i] = p->files.items[i] ? p->files.items[i] : "";
    if (!ptx_resolve_inits(p))
        return false;
    if (p->any_alias)
        apply_aliases(p);
    return true;
}

static bool parse_module(struct ptx_parser *p)
{
    struct ptx_str s;

    for (;;) {
        ptx_skip(p);
        if (p->pos >= p->end)
            break;
        if (*p->pos == ';') {
            p->pos++;
            continue;
        }
        if (p->pos[0] == '@' && p->pos[1] == '@') { /* @@DWARF lines of old compilers */
            while (p->pos < p->end && *p->pos != '\n')
                p->pos++;
            continue;
        }
        if (!ptx_directive(p, &s))
            return ptx_fail(p, "a directive expected");
        if (!parse_module_directive(p, s))
            return false;
    }
    if (!p->saw_version)
        return ptx_fail(p, "a module begins with .version");
    return store_module(p);
}

static void parser_finish(struct ptx_parser *p, char *text)
{
    weir_vec_finish(&p->module_vars);
    weir_vec_finish(&p->functions);
    weir_vec_finish(&p->files);
    weir_vec_finish(&p->init_refs);
    weir_vec_finish(&p->regs);
    weir_vec_finish(&p->vars);
    weir_vec_finish(&p->insts);
    weir_vec_finish(&p->labels);
    weir_vec_finish(&p->tables);
    weir_vec_finish(&p->fixups);
    weir_vec_finish(&p->stack);
    weir_strmap_finish(&p->mnemonics);
    ptx_symtab_finish(&p->syms);
    weir_arena_finish(&p->scratch);
    if (p->locale)
        freelocale((locale_t)p->locale);
    weir_free(text);
}

/* The text may end with zero bytes (fat binaries pad it), but may not hold one. */
static char *copy_text(const char *text, size_t *bytes)
{
    size_t n = *bytes;
    char *copy;

    while (n && text[n - 1] == 0)
        n--;
    copy = weir_alloc(n + 1);
    if (!copy)
        return NULL;
    memcpy(copy, text, n);
    copy[n] = 0;
    *bytes = n;
    return copy;
}

static bool module_init(struct ptx_parser *p, size_t bytes)
{
    p->m = weir_calloc(1, sizeof *p->m);
    if (!p->m)
        return ptx_fail_memory(p);
    /* An instruction of 12 characters takes some 200 bytes; declarations of registers take more per
     * character. */
    weir_arena_init(&p->m->arena, ((size_t)256 << 20) + 64 * bytes);
    weir_arena_init(&p->scratch, ((size_t)64 << 20) + 32 * bytes);
    p->init_budget = (size_t)PTX_MAX_INIT_BYTES + bytes;
    p->m->address_bits = 64;
    p->line = 1;
    return true;
}

enum weir_err weir_ptx_parse(const char *text, size_t bytes, struct weir_ptx_module **out,
                             struct weir_ptx_error *error)
{
    struct weir_ptx_error local;
    struct ptx_parser p = {.error = error ? error : &local, .code = WEIR_OK};
    char *copy = copy_text(text, &bytes);
    bool ok;

    memset(p.error, 0, sizeof *p.error);
    *out = NULL;
    p.text = p.pos = p.line_start = copy;
    ok = copy ? module_init(&p, bytes) : ptx_fail_memory(&p);
    if (ok) {
        p.end = copy + bytes;
        ok = parse_module(&p);
    }
    parser_finish(&p, copy);
    if (ok) {
        *out = p.m;
        return WEIR_OK;
    }
    weir_ptx_module_destroy(p.m);
    return WEIR_FAIL(p.code, "PTX line %d, column %d: %s", p.error->line, p.error->column,
                     p.error->message);
}

void weir_ptx_module_destroy(struct weir_ptx_module *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->unit_count; i++)
        weir_ptx_module_destroy(m->units[i]);
    weir_free(m->units);
    weir_strmap_finish(&m->symbols);
    weir_arena_finish(&m->arena);
    weir_free(m);
}

static const struct weir_ptx_symbol *find_symbol(const struct weir_ptx_module *m, const char *name)
{
    return weir_strmap_get(&m->symbols, name, strlen(name));
}

struct weir_ptx_function *weir_ptx_find_function(const struct weir_ptx_module *m, const char *name)
{
    const struct weir_ptx_symbol *y = find_symbol(m, name);

    return y ? unalias(y->function) : NULL;
}

struct weir_ptx_var *weir_ptx_find_var(const struct weir_ptx_module *m, const char *name)
{
    const struct weir_ptx_symbol *y = find_symbol(m, name);

    return y ? y->var : NULL;
}

bool weir_ptx_is_builtin(const struct weir_ptx_function *f)
{
    static const char *const names[] = {"vprintf",      "malloc",        "free",
                                        "__assertfail", "__assert_fail", "cudaGraphSetConditional"};

    for (size_t i = 0; f->is_extern && i < WEIR_ARRAY_SIZE(names); i++) {
        if (strcmp(f->name, names[i]) == 0)
            return true;
    }
    return f->is_extern && weir_ptx_device_call(f->name) >= 0;
}
