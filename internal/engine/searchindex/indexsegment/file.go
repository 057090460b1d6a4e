package indexsegment

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/blevesearch/mmap-go"
)

// memorySegment is a segment that was not written to a file yet.
type memorySegment struct{ *Segment }

// Persist writes the segment to a file, and syncs that.
func (s *memorySegment) Persist(path string) error {
	return writeFile(path, func(to io.Writer) error {
		_, err := to.Write(s.data)
		return err
	})
}

// Size returns how many bytes of memory the segment has.
func (s *memorySegment) Size() int { return s.Segment.Size() + len(s.data) }

// fileSegment is a segment in a file.
type fileSegment struct {
	*Segment
	path string
}

// Path returns the path of the file.
func (s *fileSegment) Path() string { return s.path }

// writeFile makes a file of what a function writes, and syncs it. If that fails, no file is left.
func writeFile(path string, write func(io.Writer) error) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(file, 1<<16)
	if err = write(buffered); err == nil {
		err = buffered.Flush()
	}
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// openFile maps a file into memory.
func openFile(path string) (*fileSegment, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read; the mapping stays
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() == 0 { // it cannot be mapped
		return nil, fmt.Errorf("indexsegment: %s: %w", path, damaged("it is empty"))
	}
	mapped, err := mmap.Map(file, mmap.RDONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("indexsegment: %s cannot be mapped into memory: %w", path, err)
	}
	var s *Segment
	if err = checkSum(mapped); err == nil {
		s, err = parse(mapped)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("indexsegment: %s: %w", path, err), mapped.Unmap())
	}
	s.release = mapped.Unmap
	return &fileSegment{s, path}, nil
}
