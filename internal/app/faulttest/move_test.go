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

	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/tool/verify"
)

// A server is killed, its directory is migrated, and the migration is killed repeatedly. In the end everything is there once, and connected
// users continue.
func TestAKilledMoveContinues(t *testing.T) {
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
			t.Fatalf("the move ended with %v, want equal sides: %s", err, said.String())
		}
		return false
	}
	for i := range 5 { // each time a little further
		for _, point := range []string{"before", "after"} {
			if !move(fmt.Sprintf("move/%s-commit:%d", point, 1+3*i)) {
				t.Fatalf("the move ended although it should have been killed %s commit %d", point, 1+3*i)
			}
		}
	}
	if !move("move/before-end:1") {
		t.Fatal("the move was not killed before its last commit")
	}
	before := f.args
	f.args = nil
	if f.start("") {
		t.Fatal("the directory was served although the move has marked it")
	}
	f.args = append(before, "--set", "postgres="+address)
	if f.start("") {
		t.Fatal("the target was served although the move is not complete")
	}
	if move("") {
		t.Fatal("the move did not complete")
	}
	report, err := verify.RunPostgres(context.Background(), address, t.Logf)
	if err != nil || len(report.Violations) > 0 || report.Entries < filledWith {
		t.Errorf("the verification returned %+v, %v, want all entries and no violation", report, err)
	}
	if !f.start("") {
		t.Fatal("the server did not start on the target")
	}
	if whole, err := f.shows(t); !whole || err != nil {
		t.Errorf("messages are missing after the move: %v", err)
	}
	if err := sendBy(t, f.alice, f.conversation, filledWith); err != nil {
		t.Error(err)
	}
}
