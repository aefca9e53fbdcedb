/* Entry points: how the static runtime, Numba and other bindings find the functions.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "driver/api.h"
#include "driver/drv.h"

/* The newest form of `base` that `version` knows; *known tells whether any version does. */
static const struct weir_driver_entry *find(const char *base, int version, bool per_thread,
                                            bool *known)
{
    const struct weir_driver_entry *table, *best = NULL;
    size_t count;

    *known = false;
    table = weir_api_driver_table(&count);
    for (size_t i = 0; i < count; i++) {
        if (table[i].variant || strcmp(table[i].base, base) != 0)
            continue;
        *known = true;
        if (table[i].since <= version && (!best || table[i].since > best->since))
            best = &table[i];
    }
    if (best && per_thread && best + 1 < table + count && best[1].variant)
        best++;
    return best;
}

enum weir_err weir_drv_GetProcAddress(const char *symbol, void **pfn, int cudaVersion,
                                      cuuint64_t flags,
                                      CUdriverProcAddressQueryResult *symbolStatus)
{
    union {
        void (*function)(void);
        void *object;
    } u = {NULL};
    const struct weir_driver_entry *entry;
    bool known;

    DRV_REQUIRE(symbol);
    DRV_REQUIRE(pfn);
    if (flags & ~(cuuint64_t)(CU_GET_PROC_ADDRESS_LEGACY_STREAM |
                              CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) ||
        flags ==
            (CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#llx", (unsigned long long)flags);
    if (cudaVersion > WEIR_DRIVER_VERSION)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "functions of CUDA %d", cudaVersion);
    entry =
        find(symbol, cudaVersion, flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &known);
    if (entry)
        u.function = entry->function;
    *pfn = u.object;
    if (symbolStatus)
        *symbolStatus = entry   ? CU_GET_PROC_ADDRESS_SUCCESS
                        : known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return WEIR_OK;
}

/* Before CUDA 12 there was no status, and what is not found is an error. */
enum weir_err weir_drv_GetProcAddressV1(const char *symbol, void **pfn, int cudaVersion,
                                        cuuint64_t flags)
{
    DRV_TRY(weir_drv_GetProcAddress(symbol, pfn, cudaVersion, flags, NULL));
    return *pfn ? WEIR_OK
                : WEIR_FAIL(WEIR_ERR_SYMBOL_NOT_FOUND, "no function %s in CUDA %d", symbol,
                            cudaVersion);
}

/* Tables of functions that nobody has documented. */
enum weir_err weir_drv_GetExportTable(const void **ppExportTable, const CUuuid *pExportTableId)
{
    DRV_REQUIRE(ppExportTable);
    DRV_REQUIRE(pExportTableId);
    *ppExportTable = NULL;
    return WEIR_FAIL(WEIR_ERR_SYMBOL_NOT_FOUND, "no undocumented tables here");
}
