/* The quick tier's share of LLVM's instruction selection. LLVM combines the nodes of each block
 * four times: before types are legal, after that, after vector operations are legal, and at the
 * end. At optimisation level None the two in the middle find almost nothing that the last one does
 * not (objects are the same within 0.1 %), and take a seventh of the whole compilation. The
 * library's references to the combiner come here (linker option --wrap; not with a shared libLLVM,
 * which then is only slower). The last combination must stay: the selector relies on what it cleans
 * up.
 * SPDX-License-Identifier: Apache-2.0 */

/* llvm::CombineLevel and llvm::CodeGenOptLevel, LLVM 19. */
enum { BEFORE_LEGALIZE_TYPES, AFTER_LEGALIZE_TYPES, AFTER_LEGALIZE_VECTORS, AFTER_LEGALIZE_DAG };
enum { OPT_NONE };

/* llvm::SelectionDAG::Combine(CombineLevel, AAResults *, CodeGenOptLevel) */
#define COMBINE                                                                                    \
    _ZN4llvm12SelectionDAG7CombineENS_12CombineLevelEPNS_9AAResultsENS_15CodeGenOptLevelE
#define PASTE(a, b)        a##b
#define WITH(prefix, name) PASTE(prefix, name)

void WITH(__real_, COMBINE)(void *dag, int level, void *alias, int opt);
void WITH(__wrap_, COMBINE)(void *dag, int level, void *alias, int opt);

void WITH(__wrap_, COMBINE)(void *dag, int level, void *alias, int opt)
{
    if (opt == OPT_NONE && (level == AFTER_LEGALIZE_TYPES || level == AFTER_LEGALIZE_VECTORS))
        return;
    WITH(__real_, COMBINE)(dag, level, alias, opt);
}
