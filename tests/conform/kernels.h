/* Kernels for the tests, as PTX text loaded with cudaLibraryLoadData. tests/conform/stub_jit has
 * the same by hand, for runs without the compiler.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TESTS_KERNELS_H
#define WEIR_TESTS_KERNELS_H

static const char kernels_ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .global .align 4 .u32 counter[4] = {5, 6, 7, 8};\n"
    ".visible .entry empty()\n{\n\tret;\n}\n"
    ".visible .entry store(.param .u64 p, .param .u32 v)\n{\n"
    "\t.reg .b64 %rd<2>;\n\t.reg .b32 %r<2>;\n"
    "\tld.param.u64 %rd1, [p];\n\tld.param.u32 %r1, [v];\n\tst.volatile.u32 [%rd1], "
    "%r1;\n\tret;\n}\n"
    ".visible .entry count(.param .u64 p)\n{\n\t.reg .b64 %rd<2>;\n\t.reg .b32 %r<2>;\n"
    "\tld.param.u64 %rd1, [p];\n\tatom.add.u32 %r1, [%rd1], 1;\n\tret;\n}\n"
    ".visible .entry spin(.param .u64 flag)\n{\n\t.reg .b64 %rd<2>;\n\t.reg .b32 %r<2>;\n"
    "\t.reg .pred %p<2>;\n\tld.param.u64 %rd1, [flag];\nagain:\n\tld.volatile.u32 %r1, [%rd1];\n"
    "\tsetp.eq.u32 %p1, %r1, 0;\n\t@%p1 bra again;\n\tret;\n}\n"
    ".visible .entry hold(.param .u64 words)\n{\n\t.reg .b64 %rd<2>;\n\t.reg .b32 %r<2>;\n"
    "\t.reg .pred %p<2>;\n\tld.param.u64 %rd1, [words];\n\tatom.add.u32 %r1, [%rd1+4], 1;\nagain:\n"
    "\tld.volatile.u32 %r1, [%rd1];\n\tsetp.eq.u32 %p1, %r1, 0;\n\t@%p1 bra again;\n\tret;\n}\n"
    ".visible .entry turn(.param .u64 n)\n{\n\t.reg .b64 %rd<2>;\n\t.reg .pred %p<2>;\n"
    "\tld.param.u64 %rd1, [n];\nagain:\n\tadd.u64 %rd1, %rd1, -1;\n"
    "\tsetp.gt.s64 %p1, %rd1, 0;\n\t@%p1 bra again;\n\tret;\n}\n"
    ".visible .entry trap()\n{\n\ttrap;\n\tret;\n}\n"
    ".visible .entry bounded(.param .u64 p)\n.maxntid 64, 1, 1\n{\n\tret;\n}\n";

#endif
