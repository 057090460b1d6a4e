//go:build smalldisk

package faulttest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"golang.org/x/sys/unix"
)

// The test needs a directory that is a file system of its own, of 512 MiB or so (two write-ahead logs of full length have 140): scripts/test-long.sh mounts one.

// ballast fills the disk but for so many bytes.
func ballast(t *testing.T, path string, free int) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for piece := make([]byte, 1<<16); ; {
		var s unix.Statfs_t
		if err := unix.Statfs(filepath.Dir(path), &s); err != nil {
			t.Fatal(err)
		}
		left := int(s.Bavail) * int(s.Bsize)
		if left <= free {
			return
		}
		if _, err := f.Write(piece[:min(len(piece), left-free)]); errors.Is(err, unix.ENOSPC) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// A disk fills up under a server. Messages are refused while there is space yet for the server's own housekeeping, records
// when there is none; reading goes on; with space again all goes on; and what was answered well is there after a kill.
func TestTheDiskIsFull(t *testing.T) {
	disk := os.Getenv("SMALL_DISK")
	if disk == "" {
		t.Fatal("SMALL_DISK must name a directory that is a small file system")
	}
	p := newProcess(t)
	p.dir = filepath.Join(disk, "data")
	stones := filepath.Join(disk, "stones")
	if !p.start("") {
		t.Fatal("the server did not start")
	}
	alice, bob := person(t, p, "alice"), person(t, p, "bob")
	r, err := alice.Chat().OpenDirect(t.Context(), connect.NewRequest(&chatv1.OpenDirectRequest{User: bob.User()}))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	n := 0
	// until sends now and then until that is answered as wanted: the server looks at its disk once a second.
	until := func(stored bool) {
		t.Helper()
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for ; ; <-tick.C {
			err := sendBy(t, alice, r.Msg.Id, n)
			switch {
			case err == nil:
				want = append(want, fmt.Sprint("message ", n))
			case !refusedFor(err, "storage_full"):
				t.Fatalf("message %d was answered %v", n, err)
			}
			if n++; stored == (err == nil) {
				return
			}
		}
	}
	look := func(name string) {
		t.Helper()
		if got := texts(t, bob, r.Msg.Id); strings.Join(got, ",") != strings.Join(want, ",") {
			t.Errorf("%d messages are shown, %d were answered well", len(got), len(want))
		}
		if got := nameOf(t, alice); got != name {
			t.Errorf("the name is %q, want %q", got, name)
		}
	}
	for range 3 {
		until(true)
		ballast(t, stones, 32<<20)
		until(false)
		if err := rename(t, alice, "alice in need"); err != nil {
			t.Errorf("a record, with 32 MiB free: %v", err)
		}
		ballast(t, stones, 0)
		name := "alice in need"
		for i := 0; ; i++ { // the records' files have some space inside
			next := fmt.Sprint("alice ", i)
			err := rename(t, alice, next)
			if err == nil && i < 2000 {
				name = next
				continue
			}
			if !refusedFor(err, "storage_full") {
				t.Errorf("record %d on a full disk was answered %v", i, err)
			}
			break
		}
		look(name)
		if err := os.Remove(stones); err != nil {
			t.Fatal(err)
		}
		until(true)
		if err := rename(t, alice, "alice"); err != nil {
			t.Errorf("with space again: %v", err)
		}
		look("alice")
	}
	if !strings.Contains(p.said(), "the disk is full: writes are refused") {
		t.Error("the operator is not told that the disk is full")
	}
	ballast(t, stones, 0)
	p.kill()
	if p.start("") || !strings.Contains(p.said(), "are needed to start") && !strings.Contains(p.said(), "full") {
		t.Errorf("on a full disk the server starts, or does not say why it does not: %s", p.said())
	}
	if err := os.Remove(stones); err != nil {
		t.Fatal(err)
	}
	if !p.start("") {
		t.Fatal("the server did not start again")
	}
	look("alice")
	p.stop()
	p.verify()
}
