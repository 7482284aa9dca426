// builder/build.cc
