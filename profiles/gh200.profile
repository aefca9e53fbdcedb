# SPDX-License-Identifier: Apache-2.0
# NVIDIA GH200 480GB (96 GB HBM3). What is not said here is as for the H200, the same capability.
like            h200
name            NVIDIA GH200 480GB
memory          103079215104 # data sheet: 96 GB
attribute 16   132         # MultiProcessorCount; architecture white paper
attribute 13   1980000     # ClockRate; data sheet, boost clock
attribute 36   2619000     # MemoryClockRate; data sheet: 4 TB/s over 6144 bits
attribute 37   6144        # GlobalMemoryBusWidth; data sheet
attribute 86   1           # HostNativeAtomicSupported; architecture white paper: NVLink-C2C has native atomics
attribute 88   1           # PageableMemoryAccess; programming guide, unified memory: system-allocated memory is accessible
attribute 100  1           # PageableMemoryAccessUsesHostPageTables; the same, over the host page tables
attribute 101  1           # DirectManagedMemAccessFromHost; the same
attribute 139  591532254   # GpuPciDeviceId; PCI id list: 10de:2342
# Costs not said are the H200's. Copies: NVLink-C2C, by the share of its bus that the H200 reaches (55.2 of 63.0 GB/s).
cost h2d-gbps          394   # data sheet: 450 GB/s each way
cost d2h-gbps          394
cost device-gbps       3470  # data sheet: 4023 GB/s, by the H200's share (4150 of 4814)
