/* What a launch says when there is nothing that can run, and when a symbol is missing: by argument,
 * this file's own kernel, or device code loaded from text.
 * SPDX-License-Identifier: Apache-2.0 */
#include <cstdio>

static const char text[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".extern .func (.param .b32 r) not_defined_anywhere(.param .b32 a);\n"
    ".visible .entry good() { ret; }\n"
    ".visible .entry bad() { .param .b32 a; .param .b32 r; st.param.b32 [a], 1;\n"
    "call.uni (r), not_defined_anywhere, (a); ret; }\n";

__global__ void kernel(int *out)
{
    *out = 1;
}

static void say(const char *what, cudaError_t err)
{
    printf("%s: %s\n", what, cudaGetErrorName(err));
}

int main(int argc, char **argv)
{
    cudaLibrary_t library;
    cudaKernel_t good, bad;
    int *out;

    (void)argv;
    say("malloc", cudaMalloc(&out, 4));
    if (argc == 1) {
        kernel<<<1, 1>>>(out);
        say("first launch", cudaGetLastError());
        kernel<<<1, 1>>>(out);
        say("second launch", cudaGetLastError());
    } else {
        say("load", cudaLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
        say("kernel", cudaLibraryGetKernel(&good, library, "good"));
        say("kernel", cudaLibraryGetKernel(&bad, library, "bad"));
        say("good", cudaLaunchKernel((void *)good, 1, 1, NULL, 0, 0));
        say("bad", cudaLaunchKernel((void *)bad, 1, 1, NULL, 0, 0));
        say("unload", cudaLibraryUnload(library));
    }
    say("synchronize", cudaDeviceSynchronize());
    say("memset", cudaMemset(out, 0, 4)); /* the device is good all the same */
    return 0;
}
