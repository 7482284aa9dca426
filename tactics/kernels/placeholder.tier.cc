// tactics/kernels/reference/table.cc
