//go:build smalldisk

package faulttest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/base/eventually"
	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"golang.org/x/sys/unix"
)

// The test needs a directory that is a file system of its own, of 512 MiB or so (two write-ahead logs of full length have 140): scripts/test-long.sh mounts one.

// fillDisk fills the disk with a ballast file until that many bytes are free. Any goroutine may call it.
func fillDisk(path string, free int) (err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for piece := make([]byte, 1<<16); ; {
		var s unix.Statfs_t
		if err := unix.Statfs(filepath.Dir(path), &s); err != nil {
			return err
		}
		left := int(s.Bavail) * int(s.Bsize)
		if left <= free {
			return nil
		}
		if _, err := f.Write(piece[:min(len(piece), left-free)]); errors.Is(err, unix.ENOSPC) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// ballast fills the disk until that many bytes are free, and fails the test if it cannot.
func ballast(t *testing.T, path string, free int) {
	t.Helper()
	if err := fillDisk(path, free); err != nil {
		t.Fatal(err)
	}
}

// smallDisk is a server on a small file system, with two users who chat.
type smallDisk struct {
	t            *testing.T
	process      *process
	ballast      string // the file that fills the disk
	alice, bob   *rialto.Client
	conversation uint64
	sent         int
	stored       []string // texts that were acknowledged
}

func newSmallDisk(t *testing.T, name string, args ...string) *smallDisk {
	disk := os.Getenv("SMALL_DISK")
	if disk == "" {
		t.Fatal("SMALL_DISK must name a directory that is a small file system")
	}
	p := newProcess(t, args...)
	p.dir = filepath.Join(disk, name)
	if !p.start("") {
		t.Fatal("the server did not start")
	}
	d := &smallDisk{t: t, process: p, ballast: filepath.Join(disk, "ballast-"+name), alice: person(t, p, "alice"), bob: person(t, p, "bob")}
	r, err := d.alice.Chat().OpenDirect(t.Context(), connect.NewRequest(&chatv1.OpenDirectRequest{User: d.bob.User()}))
	if err != nil {
		t.Fatal(err)
	}
	d.conversation = r.Msg.Id
	return d
}

// send sends one message, and reports whether it was stored. The only allowed error is storage_full.
func (d *smallDisk) send() (stored bool) {
	d.t.Helper()
	err := sendBy(d.t, d.alice, d.conversation, d.sent)
	switch {
	case err == nil:
		d.stored = append(d.stored, fmt.Sprint("message ", d.sent))
	case !refusedFor(err, "storage_full"):
		d.t.Fatalf("message %d was answered %v", d.sent, err)
	}
	d.sent++
	return err == nil
}

// sendUntil sends messages until one is stored, or refused: the server checks its free space once a second.
func (d *smallDisk) sendUntil(stored bool) {
	d.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for ; d.send() != stored; <-tick.C {
	}
}

// checkMessages compares the messages that bob reads with those acknowledged to alice.
func (d *smallDisk) checkMessages() {
	d.t.Helper()
	if got := texts(d.t, d.bob, d.conversation); !slices.Equal(got, d.stored) {
		d.t.Errorf("%d messages are shown, %d were acknowledged", len(got), len(d.stored))
	}
}

// A disk fills up under a server. Messages are refused while space remains for the server's own maintenance, other changes when there is
// none. Reading continues, everything continues when there is space again, and acknowledged changes survive a kill.
func TestTheDiskIsFull(t *testing.T) {
	d := newSmallDisk(t, "data")
	p, alice, stones := d.process, d.alice, d.ballast
	look := func(name string) {
		t.Helper()
		d.checkMessages()
		if got := nameOf(t, alice); got != name {
			t.Errorf("the name is %q, want %q", got, name)
		}
	}
	for range 3 {
		d.sendUntil(true)
		ballast(t, stones, 32<<20)
		d.sendUntil(false)
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
		d.sendUntil(true)
		if err := rename(t, alice, "alice"); err != nil {
			t.Errorf("with space again: %v", err)
		}
		look("alice")
	}
	if !strings.Contains(p.said(), "the disk is full: writes are refused") {
		t.Error("the log does not say that the disk is full")
	}
	ballast(t, stones, 0)
	p.kill()
	before := len(p.said()) // which said before that the disk is full
	if p.start("") {
		t.Error("the server started on a full disk")
	} else if said := p.said()[before:]; !strings.Contains(said, "the disk is full") || !strings.Contains(said, "free some space") {
		t.Errorf("the server did not say that the disk is full, and what to do: %s", said)
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

// Another program fills the disk as fast as it can, under load. The process continues, refuses messages, and lets users log in and out.
// When there is space again it accepts messages, and no acknowledged change is missing.
func TestTheDiskIsFullAtOnce(t *testing.T) {
	d := newSmallDisk(t, "at-once")
	p, stones := d.process, d.ballast
	for range 3 {
		if !d.send() {
			t.Fatal("a message was refused before the disk was full")
		}
		filled := make(chan error, 1)
		go func() { filled <- fillDisk(stones, 0) }()
		for more := true; more; {
			select {
			case err := <-filled:
				if err != nil {
					t.Fatal(err)
				}
				more = false
			default:
			}
			d.send()
		}
		ballast(t, stones, 0) // including what the server freed meanwhile
		if d.send() {
			t.Error("a message on a full disk was not refused")
		}
		for range 3 { // a handle may log in ten times a minute
			c, err := rialto.New(rialto.Config{URL: p.url(), Logger: quiet()})
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Login(t.Context(), "bob", "a good password"); err != nil {
				t.Errorf("logging in on a full disk: %v", err)
				break
			}
			if err := c.Logout(t.Context()); err != nil {
				t.Errorf("logging out on a full disk: %v", err)
				break
			}
			ballast(t, stones, 0) // other programs continue to write
		}
		select {
		case <-p.gone:
			t.Fatalf("the process ended: %s", p.said())
		default:
		}
		if err := os.Remove(stones); err != nil {
			t.Fatal(err)
		}
		eventually.True(t, "with space again a message is stored", d.send)
	}
	d.checkMessages()
	p.stop()
	p.verify()
	if err := os.RemoveAll(p.dir); err != nil {
		t.Error(err)
	}
}
