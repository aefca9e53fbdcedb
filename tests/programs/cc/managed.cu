// __managed__ variables of all kinds, used by the host as plain variables: in expressions, through pointers, in both arms of
// a choice, as members, in templates and namespaces.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
static __device__ int mine = 3;
__managed__ int m = 7;
static __managed__ float arr[10];
struct S { int a; double b[3]; __host__ __device__ int get() const { return a; } };
__device__ __managed__ S s = {1,{2,3,4}};
namespace n { __managed__ int deep[2] = {10, 20}; }
template <class T> __managed__ T tv = T(5);
__global__ void k(int *p, int which) { *p += mine; arr[3] += 2; s.b[1] += s.get(); n::deep[1]++; tv<int> += 1; }
static int *pick(bool first) { return first ? &m : &n::deep[1]; }
int main() {
  int v = 0;
  k<<<1,1>>>(&m, 1);
  cudaDeviceSynchronize();
  m++;
  arr[3] += 5;
  int *q = pick(m == 11), *q2 = pick(m != 11);
  float *f = arr;
  S copy = s;
  cudaPointerAttributes at; cudaPointerGetAttributes(&at, &m);
  cudaMemcpyFromSymbol(&v, mine, 4);
  printf("%d %d %g %g %g %d %d type %d sym %d tv %d\n", *q, *q2, f[3], copy.b[1], (&s)->b[2], n::deep[1], s.get(), at.type, v, tv<int>);
  printf("RESULT %s\n", *q == 11 && *q2 == 21 && f[3] == 7 && copy.b[1] == 4 && at.type == cudaMemoryTypeManaged && v == 3 && tv<int> == 6 ? "PASS" : "FAIL");
}
