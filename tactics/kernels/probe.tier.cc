// tactics/kernels/probe.tier.cc
