/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/api.h"

/* Only the functions' addresses are wanted here, whatever their types. */
#define DECLARE_NONE(symbol) void weir_api_cu##symbol(void);
#define DECLARE_PTSZ(symbol) DECLARE_NONE(symbol) DECLARE_NONE(symbol##_ptsz)
#define DECLARE_PTDS(symbol) DECLARE_NONE(symbol) DECLARE_NONE(symbol##_ptds)
#define WEIR_DRV(chapter, guard, variant, host, since, name, symbol, body, params, args)           \
    DECLARE_##variant(symbol)
#define WEIR_DRV_TODO(chapter, variant, why, since, name, symbol) DECLARE_##variant(symbol)
#include "driver.def"
#undef WEIR_DRV
#undef WEIR_DRV_TODO

#define ROW(chapter, done, variant, host, since, name, symbol)                                     \
    {"cu" #symbol, "cu" #name, #chapter, #host, since, done, variant, weir_api_cu##symbol},
#define ROWS_NONE(chapter, done, host, since, name, symbol)                                        \
    ROW(chapter, done, false, host, since, name, symbol)
#define ROWS_PTSZ(chapter, done, host, since, name, symbol)                                        \
    ROW(chapter, done, false, host, since, name, symbol)                                           \
    ROW(chapter, done, true, host, since, name, symbol##_ptsz)
#define ROWS_PTDS(chapter, done, host, since, name, symbol)                                        \
    ROW(chapter, done, false, host, since, name, symbol)                                           \
    ROW(chapter, done, true, host, since, name, symbol##_ptds)

static const struct weir_driver_entry entries[] = {
#define WEIR_DRV(chapter, guard, variant, host, since, name, symbol, body, params, args)           \
    ROWS_##variant(chapter, true, host, since, name, symbol)
#define WEIR_DRV_TODO(chapter, variant, why, since, name, symbol)                                  \
    ROWS_##variant(chapter, false, why, since, name, symbol)
#include "driver.def"
};

const struct weir_driver_entry *weir_api_driver_table(size_t *count)
{
    *count = WEIR_ARRAY_SIZE(entries);
    return entries;
}
