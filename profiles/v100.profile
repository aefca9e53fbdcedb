# SPDX-License-Identifier: Apache-2.0
# NVIDIA V100 SXM2 16 GB. What is not said here is as for the H200: limits that the programming guide gives alike for 7.0 and 9.0.
like            h200
name            Tesla V100-SXM2-16GB
memory          17179869184 # data sheet: 16 GB
persisting-l2   0 # begins with capability 8.0
shared-unit     256
attribute 13   1530000     # ClockRate; data sheet, boost clock
attribute 16   80          # MultiProcessorCount; data sheet
attribute 36   877000      # MemoryClockRate; data sheet: 900 GB/s over 4096 bits
attribute 37   4096        # GlobalMemoryBusWidth; data sheet
attribute 38   6291456     # L2CacheSize; architecture white paper: 6 MB
attribute 39   2048        # MaxThreadsPerMultiProcessor; CUDA programming guide, table of capabilities
attribute 75   7           # ComputeCapabilityMajor; CUDA programming guide, table of capabilities
attribute 76   0           # ComputeCapabilityMinor; CUDA programming guide, table of capabilities
attribute 81   98304       # MaxSharedMemoryPerMultiprocessor; CUDA programming guide, table of capabilities: 96 KB
attribute 97   98304       # MaxSharedMemoryPerBlockOptin; CUDA programming guide, table of capabilities: 96 KB
attribute 106  32          # MaxBlocksPerMultiprocessor; CUDA programming guide, table of capabilities
attribute 108  0           # MaxPersistingL2CacheSize; persisting accesses begin with capability 8.0 (programming guide)
attribute 109  0           # MaxAccessPolicyWindowSize; the same
attribute 111  0           # ReservedSharedMemoryPerBlock; reserved shared memory begins with capability 8.0 (occupancy tables)
attribute 120  0           # ClusterLaunch; clusters begin with capability 9.0 (programming guide)
attribute 139  498143454   # GpuPciDeviceId; PCI id list: 10de:1db1
# Costs not said are the H200's. Copies: what its bus carries in theory, by the share of it that the H200 reaches (55.2 of 63.0 GB/s).
cost h2d-gbps          13.8  # PCIe gen 3 x16: 15.75 GB/s
cost d2h-gbps          13.8
cost device-gbps       776   # data sheet: 900 GB/s, by the H200's share (4150 of 4814)
