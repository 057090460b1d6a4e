package main

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/platform/idgen/idcheck"
)

// TestKilledWhileItIssuesIDs: a process that prints ids is repeatedly killed at random moments and restarted on the same directory. Printed
// ids never repeat or decrease.
func TestKilledWhileItIssuesIDs(t *testing.T) {
	schemes := []string{"snowflake", "sonyflake", "segment", "multiprimary", "sequence", "readable", "rule"}
	cycles := 56
	if n, err := strconv.Atoi(os.Getenv("ID_KILL_CYCLES")); err == nil {
		cycles = n
	}
	for i, scheme := range schemes {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			data := filepath.Join(t.TempDir(), "data")
			rng := rand.New(rand.NewPCG(7, uint64(i)))
			var all idcheck.Checker[string]
			for cycle := range (cycles + len(schemes) - 1) / len(schemes) {
				// Before the first id, in the first batches, or far behind them.
				after := rng.IntN([]int{1, 30, 300, 30_000}[rng.IntN(4)])
				ids, errOut := killed(t, data, scheme, after)
				if len(ids) < after {
					t.Fatalf("cycle %d: it ended by itself after %d ids: %s", cycle, len(ids), errOut)
				}
				if err := all.Round(ids); err != nil {
					t.Fatalf("cycle %d: %v", cycle, err)
				}
			}
			if all.Count == 0 {
				t.Error("no id was generated in all cycles")
			}
			t.Logf("%d ids", all.Count)
		})
	}
}

// TestASignalStopsIDs: a signal stops the process between two batches. The output is complete, and the next process continues without a delay.
func TestASignalStopsIDs(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	for _, scheme := range []string{"segment", "snowflake", "uuidv7"} {
		c := process(t, "id", "next", "--scheme", scheme, "--data", data, "--count", "1000000000")
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		var said strings.Builder
		c.Stderr = &said
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(out)
		if _, err := lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		if err := c.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		rest, err := io.ReadAll(lines)
		if err != nil || !strings.HasSuffix(string(rest), "\n") {
			t.Errorf("%s: %v, it ends with %q", scheme, err, rest[max(len(rest)-30, 0):])
		}
		_ = c.Wait() // with exit code 1
		if c.ProcessState.ExitCode() != 1 || said.String() != "rialto id next: stopped\n" {
			t.Errorf("%s: %v, %q", scheme, c.ProcessState, &said)
		}
	}
}

// killed prints ids of a scheme, kills the process after a number of them, and returns the complete ones in sortable form.
func killed(t *testing.T, data, scheme string, after int) (ids []string, errOut string) {
	t.Helper()
	c := process(t, "id", "next", "--scheme", scheme, "--data", data, "--count", "1000000000")
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	var said strings.Builder
	c.Stdout, c.Stderr = in, &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	kill := func() {
		if err := c.Process.Kill(); err != nil {
			t.Log(err) // it has ended, which is found out
		}
	}
	if after == 0 {
		kill()
	}
	for lines := bufio.NewReader(out); ; {
		line, err := lines.ReadString('\n')
		if err == io.EOF { // an incomplete line was not issued
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if id := strings.TrimSuffix(line, "\n"); strings.Trim(id, "0123456789") == "" {
			ids = append(ids, fmt.Sprintf("%019s", id))
		} else {
			ids = append(ids, id)
		}
		if len(ids) == after {
			kill()
		}
	}
	_ = c.Wait() // it was killed
	return ids, said.String()
}
