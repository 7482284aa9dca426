// planfmt/write.cc
