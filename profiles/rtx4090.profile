# SPDX-License-Identifier: Apache-2.0
# NVIDIA GeForce RTX 4090. What is not said here is as for the H200: limits that the programming guide gives alike for 8.9 and 9.0.
like            h200
name            NVIDIA GeForce RTX 4090
memory          25769803776 # data sheet: 24 GB
persisting-l2   0 # not published
attribute 13   2520000     # ClockRate; data sheet, boost clock
attribute 16   128         # MultiProcessorCount; architecture white paper
attribute 32   0           # EccEnabled; data sheet: no ECC by default
attribute 36   10501000    # MemoryClockRate; architecture white paper: 1008 GB/s over 384 bits
attribute 37   384         # GlobalMemoryBusWidth; data sheet
attribute 38   75497472    # L2CacheSize; architecture white paper: 72 MB
attribute 39   1536        # MaxThreadsPerMultiProcessor; CUDA programming guide, table of capabilities
attribute 40   2           # AsyncEngineCount; architecture white paper: two copy engines
attribute 75   8           # ComputeCapabilityMajor; CUDA programming guide, table of capabilities
attribute 76   9           # ComputeCapabilityMinor; CUDA programming guide, table of capabilities
attribute 81   102400      # MaxSharedMemoryPerMultiprocessor; CUDA programming guide, table of capabilities: 100 KB
attribute 87   64          # SingleToDoublePrecisionPerfRatio; CUDA programming guide, table of capabilities
attribute 97   101376      # MaxSharedMemoryPerBlockOptin; CUDA programming guide, table of capabilities: 99 KB
attribute 106  24          # MaxBlocksPerMultiprocessor; CUDA programming guide, table of capabilities
attribute 108  0           # MaxPersistingL2CacheSize; not published
attribute 116  0           # GPUDirectRDMASupported; GPUDirect RDMA documentation: professional cards only
attribute 120  0           # ClusterLaunch; clusters begin with capability 9.0 (programming guide)
attribute 139  646189278   # GpuPciDeviceId; PCI id list: 10de:2684
# Costs not said are the H200's. Copies: what its bus carries in theory, by the share of it that the H200 reaches (55.2 of 63.0 GB/s).
cost h2d-gbps          27.6  # PCIe gen 4 x16: 31.5 GB/s
cost d2h-gbps          27.6
cost device-gbps       869   # white paper: 1008 GB/s, by the H200's share (4150 of 4814)
