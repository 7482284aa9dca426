// tactics/select.cc
