// planfmt/verify.cc
