/* SPDX-License-Identifier: Apache-2.0
 * kernels.cuh - CUDA-dialect kernels (own code); included by the CUDA (CuPBoP) and HIP-CPU drivers.
   The includer defines RSQRT(x), and WARP32 when 32-lane shuffles are available. */
__global__ void k_saxpy(const float *x, const float *y, float *z, float a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        z[i] = a * x[i] + y[i];
}
__global__ void k_heavy(float *v, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float t = v[i];
        for (int k = 0; k < 64; k++)
            t = t * 0.999f + 0.001f;
        v[i] = t;
    }
}
__global__ void k_mat_tiled16(const float *A, const float *B, float *C, int n)
{
    __shared__ float sa[16][16];
    __shared__ float sb[16][16];
    int tx = threadIdx.x, ty = threadIdx.y, r = blockIdx.y * 16 + ty, c = blockIdx.x * 16 + tx;
    float s = 0;
    for (int t = 0; t < n; t += 16) {
        sa[ty][tx] = A[r * n + t + tx];
        sb[ty][tx] = B[(t + ty) * n + c];
        __syncthreads();
        for (int k = 0; k < 16; k++)
            s += sa[ty][k] * sb[k][tx];
        __syncthreads();
    }
    C[r * n + c] = s;
}
__global__ void k_mat_tiled32(const float *A, const float *B, float *C, int n)
{
    __shared__ float ta[32][32];
    __shared__ float tb[32][32];
    int tx = threadIdx.x, ty = threadIdx.y, r = blockIdx.y * 32 + ty, c = blockIdx.x * 32 + tx;
    float s = 0;
    for (int t = 0; t < n; t += 32) {
        ta[ty][tx] = A[r * n + t + tx];
        tb[ty][tx] = B[(t + ty) * n + c];
        __syncthreads();
        for (int k = 0; k < 32; k++)
            s += ta[ty][k] * tb[k][tx];
        __syncthreads();
    }
    C[r * n + c] = s;
}
__global__ void k_mat_naive(const float *A, const float *B, float *C, int n)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < n && c < n) {
        float s = 0;
        for (int k = 0; k < n; k++)
            s += A[r * n + k] * B[k * n + c];
        C[r * n + c] = s;
    }
}
__global__ void k_reduce(const float *x, float *part, int n)
{
    __shared__ float sh[256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    sh[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int o = 128; o > 0; o >>= 1) {
        if (t < o)
            sh[t] += sh[t + o];
        __syncthreads();
    }
    if (t == 0)
        part[blockIdx.x] = sh[0];
}
__global__ void k_blur(const float *in, float *out, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h)
        return;
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
__global__ void k_nbody(const float4 *p, float4 *acc, int n)
{
    __shared__ float4 sp[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    float4 me = p[i];
    float ax = 0, ay = 0, az = 0;
    for (int t = 0; t < n; t += 256) {
        sp[threadIdx.x] = p[t + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < 256; j++) {
            float dx = sp[j].x - me.x, dy = sp[j].y - me.y, dz = sp[j].z - me.z;
            float d = dx * dx + dy * dy + dz * dz + 0.01f;
            float q = RSQRT(d);
            float k = sp[j].w * q * q * q;
            ax += dx * k;
            ay += dy * k;
            az += dz * k;
        }
        __syncthreads();
    }
    float4 r;
    r.x = ax;
    r.y = ay;
    r.z = az;
    r.w = 0;
    acc[i] = r;
}
__global__ void k_hist(const unsigned char *p, unsigned *h, int n)
{
    __shared__ unsigned sh_h[256];
    sh_h[threadIdx.x] = 0;
    __syncthreads();
    int st = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += st)
        atomicAdd(&sh_h[p[i]], 1u);
    __syncthreads();
    atomicAdd(&h[threadIdx.x], sh_h[threadIdx.x]);
}
__global__ void k_mandel(int *it, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
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
#ifdef WARP32
__global__ void k_shfl(const float *x, float *part, int n)
{
    __shared__ float ws[8];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    float v = i < n ? x[i] : 0.0f;
    for (int o = 16; o > 0; o >>= 1)
        v += SHFL_DOWN(v, o);
    if ((t & 31) == 0)
        ws[t >> 5] = v;
    __syncthreads();
    if (t < 32) {
        v = t < 8 ? ws[t] : 0.0f;
        for (int o = 4; o > 0; o >>= 1)
            v += SHFL_DOWN(v, o);
        if (t == 0)
            part[blockIdx.x] = v;
    }
}
#endif
