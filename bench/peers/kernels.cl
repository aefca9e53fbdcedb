/* SPDX-License-Identifier: Apache-2.0
 * kernels.cl - OpenCL-dialect twins of kernels.cuh (own code) */
__kernel void k_saxpy(__global const float *x, __global const float *y, __global float *z, float a,
                      int n)
{
    int i = get_global_id(0);
    if (i < n)
        z[i] = a * x[i] + y[i];
}
__kernel void k_heavy(__global float *v, int n)
{
    int i = get_global_id(0);
    if (i < n) {
        float t = v[i];
        for (int k = 0; k < 64; k++)
            t = t * 0.999f + 0.001f;
        v[i] = t;
    }
}
__kernel void k_mat_tiled16(__global const float *A, __global const float *B, __global float *C,
                            int n)
{
    __local float sa[16][16];
    __local float sb[16][16];
    int tx = get_local_id(0), ty = get_local_id(1), r = get_group_id(1) * 16 + ty,
        c = get_group_id(0) * 16 + tx;
    float s = 0;
    for (int t = 0; t < n; t += 16) {
        sa[ty][tx] = A[r * n + t + tx];
        sb[ty][tx] = B[(t + ty) * n + c];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < 16; k++)
            s += sa[ty][k] * sb[k][tx];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    C[r * n + c] = s;
}
__kernel void k_mat_tiled32(__global const float *A, __global const float *B, __global float *C,
                            int n)
{
    __local float sa[32][32];
    __local float sb[32][32];
    int tx = get_local_id(0), ty = get_local_id(1), r = get_group_id(1) * 32 + ty,
        c = get_group_id(0) * 32 + tx;
    float s = 0;
    for (int t = 0; t < n; t += 32) {
        sa[ty][tx] = A[r * n + t + tx];
        sb[ty][tx] = B[(t + ty) * n + c];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < 32; k++)
            s += sa[ty][k] * sb[k][tx];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    C[r * n + c] = s;
}
__kernel void k_mat_naive(__global const float *A, __global const float *B, __global float *C,
                          int n)
{
    int c = get_global_id(0), r = get_global_id(1);
    if (r < n && c < n) {
        float s = 0;
        for (int k = 0; k < n; k++)
            s += A[r * n + k] * B[k * n + c];
        C[r * n + c] = s;
    }
}
__kernel void k_reduce(__global const float *x, __global float *part, int n)
{
    __local float sh[256];
    int t = get_local_id(0), i = get_group_id(0) * 256 + t;
    sh[t] = i < n ? x[i] : 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int o = 128; o > 0; o >>= 1) {
        if (t < o)
            sh[t] += sh[t + o];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (t == 0)
        part[get_group_id(0)] = sh[0];
}
__kernel void k_blur(__global const float *in, __global float *out, int w, int h, int off)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= w || y >= h)
        return;
    in += off;
    out += off;
    const float g[5] = {1.f / 16, 4.f / 16, 6.f / 16, 4.f / 16, 1.f / 16};
    float s = 0;
    for (int j = -2; j <= 2; j++)
        for (int i = -2; i <= 2; i++) {
            int xx = x + i, yy = y + j;
            xx = xx < 0 ? 0 : (xx >= w ? w - 1 : xx);
            yy = yy < 0 ? 0 : (yy >= h ? h - 1 : yy);
            s += g[j + 2] * g[i + 2] * in[yy * w + xx];
        }
    out[y * w + x] = s > 0.5f ? s : 0.0f;
}
__kernel void k_nbody(__global const float4 *p, __global float4 *acc, int n)
{
    __local float4 sp[256];
    int l = get_local_id(0), i = get_global_id(0);
    float4 me = p[i];
    float ax = 0, ay = 0, az = 0;
    for (int t = 0; t < n; t += 256) {
        sp[l] = p[t + l];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int j = 0; j < 256; j++) {
            float dx = sp[j].x - me.x, dy = sp[j].y - me.y, dz = sp[j].z - me.z;
            float d = dx * dx + dy * dy + dz * dz + 0.01f;
            float q = rsqrt(d);
            float k = sp[j].w * q * q * q;
            ax += dx * k;
            ay += dy * k;
            az += dz * k;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    acc[i] = (float4)(ax, ay, az, 0);
}
__kernel void k_hist(__global const uchar *p, __global uint *h, int n)
{
    __local uint sh[256];
    int l = get_local_id(0);
    sh[l] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    int st = get_global_size(0);
    for (int i = get_global_id(0); i < n; i += st)
        atomic_inc(&sh[p[i]]);
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_add(&h[l], sh[l]);
}
__kernel void k_mandel(__global int *it, int w, int h)
{
    int x = get_global_id(0), y = get_global_id(1);
    float cx = -2.25f + x * (3.0f / w), cy = -1.5f + y * (3.0f / h), zx = 0, zy = 0;
    int n = 0;
    while (n < 256) {
        float x2 = zx * zx, y2 = zy * zy;
        if (x2 + y2 > 4.0f)
            break;
        zy = 2.0f * zx * zy + cy;
        zx = x2 - y2 + cx;
        n++;
    }
    it[y * w + x] = n;
}
__kernel void k_empty(int n) {}
