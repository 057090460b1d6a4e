package transcode

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Command is one of an operator, which runs in the sandbox.
type Command struct {
	// Program is ffmpeg, ffprobe, or another program that is in PATH, or a path.
	Program string
	Args    []string
	// Files that it can read. Their paths inside are below /in.
	Files []File
	// Dir is the only folder that it can write to, where it is started.
	Dir string
	// Timeout after which it is killed.
	Timeout time.Duration
	// Memory is how many bytes each of its processes may map.
	Memory int64
	// Disk is how many bytes its files may have together.
	Disk int64
}

const (
	diskInterval = 200 * time.Millisecond // how often the files of a command are measured
	maxDirFiles  = 10_000
)

// ErrCommand is wrapped by errors of commands that ended with another code than 0, or went beyond a limit.
var ErrCommand = errors.New("the command failed")

// Resolve returns the path of a command's program, or says that it is missing.
func (t *Transcoder) Resolve(program string) (string, error) {
	switch program {
	case "ffmpeg":
		return t.tools.ffmpeg, nil
	case "ffprobe":
		return t.tools.ffprobe, nil
	}
	path, err := exec.LookPath(program)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return "", fmt.Errorf("the program %s cannot be run on this node: %w; install it, or correct its path", program, err)
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(path)) // a program may do different things by its own name
	return filepath.Join(folder, filepath.Base(path)), err
}

// Execute runs a command to its end. What it prints is not read, but for the end of its standard error, which is in the error.
func (t *Transcoder) Execute(ctx context.Context, c Command) error {
	program, err := t.Resolve(c.Program)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watched := make(chan struct{})
	go func() { // until cancel
		defer close(watched)
		watchDisk(ctx, c.Dir, c.Disk, cancel)
	}()
	_, err = t.output(ctx, command{program: program, args: c.Args, files: c.Files, out: c.Dir, maxFile: c.Disk, memory: c.Memory, timeout: c.Timeout, wall: c.Timeout})
	interrupted := ctx.Err() != nil && !errors.Is(context.Cause(ctx), ErrCommand)
	cancel(nil)
	<-watched
	if err == nil {
		err = checkDisk(c.Dir, c.Disk)
	}
	if err != nil && !interrupted && !errors.Is(err, ErrCommand) {
		err = fmt.Errorf("%w: %w", ErrCommand, err)
	}
	return err
}

// watchDisk ends a command whose files have too many bytes.
func watchDisk(ctx context.Context, dir string, limit int64, end context.CancelCauseFunc) {
	tick := time.NewTicker(diskInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := checkDisk(dir, limit); err != nil {
			end(err)
			return
		}
	}
}

// checkDisk fails if the files of a folder have more bytes than a limit, or are too many.
func checkDisk(dir string, limit int64) error {
	var bytes, files int64
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) { // it was removed meanwhile
			return nil
		}
		if err != nil {
			return err
		}
		files++
		if info.Mode().IsRegular() {
			bytes += info.Size()
		}
		if files > maxDirFiles || bytes > limit {
			return fs.SkipAll
		}
		return nil
	})
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: it made a folder that cannot be read: %w", ErrCommand, err)
	}
	if err != nil {
		return fmt.Errorf("the files of a command: %w", err)
	}
	if files > maxDirFiles || bytes > limit {
		return fmt.Errorf("%w: its files have more than %d bytes, or are more than %d; raise the limit disk of the stage", ErrCommand, limit, maxDirFiles)
	}
	return nil
}

// RemoveDir removes a folder that a command wrote to, once it has ended, with folders that it made unreadable. A missing one is not an error.
func RemoveDir(dir string) error {
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			err = os.Chmod(path, 0o700) // before it is read
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	return errors.Join(err, os.RemoveAll(dir))
}

// OpenResult opens a file that a command wrote in a folder, and returns its size. It fails if there is none, or if it is empty or larger than a limit.
func OpenResult(dir, name string, most int64) (*os.File, int64, error) {
	f, err := OpenOutput(filepath.Join(dir, name), os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errOutput) {
		return nil, 0, fmt.Errorf("%w: it did not write the file %s", ErrCommand, name)
	}
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && (info.Size() == 0 || info.Size() > most) {
		err = fmt.Errorf("%w: its file %s has %d bytes, and not 1 to %d", ErrCommand, name, info.Size(), most)
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}
