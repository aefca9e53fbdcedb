/* Entry points of the modules, by number.
 * SPDX-License-Identifier: Apache-2.0 */
#define CONCAT_(a, b) a##b
#define CONCAT(a, b)  CONCAT_(a, b)
#define EXPORT        __attribute__((visibility("default")))
