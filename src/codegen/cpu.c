/* Processor identity from cpuid (x86-64) or the auxiliary vector (aarch64): the raw words, not
 * names, so that no table of models is needed and nothing that changes code is left out.
 * SPDX-License-Identifier: Apache-2.0 */
#include "codegen/cpu.h"

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)

#include <cpuid.h>

struct cpu_regs {
    uint32_t eax, ebx, ecx, edx;
};

static struct cpu_regs cpuid(uint32_t leaf, uint32_t sub)
{
    struct cpu_regs r = {0, 0, 0, 0};

    /* The compiler's macro checks the highest leaf and leaves zeros for those that do not exist. */
    if (!__get_cpuid_count(leaf, sub, &r.eax, &r.ebx, &r.ecx, &r.edx))
        r = (struct cpu_regs){0, 0, 0, 0};
    return r;
}

/* XCR0: which vector state the system saves. */
static uint64_t xcr0(void)
{
    uint32_t lo, hi;

    if (!(cpuid(1, 0).ecx & (1u << 27)))
        return 0;
    __asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
    return ((uint64_t)hi << 32) | lo;
}

void weir_cpu_hash(struct weir_hash128 *h)
{
    struct cpu_regs vendor = cpuid(0, 0), model = cpuid(1, 0), ext = cpuid(7, 0),
                    ext1 = cpuid(7, 1);
    struct cpu_regs amd = cpuid(0x80000001u, 0);
    /* Leaf 1's ebx holds the number of the running core, leaf 7's edx a bit for mixed cores: both
     * left out. */
    uint32_t words[] = {vendor.ebx, vendor.ecx, vendor.edx,
                        model.eax,  model.ecx,  model.edx,
                        ext.ebx,    ext.ecx,    ext.edx & ~(1u << 15),
                        ext1.eax,   amd.ecx,    amd.edx};
    uint64_t state = xcr0();

    weir_hash128_add_field(h, words, sizeof words);
    weir_hash128_add_field(h, &state, sizeof state);
}

const char *weir_cpu_missing(void)
{
    struct cpu_regs model = cpuid(1, 0), ext = cpuid(7, 0);
    bool ymm = (xcr0() & 6) == 6;

    if (!ymm || !(ext.ebx & (1u << 5)))
        return "AVX2";
    if (!(model.ecx & (1u << 12)))
        return "FMA";
    return NULL;
}

#elif defined(__aarch64__)

#include <sys/auxv.h>

void weir_cpu_hash(struct weir_hash128 *h)
{
    uint64_t words[2] = {getauxval(AT_HWCAP), getauxval(AT_HWCAP2)};

    weir_hash128_add_field(h, words, sizeof words);
}

const char *weir_cpu_missing(void)
{
    return NULL; /* Advanced SIMD is always there */
}

#else
#error "this processor is not supported"
#endif
