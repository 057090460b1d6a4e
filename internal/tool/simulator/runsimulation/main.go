// Command runsimulation runs a cluster of many nodes in virtual time, with faults, and checks what the nodes decide:
//
//	go run ./internal/tool/simulator/runsimulation --seed 7
//
// It exits 0 if all checks hold, 1 if one is violated, 2 for an invalid command line.
package main

import (
	"os"

	"github.com/rialto-im/rialto/internal/tool/simulator"
)

func main() { os.Exit(simulator.Main(os.Args[1:], os.Stdout, os.Stderr)) }
