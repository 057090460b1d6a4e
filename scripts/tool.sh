#!/bin/sh
# Runs a tool of Go's toolchain, for go's flag -toolexec: a compiler that collects garbage less often takes a fifth less time. What is built is the same, and is
# found in the same cache.
GOGC=400 exec "$@"
