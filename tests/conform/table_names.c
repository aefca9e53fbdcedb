/* Prints the names of the API's table, one a line, for exports.sh; checks the table itself on the
 * way.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "runtime/api.h"

int main(void)
{
    size_t n;
    const struct weir_api_entry *t = weir_api_table(&n);

    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++) {
            if (strcmp(t[i].name, t[k].name) == 0) {
                fprintf(stderr, "%s is there twice\n", t[i].name);
                return 1;
            }
        }
        puts(t[i].name);
    }
    return 0;
}
