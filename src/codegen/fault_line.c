/* Which line of PTX an instruction of compiled code came from. Code that runs has no lines with it:
 * it is compiled once more, now with them, and when that gives the same code, it is the answer.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/loader.h"
#include "base/thread.h"
#include "codegen/codegen_int.h"
#include "codegen/object.h"

/* The tier of the variant that has pc in its code; -1: none. `code` is what ran, or an older tier
 * of it. */
static int tier_at(struct weir_cg_variant *v, const struct weir_kernel_code *code, uint64_t pc,
                   struct weir_image_place *place)
{
    const struct weir_kernel_code *both[2] = {code, weir_kernel_code_newest(code)};

    for (int t = 0; t < 2; t++) {
        const struct weir_cg_tier_code *c = &v->tiers[t];

        /* else it may be being made */
        if ((both[0] == &c->code || both[1] == &c->code) &&
            weir_image_find(c->image, (uintptr_t)pc, place))
            return t;
    }
    return -1;
}

struct again {
    struct weir_cg_job job;
    struct weir_jit_request request;
    struct weir_jit_result result;
    enum weir_err err;
    /* futex word; release by the job, acquire by who waits */
    _Atomic uint32_t done;
};

static void compile_again(struct weir_cg_job *job)
{
    struct again *a = WEIR_CONTAINER_OF(job, struct again, job);
    const struct weir_jit_api *jit;

    a->err = weir_cg_jit_open(&jit);
    if (a->err == WEIR_OK)
        a->err = jit->compile(&a->request, &a->result);
    atomic_store_explicit(&a->done, 1, memory_order_release);
    weir_futex_wake(&a->done, 1);
}

/* The same code but for what was relocated. */
static bool is_same(const struct weir_object *o, const struct weir_image_place *place)
{
    Elf64_Sym f, against;
    Elf64_Shdr s;
    Elf64_Rela r;
    unsigned char *code;
    bool same = true;

    if (!weir_object_symbol(o, place->name, &f) || f.st_size != place->bytes ||
        !weir_object_section(o, f.st_shndx, &s) || s.sh_type == SHT_NOBITS ||
        f.st_value > s.sh_size || f.st_size > s.sh_size - f.st_value)
        return false;
    code = weir_alloc(place->bytes);
    if (!code)
        return false;
    memcpy(code, (const void *)place->begin, place->bytes);
    const unsigned char *other = o->data + s.sh_offset + f.st_value;
    for (size_t n = 0; weir_object_relocation(o, f.st_shndx, n, &r, &against); n++) {
        uint64_t at = r.r_offset - f.st_value, width = 4; /* of all that code has */

        if (at < place->bytes && width <= place->bytes - at)
            memcpy(code + at, other + at, width);
    }
    same = memcmp(code, other, place->bytes) == 0;
    weir_free(code);
    return same;
}

static uint32_t line_of(struct weir_cg_variant *v, enum weir_jit_tier tier,
                        const struct weir_image_place *place, uint64_t pc)
{
    struct again a = {
        .job = {.run = compile_again, .owner = &a},
        .request = {.kernel = v->kernel->function,
                    .block = {v->block[0], v->block[1], v->block[2]},
                    .tier = tier,
                    .lines = WEIR_JIT_LINES_PTX,
                    .twin = weir_cg_settings()->checks,
                    .touch = weir_cg_settings()->touch,
                    .races = weir_cg_settings()->races,
                    .counts = weir_cg_settings()->counts},
    };
    struct weir_object o;
    uint32_t line = 0;

    if (weir_cg_job_submit(&a.job, true) != WEIR_OK)
        return 0;
    while (atomic_load_explicit(&a.done, memory_order_acquire) == 0)
        weir_loader_wait(&a.done, 0, UINT64_MAX);
    if (a.err != WEIR_OK)
        return 0;
    if (weir_object_open(&o, a.result.object, a.result.object_bytes) && is_same(&o, place))
        line = weir_object_line(&o, place->name, pc - place->begin);
    weir_cg_jit_if_open()->release(&a.result);
    return line;
}

uint32_t weir_cg_kernel_fault_line(struct weir_cg_kernel *k, const struct weir_kernel_code *code,
                                   const uint32_t block[3], uint64_t pc, uint32_t noted)
{
    struct weir_image_place place;
    struct weir_cg_variant *v = weir_cg_kernel_variant(k, block);
    int tier = v ? tier_at(v, code, pc, &place) : -1;

    if (tier < 0)
        return 0;
    if (strcmp(place.name, WEIR_CG_ENTRY) != 0)
        return noted;
    return line_of(v, (enum weir_jit_tier)tier, &place, pc);
}
