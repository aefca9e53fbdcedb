/* Kernels' names for people.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_BASE_KERNEL_NAME_H
#define WEIR_BASE_KERNEL_NAME_H

#include <stddef.h>

/* The name without scopes, template arguments and parameters: "scale" of _ZN2ns5scaleIfEEvPT_, and
 * any name that is not mangled as it is. Result: out. */
char *weir_kernel_plain_name(const char *mangled, char *out, size_t room);
/* The same with its scopes: "ns::scale". */
char *weir_kernel_scoped_name(const char *mangled, char *out, size_t room);
/* The same of a variable that a kernel uses, which may be declared inside of functions: "tile" of
 * _ZZ7productPKfPfE4tile. */
char *weir_kernel_variable_name(const char *mangled, char *out, size_t room);

#endif
