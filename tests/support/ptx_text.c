/* SPDX-License-Identifier: Apache-2.0 */
#include "support/ptx_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text {
    char *s;
    size_t n, cap;
};

static void put(struct text *t, const char *fmt, ...) WEIR_PRINTF(2, 3);
static void put(struct text *t, const char *fmt, ...)
{
    for (;;) {
        va_list ap;
        int n;

        va_start(ap, fmt);
        n = vsnprintf(t->s ? t->s + t->n : NULL, t->cap - t->n, fmt, ap);
        va_end(ap);
        if (n < 0)
            abort();
        if (t->n + (size_t)n < t->cap) {
            t->n += (size_t)n;
            return;
        }
        t->cap = t->cap * 2 + (size_t)n + 1024;
        t->s = realloc(t->s, t->cap);
        if (!t->s)
            abort();
    }
}

static const char *name_of(struct weir_ptx_module *m, const char *prefix, size_t n)
{
    char buf[64];
    const char *copy;

    snprintf(buf, sizeof buf, "%s%zu", prefix, n);
    copy = weir_arena_strndup(&m->arena, buf, strlen(buf));
    if (!copy)
        abort();
    return copy;
}

static const char *const spaces[] = {"",      "reg",    "const", "global", "local",
                                     "param", "shared", "tex",   ""};

static void put_var(struct text *t, const struct weir_ptx_var *v, const char *end)
{
    put(t, ".%s .align %u ", spaces[v->space], v->align);
    if (v->vector)
        put(t, ".v%u ", v->vector);
    put(t, ".%s %s", weir_ptx_type_name(v->type), v->name);
    if (v->bytes == 0)
        put(t, "[]");
    else if (v->count != 1)
        put(t, "[%llu]", (unsigned long long)v->count);
    put(t, "%s", end);
}

static void put_params(struct text *t, struct weir_ptx_var *const *list, size_t n)
{
    put(t, "(");
    for (size_t i = 0; i < n; i++) {
        if (list[i]->space == WEIR_PTX_REG)
            put(t, "%s.reg .%s %s", i ? ", " : "", weir_ptx_type_name(list[i]->type),
                list[i]->name);
        else
            put(t, "%s", i ? ", " : ""), put_var(t, list[i], "");
    }
    put(t, ")");
}

static void put_head(struct text *t, const struct weir_ptx_function *f)
{
    put(t, ".visible .%s ", f->is_entry ? "entry" : "func");
    if (f->ret_count)
        put_params(t, f->rets, f->ret_count);
    put(t, " %s ", f->name);
    put_params(t, f->params, f->param_count);
    put(t, "\n");
}

static void rename_all(struct weir_ptx_function *f)
{
    for (size_t i = 0; i < f->reg_count; i++)
        f->regs[i].name = name_of(f->module, "%R_", i);
    for (size_t i = 0; i < f->label_count; i++)
        f->labels[i]->name = name_of(f->module, "$LABEL_", i);
    for (size_t i = 0; i < f->var_count; i++)
        f->vars[i]->name = name_of(f->module, "body_", i);
    for (size_t i = 0; i < f->table_count; i++)
        f->tables[i]->name = name_of(f->module, "table_", i);
    for (size_t i = 0; i < f->param_count; i++) {
        if (f->params[i]->space == WEIR_PTX_REG)
            f->params[i]->name = f->regs[f->params[i]->reg_index].name;
    }
    for (size_t i = 0; i < f->ret_count; i++) {
        if (f->rets[i]->space == WEIR_PTX_REG)
            f->rets[i]->name = f->regs[f->rets[i]->reg_index].name;
    }
    for (size_t i = 0; i < f->inst_count; i++) {
        struct weir_ptx_call *c = f->insts[i].call;

        if (c && c->proto)
            c->proto->name = name_of(f->module, "proto_", i);
        if (c && c->targets)
            c->targets_name = name_of(f->module, "targets_", i);
    }
}

/* Registers that are parameters are declared by those. */
static bool is_param_reg(const struct weir_ptx_function *f, size_t r)
{
    for (size_t i = 0; i < f->param_count; i++) {
        if (f->params[i]->space == WEIR_PTX_REG && (size_t)f->params[i]->reg_index == r)
            return true;
    }
    for (size_t i = 0; i < f->ret_count; i++) {
        if (f->rets[i]->space == WEIR_PTX_REG && (size_t)f->rets[i]->reg_index == r)
            return true;
    }
    return false;
}

static void put_declarations(struct text *t, const struct weir_ptx_function *f)
{
    for (size_t i = 0; i < f->reg_count; i++) {
        if (is_param_reg(f, i))
            continue;
        put(t, ".reg ");
        if (f->regs[i].vector)
            put(t, ".v%u ", f->regs[i].vector);
        put(t, ".%s %s;\n", weir_ptx_type_name(f->regs[i].type), f->regs[i].name);
    }
    for (size_t i = 0; i < f->var_count; i++)
        put_var(t, f->vars[i], ";\n");
    for (size_t i = 0; i < f->table_count; i++) {
        put(t, "%s: .branchtargets ", f->tables[i]->name);
        for (size_t k = 0; k < f->tables[i]->count; k++)
            put(t, "%s%s", k ? ", " : "", f->tables[i]->labels[k]->name);
        put(t, ";\n");
    }
    for (size_t i = 0; i < f->inst_count; i++) {
        const struct weir_ptx_call *c = f->insts[i].call;

        if (c && c->proto) {
            put(t, "%s: .callprototype ", c->proto->name);
            if (c->proto->ret_count)
                put_params(t, c->proto->rets, c->proto->ret_count);
            put(t, " _ ");
            put_params(t, c->proto->params, c->proto->param_count);
            put(t, ";\n");
        }
        if (c && c->targets) {
            put(t, "%s: .calltargets ", c->targets_name);
            for (size_t k = 0; k < c->target_count; k++)
                put(t, "%s%s", k ? ", " : "", c->targets[k]->name);
            put(t, ";\n");
        }
    }
}

static void put_body(struct text *t, struct weir_ptx_function *f)
{
    char line[16384];

    put(t, "{\n");
    put_declarations(t, f);
    for (size_t i = 0; i <= f->inst_count; i++) {
        for (size_t k = 0; k < f->label_count; k++) {
            if (f->labels[k]->inst == i)
                put(t, "%s:\n", f->labels[k]->name);
        }
        if (i < f->inst_count) {
            weir_ptx_print_inst(f, &f->insts[i], line, sizeof line);
            put(t, "%s\n", line);
        }
    }
    put(t, "}\n");
}

char *ptx_text_of_module(struct weir_ptx_module *m)
{
    struct text t = {0};

    put(&t, ".version %d.%d\n.target sm_%d", m->version / 10, m->version % 10, m->target_sm);
    put(&t, m->target_suffix ? "%c\n" : "\n", m->target_suffix);
    put(&t, ".address_size 64\n");
    for (size_t i = 0; i < m->var_count; i++) {
        if (!weir_ptx_find_var(m, m->vars[i]->name) ||
            weir_ptx_find_var(m, m->vars[i]->name) != m->vars[i])
            m->vars[i]->name = name_of(m, "hidden_", i); /* declared inside a body */
        if (m->vars[i]->bytes == 0 || m->vars[i]->is_extern)
            put(&t, ".extern ");
        put_var(&t, m->vars[i], ";\n");
    }
    for (size_t i = 0; i < m->function_count; i++) {
        rename_all(m->functions[i]);
        put_head(&t, m->functions[i]);
        put(&t, ";\n");
    }
    for (size_t i = 0; i < m->function_count; i++) {
        if (m->functions[i]->is_extern)
            continue;
        put_head(&t, m->functions[i]);
        put_body(&t, m->functions[i]);
    }
    return t.s;
}

static char difference[400];

static bool same_name(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static bool same_operand(const struct weir_ptx_operand *a, const struct weir_ptx_operand *b)
{
    if (a->kind != b->kind || a->element != b->element || a->negated != b->negated ||
        a->count != b->count || a->sreg != b->sreg || a->reg != b->reg || a->imm != b->imm ||
        a->pred_reg != b->pred_reg || !a->var != !b->var || !a->function != !b->function ||
        !a->label != !b->label)
        return false;
    if (a->var && (!same_name(a->var->name, b->var->name) || a->var->role != b->var->role))
        return false;
    if (a->function && !same_name(a->function->name, b->function->name))
        return false;
    if (a->kind == WEIR_PTX_OPERAND_LABEL &&
        (!same_name(a->label->name, b->label->name) || a->label->inst != b->label->inst))
        return false;
    if (a->kind == WEIR_PTX_OPERAND_TABLE && a->table->count != b->table->count)
        return false;
    if (!a->elements != !b->elements)
        return false;
    for (unsigned i = 0; a->elements && i < a->count; i++) {
        if (!same_operand(&a->elements[i], &b->elements[i]))
            return false;
    }
    return true;
}

static bool same_list(const struct weir_ptx_operand *a, const struct weir_ptx_operand *b,
                      unsigned an, unsigned bn)
{
    if (an != bn)
        return false;
    for (unsigned i = 0; i < an; i++) {
        if (!same_operand(&a[i], &b[i]))
            return false;
    }
    return true;
}

static bool same_inst(const struct weir_ptx_inst *a, const struct weir_ptx_inst *b)
{
    if (a->opcode != b->opcode || !same_name(a->suffix, b->suffix) || a->guard != b->guard ||
        a->guard_negated != b->guard_negated || a->dest_count != b->dest_count ||
        !a->call != !b->call)
        return false;
    if (memcmp(a->type, b->type, sizeof a->type) != 0 || a->sub != b->sub || a->sub2 != b->sub2 ||
        a->sem != b->sem || a->scope != b->scope || a->space != b->space || a->vec != b->vec ||
        a->cmp != b->cmp || a->rounding != b->rounding || a->boolop != b->boolop)
        return false;
    if (a->call &&
        (!same_list(a->call->args, b->call->args, a->call->arg_count, b->call->arg_count) ||
         !same_list(a->call->rets, b->call->rets, a->call->ret_count, b->call->ret_count) ||
         !same_operand(&a->call->target, &b->call->target)))
        return false;
    return same_list(a->operands, b->operands, a->operand_count, b->operand_count);
}

static bool function_differs(const struct weir_ptx_function *a, const struct weir_ptx_function *b)
{
    char x[120], y[120];

    if (!same_name(a->name, b->name) || a->is_entry != b->is_entry ||
        a->is_extern != b->is_extern || a->param_count != b->param_count ||
        a->ret_count != b->ret_count || a->param_bytes != b->param_bytes) {
        snprintf(difference, sizeof difference, "function %.100s / %.100s", a->name, b->name);
        return true;
    }
    if (a->inst_count != b->inst_count || a->reg_count != b->reg_count ||
        a->var_count != b->var_count) {
        snprintf(difference, sizeof difference,
                 "%.100s: %zu/%zu instructions, %zu/%zu registers, %zu/%zu variables", a->name,
                 a->inst_count, b->inst_count, a->reg_count, b->reg_count, a->var_count,
                 b->var_count);
        return true;
    }
    for (size_t i = 0; i < a->inst_count; i++) {
        if (same_inst(&a->insts[i], &b->insts[i]))
            continue;
        weir_ptx_print_inst(a, &a->insts[i], x, sizeof x);
        weir_ptx_print_inst(b, &b->insts[i], y, sizeof y);
        snprintf(difference, sizeof difference, "%.100s, instruction %zu: %s / %s", a->name, i, x,
                 y);
        return true;
    }
    return false;
}

const char *ptx_text_difference(const struct weir_ptx_module *a, const struct weir_ptx_module *b)
{
    if (a->function_count != b->function_count || a->var_count != b->var_count)
        return "numbers of functions or variables";
    for (size_t i = 0; i < a->function_count; i++) {
        if (function_differs(a->functions[i], b->functions[i]))
            return difference;
    }
    return NULL;
}

char *ptx_text_read_file(const char *path, size_t *bytes)
{
    FILE *f = fopen(path, "rb");
    char *s = NULL;
    long n;

    if (!f)
        return NULL;
    if (fseek(f, 0, SEEK_END) == 0 && (n = ftell(f)) >= 0 && fseek(f, 0, SEEK_SET) == 0 &&
        (s = malloc((size_t)n + 1)) != NULL) {
        *bytes = fread(s, 1, (size_t)n, f);
        s[*bytes] = 0;
    }
    fclose(f);
    return s;
}
