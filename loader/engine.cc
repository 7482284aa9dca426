// loader/engine.cc
