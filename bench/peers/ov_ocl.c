/* SPDX-License-Identifier: Apache-2.0
 * PoCL overheads */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_ENABLE_BETA_EXTENSIONS
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include "ov.h"
#include <string.h>
#define CK(x)                                                                                      \
    do {                                                                                           \
        cl_int e_ = (x);                                                                           \
        if (e_) {                                                                                  \
            fprintf(stderr, "cl error %d line %d\n", e_, __LINE__);                                \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)
#define SYS "pocl3.1"
static const char *src = "__kernel void k_empty(int n){}\n__kernel void k_ch(__global volatile "
                         "int*c,int i){if(c[0]!=i)c[1]=1;c[0]=i+1;}\n";
int main(void)
{
    cl_platform_id pl;
    cl_device_id d;
    cl_int e;
    CK(clGetPlatformIDs(1, &pl, 0));
    CK(clGetDeviceIDs(pl, CL_DEVICE_TYPE_ALL, 1, &d, 0));
    cl_context ctx = clCreateContext(0, 1, &d, 0, 0, &e);
    CK(e);
    cl_command_queue A = clCreateCommandQueueWithProperties(ctx, d, 0, &e),
                     B = clCreateCommandQueueWithProperties(ctx, d, 0, &e);
    cl_queue_properties op[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
    cl_command_queue O = clCreateCommandQueueWithProperties(ctx, d, op, &e);
    int ooo = e == 0;
    cl_program p = clCreateProgramWithSource(ctx, 1, &src, 0, &e);
    CK(clBuildProgram(p, 1, &d, "", 0, 0));
    cl_kernel ke = clCreateKernel(p, "k_empty", &e), kc = clCreateKernel(p, "k_ch", &e);
    int *h = aligned_alloc(4096, 4096);
    h[0] = h[1] = 0;
    cl_mem m = clCreateBuffer(ctx, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, 4096, h, &e);
    int n = 0;
    CK(clSetKernelArg(ke, 0, 4, &n));
    CK(clSetKernelArg(kc, 0, 8, &m));
    size_t g = 1, l = 1;
    double t, be = 1e30, bt = 1e30;
#define ENQ(q, nw, w, ev) clEnqueueNDRangeKernel(q, ke, 1, 0, &g, &l, nw, w, ev)
    for (int r = 0; r < 4; r++) {
        double a = ns();
        for (int i = 0; i < N_ENQ; i++)
            CK(ENQ(A, 0, 0, 0));
        double b = ns();
        CK(clFinish(A));
        double z = ns();
        if (r) {
            if (b - a < be)
                be = b - a;
            if (z - a < bt)
                bt = z - a;
        }
    }
    rep("enqueue", SYS, be / N_ENQ, -1);
    rep("enqueue+drain", SYS, bt / N_ENQ, -1);
    be = bt = 1e30;
    for (int r = 0; r < 4; r++) {
        double a = ns();
        for (int i = 0; i < N_ENQ; i++)
            CK(clEnqueueMarkerWithWaitList(A, 0, 0, 0));
        double b = ns();
        CK(clFinish(A));
        double z = ns();
        if (r) {
            if (b - a < be)
                be = b - a;
            if (z - a < bt)
                bt = z - a;
        }
    }
    rep("enq marker", SYS, be / N_ENQ, -1);
    rep("marker+drain", SYS, bt / N_ENQ, -1);
    BEST(
        t, 5, for (int i = 0; i < N_RT; i++) {
            CK(ENQ(A, 0, 0, 0));
            CK(clFinish(A));
        });
    rep("roundtrip", SYS, t / N_RT, -1);
    BEST(
        t, 5, for (int i = 0; i < N_RT; i++) {
            CK(clEnqueueMarkerWithWaitList(A, 0, 0, 0));
            CK(clFinish(A));
        });
    rep("roundtrip mark", SYS, t / N_RT, -1);
    static cl_event ev[DN];
    BEST(t, 3, {
        h[0] = 0;
        for (int i = 0; i < N_CHAIN; i++) {
            cl_command_queue q = i & 1 ? B : A;
            CK(clSetKernelArg(kc, 1, 4, &i));
            CK(clEnqueueNDRangeKernel(q, kc, 1, 0, &g, &l, i ? 1 : 0, i ? &ev[i - 1] : 0, &ev[i]));
            if ((i & 255) == 255) {
                clFlush(A);
                clFlush(B);
            }
        }
        CK(clFinish(A));
        CK(clFinish(B));
        for (int i = 0; i < N_CHAIN; i++)
            clReleaseEvent(ev[i]);
    });
    rep("chain(2 queues)", SYS, t / N_CHAIN, h[0] == N_CHAIN && !h[1]);
    if (ooo) {
        BEST(t, 3, {
            for (int k = 0; k < DN; k++) {
                int L = k / DW, w = k % DW;
                cl_event wl[2];
                if (L) {
                    wl[0] = ev[(L - 1) * DW + w];
                    wl[1] = ev[(L - 1) * DW + (w + 1) % DW];
                }
                CK(ENQ(O, L ? 2 : 0, L ? wl : 0, &ev[k]));
            }
            CK(clFinish(O));
            for (int i = 0; i < DN; i++)
                clReleaseEvent(ev[i]);
        });
        rep("dag(rebuild)", SYS, t / DN, -1);
    }
    clCreateCommandBufferKHR_fn cc =
        clGetExtensionFunctionAddressForPlatform(pl, "clCreateCommandBufferKHR");
    clCommandNDRangeKernelKHR_fn cn =
        clGetExtensionFunctionAddressForPlatform(pl, "clCommandNDRangeKernelKHR");
    clFinalizeCommandBufferKHR_fn cf =
        clGetExtensionFunctionAddressForPlatform(pl, "clFinalizeCommandBufferKHR");
    clEnqueueCommandBufferKHR_fn ce =
        clGetExtensionFunctionAddressForPlatform(pl, "clEnqueueCommandBufferKHR");
    if (cc && cn && cf && ce && ooo) {
        cl_command_buffer_khr cb = cc(1, &O, 0, &e);
        if (e)
            cb = cc(1, &A, 0, &e);
        if (!e) {
            static cl_sync_point_khr sp[DN];
            for (int k = 0; k < DN; k++) {
                int L = k / DW, w = k % DW;
                cl_sync_point_khr wl[2];
                if (L) {
                    wl[0] = sp[(L - 1) * DW + w];
                    wl[1] = sp[(L - 1) * DW + (w + 1) % DW];
                }
                CK(cn(cb, 0, 0, ke, 1, 0, &g, &l, L ? 2 : 0, L ? wl : 0, &sp[k], 0));
            }
            CK(cf(cb));
            BEST(t, 3, {
                cl_event x;
                CK(ce(0, 0, cb, 0, 0, &x));
                CK(clWaitForEvents(1, &x));
                clReleaseEvent(x);
            });
            rep("dag(cmdbuf)", SYS, t / DN, -1);
        } else
            printf("command buffer create failed %d\n", e);
    }
    return 0;
}
