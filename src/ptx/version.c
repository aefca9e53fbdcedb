/* Instructions that came later than a module says it is: NVIDIA's assembler refuses them, so a
 * program's PTX that has them does not load on a GPU. Only whole instructions whose first version
 * and target the PTX manual names ("Introduced in PTX ISA version", "Requires sm_"); what ptxas of
 * CUDA 13.0 says of each is the same. Forms that came later than their instruction are not looked
 * at.
 * SPDX-License-Identifier: Apache-2.0 */
#include "ptx/ptx_int.h"

struct since {
    uint8_t version, target; /* target 0: any */
};

#define SINCE(op, version, target) [WEIR_PTX_OP_##op] = {version, target}

static const struct since table[] = {
    SINCE(activemask, 62, 0),    SINCE(alloca, 73, 52),     SINCE(applypriority, 74, 80),
    SINCE(barrier, 60, 0),       SINCE(bmsk, 76, 70),       SINCE(cp, 70, 80),
    SINCE(createpolicy, 74, 80), SINCE(discard, 74, 80),    SINCE(dp2a, 50, 61),
    SINCE(dp4a, 50, 61),         SINCE(elect, 80, 90),      SINCE(fence, 60, 70),
    SINCE(fns, 60, 0),           SINCE(getctarank, 78, 90), SINCE(griddepcontrol, 78, 90),
    SINCE(ldmatrix, 65, 75),     SINCE(mapa, 78, 90),       SINCE(match, 60, 70),
    SINCE(mbarrier, 70, 80),     SINCE(mma, 64, 70),        SINCE(movmatrix, 78, 75),
    SINCE(nanosleep, 62, 70),    SINCE(redux, 70, 80),      SINCE(stackrestore, 73, 52),
    SINCE(stacksave, 73, 52),    SINCE(stmatrix, 78, 90),   SINCE(szext, 76, 70),
    SINCE(tanh, 70, 75),         SINCE(wmma, 60, 70),
};

bool ptx_check_version(struct ptx_parser *p, const struct weir_ptx_inst *i)
{
    const char *name = weir_ptx_opcode_name((enum weir_ptx_opcode)i->opcode);
    struct since s;

    if (i->opcode >= sizeof table / sizeof table[0])
        return true;
    s = table[i->opcode];
    if (p->m->version < s.version)
        return ptx_fail(p, "%s needs .version %u.%u or later, the module says %d.%d", name,
                        s.version / 10u, s.version % 10u, p->m->version / 10, p->m->version % 10);
    if (p->m->target_sm < s.target)
        return ptx_fail(p, "%s needs .target sm_%u or higher, the module says sm_%d", name,
                        s.target, p->m->target_sm);
    return true;
}
