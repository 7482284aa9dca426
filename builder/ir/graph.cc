// builder/ir/graph.cc
