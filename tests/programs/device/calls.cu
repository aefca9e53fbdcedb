/* Calls: virtual functions, recursion of every kind, pointers to functions, alloca, barriers inside
 * of recursion, a stack that is full.
 * SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
struct shape {
    __device__ virtual ~shape() {}
    __device__ virtual float area() const = 0;
    __device__ virtual int sides() const { return 0; }
};
struct circle : shape {
    float r;
    __device__ circle(float r) : r(r) {}
    __device__ float area() const override { return 3 * r * r; }
};
struct square : shape {
    float a;
    __device__ square(float a) : a(a) {}
    __device__ float area() const override { return a * a; }
    __device__ int sides() const override { return 4; }
};
__global__ void virtuals(float *out, int *sides)
{
    int t = threadIdx.x;
    shape *s = t % 3 ? (shape *)new circle(t) : new square(t);
    out[t] = s->area();
    sides[t] = s->sides();
    delete s;
}
__device__ __noinline__ int fact(int n)
{
    return n <= 1 ? 1 : n * fact(n - 1);
}
__device__ __noinline__ int fib(int n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}
__device__ __noinline__ int ack(int m, int n)
{
    if (m == 0)
        return n + 1;
    if (n == 0)
        return ack(m - 1, 1);
    return ack(m - 1, ack(m, n - 1));
}
__device__ int is_odd(int n);
__device__ __noinline__ int is_even(int n)
{
    return n == 0 ? 1 : is_odd(n - 1);
}
__device__ __noinline__ int is_odd(int n)
{
    return n == 0 ? 0 : is_even(n - 1);
}
__global__ void recursive(int *out)
{
    int t = threadIdx.x;
    out[t * 4] = fact(t % 12);
    out[t * 4 + 1] = fib(t % 10);
    out[t * 4 + 2] = ack(t % 3, t % 4);
    out[t * 4 + 3] = is_even(t);
}
__device__ __noinline__ void qsort_rec(int *a, int lo, int hi)
{
    if (lo >= hi)
        return;
    int p = a[(lo + hi) / 2], i = lo, j = hi;
    while (i <= j) {
        while (a[i] < p)
            i++;
        while (a[j] > p)
            j--;
        if (i <= j) {
            int x = a[i];
            a[i] = a[j];
            a[j] = x;
            i++;
            j--;
        }
    }
    qsort_rec(a, lo, j);
    qsort_rec(a, i, hi);
}
__global__ void sorts(int *a, int n)
{
    qsort_rec(a + threadIdx.x * n, 0, n - 1);
}
struct big {
    double v[8];
    int k;
};
__device__ __noinline__ big deep(big b, int n)
{
    int local[8];
    for (int i = 0; i < 8; i++)
        local[i] = n + i;
    if (n == 0)
        return b;
    b.v[n % 8] += local[(n * 3) % 8];
    b.k += n;
    big r = deep(b, n - 1);
    r.v[0] += local[n % 8];
    return r;
}
__host__ __device__ void deep_ref(double *v, int *k, int n)
{
    if (n == 0)
        return;
    v[n % 8] += n + (n * 3) % 8;
    *k += n;
    deep_ref(v, k, n - 1);
    v[0] += n + n % 8;
}
__global__ void structs(big *out)
{
    big b;
    for (int i = 0; i < 8; i++)
        b.v[i] = threadIdx.x * i;
    b.k = 0;
    out[threadIdx.x] = deep(b, threadIdx.x % 9);
}
typedef float (*op)(float, float);
__device__ float f_add(float a, float b)
{
    return a + b;
}
__device__ float f_mul(float a, float b)
{
    return a * b;
}
__device__ float f_sub(float a, float b)
{
    return a - b;
}
__device__ op table[3] = {f_add, f_mul, f_sub};
__device__ op one = f_mul;
__global__ void pointers(float *out, op from_host)
{
    int t = threadIdx.x;
    out[t] = table[t % 3]((float)t, 2.0f);
    out[64 + t] = from_host((float)t, 3.0f);
}
__device__ __noinline__ int depth_sync(int n, int *s)
{
    __syncthreads();
    if (n == 0)
        return s[threadIdx.x ^ 1];
    s[threadIdx.x] += n;
    return depth_sync(n - 1, s) + n;
}
__global__ void barriers_inside(int *out)
{
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = depth_sync(3, s);
}
__global__ void allocas(int *out, int n)
{
    int *p = (int *)__builtin_alloca(n * sizeof(int) * (threadIdx.x % 4 + 1));
    int m = n * (threadIdx.x % 4 + 1);
    for (int i = 0; i < m; i++)
        p[i] = i * threadIdx.x;
    int s = 0;
    for (int i = 0; i < m; i++)
        s += p[m - 1 - i];
    out[threadIdx.x] = s;
}
struct node {
    int v;
    node *l, *r;
};
__device__ __noinline__ node *insert(node *n, int v)
{
    if (!n) {
        n = (node *)malloc(sizeof(node));
        n->v = v;
        n->l = n->r = nullptr;
        return n;
    }
    if (v < n->v)
        n->l = insert(n->l, v);
    else
        n->r = insert(n->r, v);
    return n;
}
__device__ __noinline__ int walk(node *n, int *out, int at)
{
    if (!n)
        return at;
    at = walk(n->l, out, at);
    out[at++] = n->v;
    at = walk(n->r, out, at);
    free(n);
    return at;
}
__global__ void tree(int *out, int n)
{
    node *r = nullptr;
    unsigned x = threadIdx.x + 1;
    for (int i = 0; i < n; i++) {
        x = x * 1664525 + 1013904223;
        r = insert(r, x >> 8);
    }
    walk(r, out + threadIdx.x * n, 0);
}
__device__ __noinline__ int down(int n, volatile int *p)
{
    int a[64];
    for (int i = 0; i < 64; i++)
        a[i] = p[i & 3] + n;
    int r = n == 0 ? 1 : down(n - 1, p);
    for (int i = 0; i < 64; i++)
        r += a[i] - p[i & 3];
    return r;
}
__global__ void over(int n, int *p)
{
    p[8 + threadIdx.x] = down(n, p);
}
// an expression of objects that evaluate their parts
struct expr {
    __device__ virtual int eval(int x) const = 0;
    __device__ virtual ~expr() {}
};
struct var : expr {
    __device__ int eval(int x) const override { return x; }
};
struct num : expr {
    int v;
    __device__ num(int v) : v(v) {}
    __device__ int eval(int) const override { return v; }
};
struct sum : expr {
    const expr *a, *b;
    __device__ sum(const expr *a, const expr *b) : a(a), b(b) {}
    __device__ int eval(int x) const override { return a->eval(x) + b->eval(x + 1); }
};
struct product : expr {
    const expr *a, *b;
    __device__ product(const expr *a, const expr *b) : a(a), b(b) {}
    __device__ int eval(int x) const override { return a->eval(x) * b->eval(x); }
};
__global__ void expressions(int *out)
{
    int t = threadIdx.x;
    const expr *e = new var;
    for (int k = 0; k < t % 6; k++)
        e = (k + t) % 2 ? (const expr *)new sum(e, new num(k))
                        : (const expr *)new product(e, new sum(new var, new num(t)));
    out[t] = e->eval(t);
}
static int expression_ref(int t, int k, int x)
{
    if (k == 0)
        return x;
    int a = expression_ref(t, k - 1, x);
    return (k - 1 + t) % 2 ? a + (k - 1) : a * (x + t);
}
static int h_fact(int n)
{
    return n <= 1 ? 1 : n * h_fact(n - 1);
}
static int h_fib(int n)
{
    return n < 2 ? n : h_fib(n - 1) + h_fib(n - 2);
}
static int h_ack(int m, int n)
{
    if (m == 0)
        return n + 1;
    if (n == 0)
        return h_ack(m - 1, 1);
    return h_ack(m - 1, h_ack(m, n - 1));
}
int main()
{
    CU(cudaDeviceSetLimit(cudaLimitStackSize, 16 << 10)); /* a GPU's default is 1 KiB */
    int *out = mem<int>(65536);
    float *f = mem<float>(1024);
    {
        virtuals<<<1, 64>>>(f, out);
        SYNC();
        for (int t = 0; t < 64; t++)
            OK(f[t] == (t % 3 ? 3.f * t * t : 1.f * t * t) && out[t] == (t % 3 ? 0 : 4));
    }
    {
        recursive<<<1, 64>>>(out);
        SYNC();
        for (int t = 0; t < 64; t++)
            OK(out[4 * t] == h_fact(t % 12) && out[4 * t + 1] == h_fib(t % 10) &&
               out[4 * t + 2] == h_ack(t % 3, t % 4) && out[4 * t + 3] == (t % 2 == 0));
    }
    {
        for (int i = 0; i < 32 * 100; i++)
            out[i] = (i * 7919) % 1009;
        sorts<<<1, 32>>>(out, 100);
        SYNC();
        for (int t = 0; t < 32; t++)
            for (int i = 1; i < 100; i++)
                OK(out[t * 100 + i - 1] <= out[t * 100 + i]);
    }
    {
        big *b = mem<big>(64);
        structs<<<1, 64>>>(b);
        SYNC();
        for (int t = 0; t < 64; t++) {
            double v[8];
            int k = 0;
            for (int i = 0; i < 8; i++)
                v[i] = t * i;
            deep_ref(v, &k, t % 9);
            for (int i = 0; i < 8; i++)
                OK(b[t].v[i] == v[i]);
            OK(b[t].k == k);
        }
    }
    {
        expressions<<<1, 64>>>(out);
        SYNC();
        for (int t = 0; t < 64; t++)
            OK(out[t] == expression_ref(t, t % 6, t));
    }
    {
        op h;
        CU(cudaMemcpyFromSymbol(&h, one, sizeof h));
        pointers<<<1, 64>>>(f, h);
        SYNC();
        for (int t = 0; t < 64; t++)
            OK(f[t] == (t % 3 == 0   ? t + 2.f
                        : t % 3 == 1 ? t * 2.f
                                     : t - 2.f) &&
               f[64 + t] == t * 3.f);
    }
    {
        barriers_inside<<<1, 64>>>(out);
        SYNC();
        for (int t = 0; t < 64; t++)
            OK(out[t] == (t ^ 1) + 6 + 6);
    }
    {
        allocas<<<1, 64>>>(out, 10);
        SYNC();
        for (int t = 0; t < 64; t++) {
            int m = 10 * (t % 4 + 1);
            OK(out[t] == t * (m * (m - 1) / 2));
        }
    }
    {
        tree<<<1, 32>>>(out, 60);
        SYNC();
        for (int t = 0; t < 32; t++)
            for (int i = 1; i < 60; i++)
                OK(out[t * 60 + i - 1] <= out[t * 60 + i]);
    }
    { // deeper than the stack
        over<<<1, 32>>>(20, out);
        SYNC();
        OK(out[8] == 64 * (20 * 21 / 2) + 1);
        over<<<1, 32>>>(1 << 20, out);
        OK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    }
    return done("calls");
}
