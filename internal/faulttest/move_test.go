package faulttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/rialto-im/rialto/internal/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/verify"
)

// A server is killed, its directory is moved, and the move is killed again and again: in the end all is there, once, and the
// users who were connected go on.
func TestAMoveIsKilled(t *testing.T) {
	f := fill(t, true)
	address := sqltest.Schema(t, sqltest.Postgres(t))
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	move := func(failpoint string) (killed bool) {
		t.Helper()
		var said bytes.Buffer
		cmd := exec.Command(path, "move", "--data", f.dir, "--to-postgres", address, "--batch", "40")
		cmd.Env = append(os.Environ(), "RIALTO_FAILPOINT="+failpoint)
		cmd.Stdout, cmd.Stderr = &said, &said
		err := cmd.Run()
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
			return true
		}
		if err != nil || !strings.Contains(said.String(), "both sides are equal") {
			t.Fatalf("%v: %s", err, said.String())
		}
		return false
	}
	for i := range 5 { // each time a little further
		for _, point := range []string{"before", "after"} {
			if !move(fmt.Sprintf("move/%s-commit:%d", point, 1+3*i)) {
				t.Fatalf("it ended, and was to be killed %s commit %d", point, 1+3*i)
			}
		}
	}
	if !move("move/before-end:1") {
		t.Fatal("it was not killed at its end")
	}
	before := f.args
	f.args = nil
	if f.start("") {
		t.Fatal("between its mark and its end the directory was served")
	}
	f.args = append(before, "--set", "postgres="+address)
	if f.start("") {
		t.Fatal("between its mark and its end the target was served")
	}
	if move("") {
		t.Fatal("it was killed")
	}
	report, err := verify.RunPostgres(context.Background(), address, t.Logf)
	if err != nil || len(report.Violations) > 0 || report.Entries < filledWith {
		t.Errorf("%+v, %v", report, err)
	}
	if !f.start("") {
		t.Fatal("the server did not start on the target")
	}
	if whole, err := f.shows(t); !whole || err != nil {
		t.Errorf("not all messages are there: %v", err)
	}
	if err := sendBy(t, f.alice, f.conversation, filledWith); err != nil {
		t.Error(err)
	}
}
