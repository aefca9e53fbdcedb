/* Operations that wait in a stream keep what they were given: arguments of every size, block and
 * grid of kernels, shapes of copies and memsets, captured sources; many of them, behind one that is
 * held. Rules: ORD-001.
 * SPDX-License-Identifier: Apache-2.0 */
#include "conform.h"

#include <stdlib.h>

/* How many bytes of arguments: around the sizes at which an operation keeps them elsewhere. */
static const unsigned sizes[] = {17, 32, 33, 96, 97, 256, 257, 4000};
enum { SIZES = sizeof sizes / sizeof *sizes, TURNS = 40, OUT = 16 };

static cudaStream_t s;

/* entry kN(out, N - 8 bytes): stores the first and the last of the bytes, and the block's shape. */
static cudaKernel_t load(unsigned bytes)
{
    static char ptx[1500];
    cudaLibrary_t lib;
    cudaKernel_t k = NULL;

    snprintf(ptx, sizeof ptx,
             ".version 7.0\n.target sm_70\n.address_size 64\n"
             ".visible .entry k(.param .u64 out, .param .align 1 .b8 bytes[%u])\n{\n"
             "\t.reg .b64 %%rd<3>;\n\t.reg .b32 %%r<8>;\n"
             "\tld.param.u64 %%rd1, [out];\n"
             "\tld.param.u8 %%r1, [bytes];\n\tld.param.u8 %%r2, [bytes+%u];\n"
             "\tst.global.u32 [%%rd1], %%r1;\n\tst.global.u32 [%%rd1+4], %%r2;\n"
             "\tmov.u32 %%r3, %%ntid.x;\n\tmov.u32 %%r4, %%ntid.z;\n\tmov.u32 %%r5, %%nctaid.y;\n"
             "\tmad.lo.u32 %%r3, %%r4, 2000, %%r3;\n\tst.global.u32 [%%rd1+8], %%r3;\n"
             "\tst.global.u32 [%%rd1+12], %%r5;\n\tret;\n}\n",
             bytes - 8, bytes - 9);
    OK(cudaLibraryLoadData(&lib, ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLibraryGetKernel(&k, lib, "k"));
    return k;
}

static void check_arguments(void)
{
    cudaKernel_t kernels[SIZES];
    unsigned *out, *got = malloc(SIZES * TURNS * OUT);
    struct hold h;

    for (int i = 0; i < SIZES; i++)
        kernels[i] = load(sizes[i]);
    OK(cudaMalloc((void **)&out, SIZES * TURNS * OUT));
    hold_stream(&h, s);
    for (int n = 0; n < SIZES * TURNS; n++) {
        static unsigned char bytes[4096];
        unsigned *to = out + n * 4;
        void *args[] = {&to, bytes};

        memset(bytes, 0, sizeof bytes);
        bytes[0] = (unsigned char)(n + 1);
        bytes[sizes[n % SIZES] - 9] = (unsigned char)(n + 7);
        OK(cudaLaunchKernel((void *)kernels[n % SIZES], (dim3){1, 1 + (unsigned)n % 3, 1},
                            (dim3){n % 5 == 3 ? 500 : 1, 1, n % 5 == 3 ? 2 : 1}, args, 0, s));
    }
    hold_release(&h);
    OK(cudaStreamSynchronize(s));
    OK(cudaMemcpy(got, out, SIZES * TURNS * OUT, cudaMemcpyDeviceToHost));
    for (unsigned n = 0; n < SIZES * TURNS; n++) {
        unsigned last = (n + 7) & 0xff, first = (n + 1) & 0xff;

        CHECK(got[n * 4] == first && got[n * 4 + 1] == last);
        CHECK(got[n * 4 + 2] == (n % 5 == 3 ? 4500 : 2001) && got[n * 4 + 3] == 1 + n % 3);
    }
    OK(cudaFree(out));
    free(got);
}

/* Rows, rectangles, boxes, memsets and pageable sources in turn, each to a place of its own. */
static void check_copies(void)
{
    enum { N = 300, PLACE = 64 };
    unsigned char *d, *pinned, *got = malloc(N * PLACE), pageable[PLACE];
    struct hold h;

    OK(cudaMalloc((void **)&d, N * PLACE));
    OK(cudaMallocHost((void **)&pinned, N * PLACE));
    OK(cudaMemset(d, 0, N * PLACE));
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < N * PLACE; i++)
        pinned[i] = (unsigned char)(i / PLACE + i % PLACE);
    hold_stream(&h, s);
    for (int n = 0; n < N; n++) {
        unsigned char *to = d + n * PLACE, *from = pinned + n * PLACE;

        memset(pageable, n, sizeof pageable);
        switch (n % 5) {
        case 0:
            OK(cudaMemcpyAsync(to, from, 20, cudaMemcpyHostToDevice, s));
            break;
        case 1:
            OK(cudaMemcpy2DAsync(to, 16, from, 8, 4, 3, cudaMemcpyHostToDevice, s));
            break;
        case 2:
            OK(cudaMemsetAsync(to, n, 20, s));
            break;
        case 3:
            OK(cudaMemset2DAsync(to, 16, n, 4, 3, s));
            break;
        case 4:
            OK(cudaMemcpyAsync(to, pageable, 20, cudaMemcpyHostToDevice, s));
            break;
        }
    }
    hold_release(&h);
    OK(cudaStreamSynchronize(s));
    OK(cudaMemcpy(got, d, N * PLACE, cudaMemcpyDeviceToHost));
    for (int n = 0; n < N; n++) {
        const unsigned char *at = got + n * PLACE;

        for (int i = 0; i < PLACE; i++) {
            bool rectangle = n % 5 == 1 || n % 5 == 3;
            bool in = rectangle ? i < 48 && i % 16 < 4 : i < 20;
            unsigned value = n % 5 == 0   ? (unsigned)(n + i)
                             : n % 5 == 1 ? (unsigned)(n + i / 16 * 8 + i % 16)
                                          : (unsigned)n;

            CHECK(at[i] == (in ? (value & 0xff) : 0));
        }
    }
    OK(cudaFree(d));
    OK(cudaFreeHost(pinned));
    free(got);
}

int main(void)
{
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    check_arguments();
    check_copies();
    return CONFORM_END();
}
