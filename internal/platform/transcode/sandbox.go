package transcode

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The sandbox is bubblewrap, which flatpak uses: new namespaces of users, mounts, processes, networks and IPC, no capabilities, and a root that has only
// the programs, the source and the folder for the output. prlimit, outside of it, sets the limits that it inherits, and inside that of processes. docs/decisions/0104-sandbox-of-ffmpeg.md explains why.

const (
	sourceInside = "/in/source"
	outInside    = "/out"
	addressSpace = 4 << 30   // bytes of memory that a program may map
	maxOutput    = 8 << 20   // bytes of a program's output that are read at once
	maxFile      = 256 << 20 // bytes of a file that a program writes, unless the command has another limit
	stderrTail   = 2 << 10
	threads      = 4               // a program may use the time of as many processors
	maxProcesses = 512             // processes and threads of a program together; ffmpeg has some for each processor
	killGrace    = 2 * time.Second // how long output is read after a program was killed
	patience     = 10              // a program of the lowest priority gets a few hundredths of a busy processor
)

// command is one run of a program.
type command struct {
	program string
	args    []string
	source  string        // a file that it can read, at sourceInside; empty: none
	files   []File        // further files that it can read
	out     string        // the only folder that it can write to, at outInside; empty: none
	maxFile int64         // bytes of each file that it writes; 0 is maxFile
	memory  int64         // bytes that it may map; 0 is addressSpace
	timeout time.Duration // of processor time, for each of its threads
	wall    time.Duration // after which it is killed, waits for processors included; 0 is patience times the timeout, up to maxEncodeTimeout
	// complaints gets the end of what it prints as errors; nil: only its failure has that.
	complaints *tail
}

// File is one that a program in the sandbox can read.
type File struct {
	// Path outside of the sandbox, and Inside.
	Path, Inside string
}

// absolute returns the command with absolute paths: the data directory may be named from the server's working directory, and the sandbox starts in the root.
func (c command) absolute() (command, error) {
	c.files = slices.Clone(c.files)
	paths := []*string{&c.source, &c.out}
	for i := range c.files {
		paths = append(paths, &c.files[i].Path)
	}
	for _, path := range paths {
		if *path == "" {
			continue
		}
		whole, err := filepath.Abs(*path)
		if err != nil {
			return c, err
		}
		*path = whole
	}
	return c, nil
}

// errTooMuchOutput ends a program that prints more than is read.
var errTooMuchOutput = errors.New("the program printed too much")

// output runs a command, and returns what it prints.
func (t *Transcoder) output(ctx context.Context, c command) ([]byte, error) {
	var b bytes.Buffer
	err := t.run(ctx, c, func(r io.Reader) error {
		n, err := io.Copy(&b, io.LimitReader(r, maxOutput+1))
		if err == nil && n > maxOutput {
			err = errTooMuchOutput
		}
		return err
	})
	return b.Bytes(), err
}

// run runs a command. read gets what it prints; if read fails, the program is killed. All processes of the command have ended when run returns.
func (t *Transcoder) run(ctx context.Context, c command, read func(io.Reader) error) error {
	wall := cmp.Or(c.wall, min(patience*c.timeout, maxEncodeTimeout))
	ctx, cancel := context.WithTimeoutCause(ctx, wall, fmt.Errorf("%s took longer than %v", filepath.Base(c.program), wall))
	defer cancel()
	c, err := c.absolute()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, t.tools.prlimit, t.arguments(c)...)
	cmd.Env = []string{}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// The namespace of processes ends with its first one, which ends with bubblewrap, which is in the group.
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = killGrace
	complaints := c.complaints
	if complaints == nil {
		complaints = &tail{}
	}
	cmd.Stderr = complaints
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	readErr := read(stdout)
	if readErr != nil {
		cancel()
	}
	err = cmd.Wait()
	switch {
	case readErr != nil && !errors.Is(readErr, os.ErrClosed):
		return readErr
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return &failure{filepath.Base(c.program), err, complaints.String()}
	}
	return nil
}

// failure is the error of a program that ended with another code than 0.
type failure struct {
	program string
	err     error
	stderr  string
}

func (f *failure) Error() string { return f.program + ": " + f.err.Error() + ": " + f.stderr }
func (f *failure) Unwrap() error { return f.err }

// code is what the program ended with; 128 and its number after a signal. -1: there is none, since the sandbox itself was killed.
func (f *failure) code() int {
	var exit *exec.ExitError
	if !errors.As(f.err, &exit) {
		return -1
	}
	return exit.ExitCode()
}

// isOfSandbox reports whether the program was not started: bubblewrap and prlimit end with 1, too.
func (f *failure) isOfSandbox() bool {
	return strings.Contains(f.stderr, "bwrap: ") || strings.Contains(f.stderr, "prlimit: ")
}

// isOfFFmpeg reports whether ffmpeg itself ended with an error. Newer versions end with that of the error, as a negative byte.
func (f *failure) isOfFFmpeg() bool {
	const lastSignal = 128 + 64
	code := f.code()
	return (code == 1 || code == aborted || code > lastSignal || code == invalidData) && !f.isOfSandbox()
}

// tooDamaged is the code of ffmpeg if it could not decode most of what it read.
const tooDamaged = 69

// aborted is the code of a program that has found a mistake of its own.
const aborted = 128 + 6

// invalidData is the last byte of AVERROR_INVALIDDATA.
const invalidData = 0xb7

// arguments of prlimit for a command.
func (t *Transcoder) arguments(c command) []string {
	list := []string{"--as=" + strconv.FormatInt(cmp.Or(c.memory, addressSpace), 10), "--cpu=" + strconv.Itoa(threads*int(c.timeout/time.Second)+1), "--fsize=" + strconv.FormatInt(cmp.Or(c.maxFile, maxFile), 10),
		"--nofile=64", "--core=0", "--", t.tools.nice, "-n", strconv.Itoa(t.config.Niceness),
		t.tools.bwrap, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv", "--setenv", "PATH", "/usr/bin", "--setenv", "LC_ALL", "C"}
	for _, folder := range []string{"/usr", "/bin", "/lib", "/lib64", "/etc/alternatives", "/etc/ld.so.cache"} {
		if at, err := os.Readlink(folder); err == nil && !filepath.IsAbs(at) {
			list = append(list, "--symlink", at, folder)
		} else {
			list = append(list, "--ro-bind-try", folder, folder)
		}
	}
	if folder := filepath.Dir(c.program); !strings.HasPrefix(folder, "/usr/") {
		list = append(list, "--ro-bind", folder, folder)
	}
	list = append(list, "--dev-bind", "/dev/null", "/dev/null", "--dev-bind", "/dev/urandom", "/dev/urandom")
	if c.source != "" {
		list = append(list, "--ro-bind", c.source, sourceInside)
	}
	for _, f := range c.files {
		list = append(list, "--ro-bind", f.Path, f.Inside)
	}
	if c.out != "" {
		list = append(list, "--bind", c.out, outInside, "--chdir", outInside)
	}
	list = append(list, "--remount-ro", "/", "--")
	if t.limitsProcesses {
		list = append(list, t.tools.prlimit, "--nproc="+strconv.Itoa(maxProcesses), "--") // inside: outside, all processes of the server's user would count
	}
	return append(append(list, c.program), c.args...)
}

// countsProcesses reports whether a limit of processes counts those of the sandbox only. Before Linux 5.14 it counts all of the user, with those of the server, and a
// limit would fail what is innocent. Of root, Linux limits no processes.
func (t *Transcoder) countsProcesses(ctx context.Context) bool {
	// The first process of the sandbox, the shell, and what that starts are three. The server has more threads than the fourth.
	_, err := t.output(ctx, command{program: t.tools.prlimit, args: []string{"--nproc=4", "--", "/usr/bin/sh", "-c", "/usr/bin/true; /usr/bin/true"}, timeout: startTimeout})
	return err == nil
}

// tail keeps the end of what is written.
type tail struct{ b []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p[max(0, len(p)-stderrTail):]...)
	t.b = t.b[max(0, len(t.b)-stderrTail):]
	return len(p), nil
}

func (t *tail) String() string { return strings.TrimSpace(strings.ToValidUTF8(string(t.b), "?")) }

// inputArguments are those with which ffmpeg and ffprobe read a source: nothing but files, and only the format that Check found.
func inputArguments(f Format, decoders string) []string {
	return []string{"-protocol_whitelist", "file", "-format_whitelist", string(f), "-codec_whitelist", decoders, "-f", string(f)}
}

// decoders that ffmpeg may use.
const decoders = "h264,hevc,vp8,vp9,libvpx,libvpx-vp9,av1,libdav1d,mpeg4,mpeg2video,mjpeg,prores,theora,h263," +
	"aac,mp3,mp3float,opus,libopus,vorbis,flac,alac,ac3,eac3,pcm_s16le,pcm_s16be,pcm_s24le,pcm_s24be,pcm_s32le,pcm_f32le,pcm_u8,amrnb,amrwb"

// inert are further decoders of streams that are not used: texts and covers. ffprobe gives up a file of which it may not open one.
const inert = ",mov_text,subrip,srt,ass,ssa,webvtt,text,png,dvdsub,pgssub,dvbsub"
