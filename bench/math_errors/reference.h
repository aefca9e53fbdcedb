/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_BENCH_REFERENCE_H
#define WEIR_BENCH_REFERENCE_H
#ifdef __cplusplus
extern "C" {
#endif
/* v: the arguments, an integer order in v[3]. Returns ulps; 1e9 for a wrong NaN or infinity. */
double weir_reference_error(const char *name, const double *v, double got, int digits, int least,
                            double most, double *absolute);
#ifdef __cplusplus
}
#endif
#endif
