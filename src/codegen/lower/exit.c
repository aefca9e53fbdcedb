/* What LLVM wants done at exit is not done. Its static objects, many of them made by the first
 * compilation, would be destroyed while a compile thread still uses them: exit() calls the newest
 * handlers first, so that no handler of ours comes before all of these. This definition is hidden
 * and found first by everything inside libweir-jit.so; the process ends a moment later anyway.
 * SPDX-License-Identifier: Apache-2.0 */

int __cxa_atexit(void (*destroy)(void *), void *object, void *library);

int __cxa_atexit(void (*destroy)(void *), void *object, void *library)
{
    (void)destroy, (void)object, (void)library;
    return 0;
}
