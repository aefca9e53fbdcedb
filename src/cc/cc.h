/* `weir cc`: CUDA C++ to ordinary executables, with clang's NVPTX back end and Weir's own
 * headers; no NVIDIA software. A driver in nvcc's manner: it runs clang once per architecture
 * for the device, packs the PTX into a fat binary (fatbin/fatbin.h), runs clang for the host and
 * links with our libcudart.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CC_CC_H
#define WEIR_CC_CC_H

/* The subcommand: argv[0] is its name, options and files follow. Returns the exit status: 0, or 1
 * after a message on stderr. Thread: the process's only one (starts and awaits compilers). */
int weir_cc_main(int argc, char **argv);
/* clang++ with all of argv[1..], for links only: adds the folder of Weir's runtime to those that
 * the program searches. Returns the exit status. Thread: as above. */
int weir_cc_link_main(int argc, char **argv);

#endif
