# SPDX-License-Identifier: Apache-2.0
# NVIDIA A100 SXM4 40 GB. What is not said here is as for the H200: limits that the programming guide gives alike for 8.0 and 9.0.
like            h200
name            NVIDIA A100-SXM4-40GB
memory          42949672960 # data sheet: 40 GB
persisting-l2   9437184 # 0.3 of the largest, as measured on the H200
attribute 13   1410000     # ClockRate; data sheet, boost clock
attribute 16   108         # MultiProcessorCount; data sheet
attribute 36   1215000     # MemoryClockRate; data sheet: 1555 GB/s over 5120 bits
attribute 37   5120        # GlobalMemoryBusWidth; data sheet
attribute 38   41943040    # L2CacheSize; architecture white paper: 40 MB
attribute 39   2048        # MaxThreadsPerMultiProcessor; CUDA programming guide, table of capabilities
attribute 75   8           # ComputeCapabilityMajor; CUDA programming guide, table of capabilities
attribute 76   0           # ComputeCapabilityMinor; CUDA programming guide, table of capabilities
attribute 81   167936      # MaxSharedMemoryPerMultiprocessor; CUDA programming guide, table of capabilities: 164 KB
attribute 97   166912      # MaxSharedMemoryPerBlockOptin; CUDA programming guide, table of capabilities: 163 KB
attribute 106  32          # MaxBlocksPerMultiprocessor; CUDA programming guide, table of capabilities
attribute 108  31457280    # MaxPersistingL2CacheSize; CUDA programming guide: 3/4 of L2
attribute 120  0           # ClusterLaunch; clusters begin with capability 9.0 (programming guide)
attribute 139  548409566   # GpuPciDeviceId; PCI id list: 10de:20b0
# Costs not said are the H200's. Copies: what its bus carries in theory, by the share of it that the H200 reaches (55.2 of 63.0 GB/s).
cost h2d-gbps          27.6  # PCIe gen 4 x16: 31.5 GB/s
cost d2h-gbps          27.6
cost device-gbps       1340  # data sheet: 1555 GB/s, by the H200's share (4150 of 4814)
