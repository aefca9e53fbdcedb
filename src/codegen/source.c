/* Where an instruction of a kernel came from.
 * SPDX-License-Identifier: Apache-2.0 */
#include "codegen/codegen_int.h"

bool weir_cg_kernel_source(const struct weir_cg_kernel *k, uint32_t ptx_line, const char **file,
                           uint32_t *line)
{
    const struct weir_ptx_module *m = k->module->ptx;

    for (size_t f = 0; f < m->function_count; f++) {
        const struct weir_ptx_function *fn = m->functions[f];

        for (size_t i = 0; i < fn->inst_count; i++) {
            const struct weir_ptx_inst *p = &fn->insts[i];

            if (p->line != (int)ptx_line || p->source_line <= 0)
                continue;
            *file = p->file >= 0 && (size_t)p->file < m->file_count ? m->files[p->file] : NULL;
            *line = (uint32_t)p->source_line;
            return true;
        }
    }
    return false;
}
