package transcode_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rialto-im/rialto/internal/platform/transcode"
	"github.com/rialto-im/rialto/internal/platform/transcode/transcodetest"
)

// TestExecute: a command reads the files that it is given, and writes to its folder.
func TestExecute(t *testing.T) {
	tc := transcodetest.Open(t, transcode.Config{})
	dir, out := t.TempDir(), t.TempDir()
	must(t, os.WriteFile(dir+"/a", []byte("first "), 0o600))
	must(t, os.WriteFile(dir+"/b", []byte("second"), 0o600))
	must(t, tc.Execute(t.Context(), transcode.Command{Program: "sh", Args: []string{"-c", "cat /in/a.txt /in/stage/b.txt > made; echo x > /in/a.txt; true"}, Dir: out, Timeout: time.Minute, Memory: 1 << 30, Disk: 1 << 20,
		Files: []transcode.File{{Path: dir + "/a", Inside: "/in/a.txt"}, {Path: dir + "/b", Inside: "/in/stage/b.txt"}}}))
	f, size, err := transcode.OpenResult(out, "made", 100)
	must(t, err)
	defer f.Close()
	if b, err := io.ReadAll(f); err != nil || string(b) != "first second" || size != 12 {
		t.Errorf("it wrote %q, %v", b, err)
	}
	if b, err := os.ReadFile(dir + "/a"); err != nil || string(b) != "first " {
		t.Errorf("its input is %q, %v", b, err)
	}
}

// TestCommandsEnd: a command that fails, or goes beyond a limit, ends with an error that says so.
func TestCommandsEnd(t *testing.T) {
	tc := transcodetest.Open(t, transcode.Config{})
	for _, c := range []struct{ name, script, want string }{
		{"it fails", "echo what is wrong >&2; exit 3", "what is wrong"},
		{"it writes too much at once", "head -c 2000000 /dev/urandom > large", "exit status"},
		{"it writes too much in several files", "for n in 1 2 3; do head -c 500000 /dev/urandom > $n; done", "more than 1000000 bytes"},
		{"it writes too much, and goes on", "for n in 1 2 3; do head -c 500000 /dev/urandom > $n; done; sleep 600", "more than 1000000 bytes"},
		{"it needs too much memory", "head -c 90000000 /dev/urandom | tail -c 80000000 > /dev/null", ""},
		{"it takes too long", "sleep 600 & sleep 600", "longer than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			timeout := time.Hour // of the test, on a slow machine
			if c.want == "longer than" {
				timeout = 100 * time.Millisecond
			}
			err := tc.Execute(t.Context(), transcode.Command{Program: "sh", Args: []string{"-c", c.script}, Dir: t.TempDir(), Timeout: timeout, Memory: 64 << 20, Disk: 1_000_000})
			if !errors.Is(err, transcode.ErrCommand) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("it ends with %v, want %q", err, c.want)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := tc.Execute(ctx, transcode.Command{Program: "sh", Args: []string{"-c", "sleep 600"}, Dir: t.TempDir(), Timeout: time.Hour, Memory: 1 << 30, Disk: 1}); !errors.Is(err, context.Canceled) || errors.Is(err, transcode.ErrCommand) {
		t.Errorf("a cancelled command ends with %v", err)
	}
	if err := tc.Execute(t.Context(), transcode.Command{Program: "/missing/program", Dir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "the program /missing/program cannot be run") {
		t.Errorf("a missing program is answered with %v", err)
	}
}

// TestResults: the file of a command is regular, not empty, and not larger than it may be.
func TestResults(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "file"), []byte("file"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "empty"), nil, 0o600))
	must(t, os.Symlink("file", filepath.Join(dir, "link")))
	for _, c := range []struct {
		name string
		most int64
		good bool
	}{{"file", 4, true}, {"file", 3, false}, {"empty", 4, false}, {"link", 4, false}, {"missing", 4, false}} {
		f, size, err := transcode.OpenResult(dir, c.name, c.most)
		if (err == nil) != c.good || err != nil && !errors.Is(err, transcode.ErrCommand) || err == nil && size != 4 {
			t.Errorf("%s with at most %d bytes is opened: %v", c.name, c.most, err)
		}
		if err == nil {
			must(t, f.Close())
		}
	}
}

// TestProcesses: a program and what it starts have a limit of processes. (Linux does not enforce it for root, nor does it have one of a sandbox before 5.14.)
func TestProcesses(t *testing.T) {
	tc := transcodetest.Open(t, transcode.Config{})
	b, err := tc.Output(t.Context(), transcode.Script{Shell: "/usr/bin/bash", Text: "ulimit -Su; ulimit -Hu"})
	if want := fmt.Sprintf("%d\n%[1]d\n", transcode.MaxProcesses); string(b) != want || err != nil {
		t.Errorf("the limits are %q, %v, want %q", b, err, want)
	}
}

// TestUnreadableFolders: a folder that a command made unreadable fails it, and is removed. It runs without the privileges with which root reads everything.
func TestUnreadableFolders(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "out")
	must(t, os.MkdirAll(dir+"/a/b", 0o700))
	must(t, os.WriteFile(dir+"/a/b/file", nil, 0o600))
	must(t, os.WriteFile(root+"/other", nil, 0o400))
	must(t, os.Symlink(root+"/other", dir+"/link"))
	must(t, os.Chmod(dir+"/a/b", 0))
	must(t, os.Chmod(dir+"/a", 0))
	checked, removed := make(chan error, 1), make(chan error, 1)
	go func() {
		runtime.LockOSThread() // for ever: the thread has lost its privileges
		if err := dropPrivileges(); err != nil {
			checked <- err
			removed <- err
			return
		}
		checked <- transcode.CheckDisk(dir, 1000)
		removed <- transcode.RemoveDir(dir)
	}()
	if err := <-checked; !errors.Is(err, transcode.ErrCommand) {
		t.Errorf("an unreadable folder is answered with %v", err)
	}
	if err := <-removed; err != nil {
		t.Errorf("it cannot be removed: %v", err)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
	if info, err := os.Stat(root + "/other"); err != nil || info.Mode() != 0o400 {
		t.Errorf("a file that a link names has changed: %v", err)
	}
	must(t, transcode.RemoveDir(dir)) // it is gone
}

// dropPrivileges makes the thread obey the modes of files, as those of other users than root do.
func dropPrivileges() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return err
	}
	data[0].Effective &^= 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH
	return unix.Capset(&header, &data[0])
}
