package plan

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// stat returns the fields of /proc/PID/stat from the state on: 1 is the parent, 11 and 12 are its own CPU ticks, 13 and 14 those of its
// children that have ended.
func stat(b *testing.B, pid int) []string {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		b.Fatal(err)
	}
	return fields(string(text))
}

func fields(stat string) []string { return strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:]) }

// processCPU returns the CPU seconds of a process: the first 2 counts are its own, 4 include its children that have ended.
func processCPU(b *testing.B, pid, counts int) float64 { return seconds(b, stat(b, pid), counts) }

func seconds(b *testing.B, stat []string, counts int) (sum float64) {
	for _, f := range stat[11 : 11+counts] {
		n, err := strconv.ParseFloat(f, 64)
		if err != nil {
			b.Fatal(err)
		}
		sum += n / 100
	}
	return sum
}

// childrenCPU returns the CPU seconds of a process's live children.
func childrenCPU(b *testing.B, pid int) (sum float64) {
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		b.Fatal(err)
	}
	for _, file := range all {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		if f := fields(string(text)); f[1] == strconv.Itoa(pid) {
			sum += seconds(b, f, 2)
		}
	}
	return sum
}
