/* Where machine code came from, as DWARF, when it is asked for: of the lines of the PTX (a fault's
 * place becomes a line by a second compilation), or for debuggers of the source's lines. Only the
 * kernel's own function is described; what it calls of the object is not.
 * SPDX-License-Identifier: Apache-2.0 */
#include <llvm-c/DebugInfo.h>
#include <stdio.h>
#include <string.h>

#include "base/kernel_name.h"
#include "codegen/lower/lower.h"

#define PRODUCER "Weir"

struct low_debug {
    LLVMDIBuilderRef b;
    LLVMMetadataRef ptx, function;
    LLVMMetadataRef *files; /* by number of the module: the function's scope in that file */
    LLVMMetadataRef now;    /* what instructions get */
    unsigned away;          /* other functions that are being made, one in another */
};

static LLVMMetadataRef make_file(struct low *l, const char *path)
{
    const char *name = strrchr(path, '/');
    size_t dir = name ? (size_t)(name - path) : 0;

    name = name ? name + 1 : path;
    return LLVMDIBuilderCreateFile(l->debug->b, name, strlen(name), path, dir);
}

static void flag(struct low *l, const char *name, unsigned value)
{
    LLVMAddModuleFlag(l->module, LLVMModuleFlagBehaviorWarning, name, strlen(name),
                      LLVMValueAsMetadata(LLVMConstInt(l->t.i32, value, 0)));
}

/* A number for the PTX itself when the text names no files. */
static const char *ptx_path(struct low *l)
{
    char name[200];
    size_t n;
    char *path;

    weir_kernel_plain_name(l->kernel->name, name, sizeof name);
    n = strlen(name) + sizeof ".ptx";
    path = low_alloc(l, n);
    snprintf(path, n, "%s.ptx", name);
    return path;
}

void low_debug_begin(struct low *l)
{
    struct low_debug *d;
    LLVMMetadataRef type, name_of;
    char plain[256];

    if (l->request->lines == WEIR_JIT_LINES_NONE)
        return;
    d = l->debug = low_alloc(l, sizeof *d);
    d->files = low_alloc(l, (l->kernel->module->file_count + 1) * sizeof(LLVMMetadataRef));
    d->b = LLVMCreateDIBuilder(l->module);
    d->ptx = make_file(l, ptx_path(l));
    name_of = d->ptx;
    LLVMDIBuilderCreateCompileUnit(d->b, LLVMDWARFSourceLanguageC_plus_plus_14, name_of, PRODUCER,
                                   strlen(PRODUCER), 1, "", 0, 0, "", 0,
                                   l->request->lines == WEIR_JIT_LINES_PTX
                                       ? LLVMDWARFEmissionLineTablesOnly
                                       : LLVMDWARFEmissionFull,
                                   0, 0, 0, "", 0, "", 0);
    type = LLVMDIBuilderCreateSubroutineType(d->b, d->ptx, NULL, 0, LLVMDIFlagZero);
    weir_kernel_plain_name(l->kernel->name, plain, sizeof plain);
    d->function = LLVMDIBuilderCreateFunction(d->b, d->ptx, plain, strlen(plain), l->kernel->name,
                                              strlen(l->kernel->name), d->ptx, 1, type, 0, 1, 1,
                                              LLVMDIFlagZero, 1);
    LLVMSetSubprogram(l->fn, d->function);
    flag(l, "Debug Info Version", LLVMDebugMetadataVersion());
    flag(l, "Dwarf Version", 4);
}

static LLVMMetadataRef scope_of(struct low *l, const struct weir_ptx_inst *p)
{
    struct low_debug *d = l->debug;
    const struct weir_ptx_module *m = l->kernel->module;

    if (p->file < 0 || (size_t)p->file >= m->file_count || !m->files[p->file])
        return d->function;
    if (!d->files[p->file])
        d->files[p->file] = LLVMDIBuilderCreateLexicalBlockFile(d->b, d->function,
                                                                make_file(l, m->files[p->file]), 0);
    return d->files[p->file];
}

void low_debug_at(struct low *l, const struct low_inst *i)
{
    struct low_debug *d = l->debug;
    const struct weir_ptx_inst *p = i->p;

    if (!d || !p || p->line <= 0)
        return;
    if (l->request->lines == WEIR_JIT_LINES_SOURCE && p->source_line > 0)
        d->now = LLVMDIBuilderCreateDebugLocation(l->ctx, (unsigned)p->source_line, 0,
                                                  scope_of(l, p), NULL);
    else
        d->now = LLVMDIBuilderCreateDebugLocation(l->ctx, (unsigned)p->line, 0, d->function, NULL);
    if (!d->away)
        LLVMSetCurrentDebugLocation2(l->b, d->now);
}

void low_debug_leave(const struct low *l)
{
    if (!l->debug)
        return;
    l->debug->away++;
    LLVMSetCurrentDebugLocation2(l->b, NULL);
}

void low_debug_return(const struct low *l)
{
    if (l->debug && --l->debug->away == 0)
        LLVMSetCurrentDebugLocation2(l->b, l->debug->now);
}

void low_debug_finish(struct low *l)
{
    if (!l->debug)
        return;
    low_debug_leave(l);
    LLVMDIBuilderFinalize(l->debug->b);
}

void low_debug_dispose(struct low *l)
{
    if (l->debug && l->debug->b)
        LLVMDisposeDIBuilder(l->debug->b);
    l->debug = NULL;
}
