package interchangefile

import (
	"bufio"
	"cmp"
	"container/heap"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// sorter sorts lines on disk: it keeps up to a number of bytes in memory, writes them sorted to a file, and merges the files.
type sorter struct {
	dir    string
	most   int
	lines  []sortLine
	bytes  int
	next   uint64
	spills []string
}

// sortLine is a line with what orders it: conversations as they were named, times, and the order in which lines came.
type sortLine struct {
	conversation uint64
	ms           int64
	ordinal      uint64
	text         []byte
}

func compareLines(a, b *sortLine) int {
	return cmp.Or(cmp.Compare(a.conversation, b.conversation), cmp.Compare(a.ms, b.ms), cmp.Compare(a.ordinal, b.ordinal))
}

func (s *sorter) add(conversation uint64, ms int64, text []byte) error {
	s.lines = append(s.lines, sortLine{conversation, ms, s.next, text})
	s.next++
	if s.bytes += len(text) + 64; s.bytes >= s.most {
		return s.spill()
	}
	return nil
}

func (s *sorter) sortMemory() {
	slices.SortFunc(s.lines, func(a, b sortLine) int { return compareLines(&a, &b) })
}

const sortHeader = 28 // bytes before each line of a spilled file

func (s *sorter) spill() (err error) {
	if len(s.lines) == 0 {
		return nil
	}
	s.sortMemory()
	name := filepath.Join(s.dir, "sort-"+strconv.Itoa(len(s.spills)))
	f, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	s.spills = append(s.spills, name)
	w := bufio.NewWriterSize(f, 256<<10)
	for i := range s.lines {
		l := &s.lines[i]
		var header [sortHeader]byte
		binary.BigEndian.PutUint64(header[0:], l.conversation)
		binary.BigEndian.PutUint64(header[8:], uint64(l.ms))
		binary.BigEndian.PutUint64(header[16:], l.ordinal)
		binary.BigEndian.PutUint32(header[24:], uint32(len(l.text)))
		if _, err := w.Write(header[:]); err != nil {
			return err
		}
		if _, err := w.Write(l.text); err != nil {
			return err
		}
	}
	s.lines, s.bytes = nil, 0
	return w.Flush()
}

// run is a sorted file that is being merged.
type run struct {
	sortLine
	file *os.File
	r    *bufio.Reader
}

func (r *run) advance() error {
	var header [sortHeader]byte
	if _, err := io.ReadFull(r.r, header[:]); err != nil {
		return err
	}
	r.conversation, r.ms, r.ordinal = binary.BigEndian.Uint64(header[0:]), int64(binary.BigEndian.Uint64(header[8:])), binary.BigEndian.Uint64(header[16:])
	r.text = make([]byte, binary.BigEndian.Uint32(header[24:]))
	_, err := io.ReadFull(r.r, r.text)
	return err
}

type runs []*run

func (r runs) Len() int           { return len(r) }
func (r runs) Less(i, j int) bool { return compareLines(&r[i].sortLine, &r[j].sortLine) < 0 }
func (r runs) Swap(i, j int)      { r[i], r[j] = r[j], r[i] }
func (r *runs) Push(x any)        { *r = append(*r, x.(*run)) }
func (r *runs) Pop() any {
	last := (*r)[len(*r)-1]
	*r = (*r)[:len(*r)-1]
	return last
}

// each calls f with all lines in order, and removes the files.
func (s *sorter) each(f func(l *sortLine) error) (err error) {
	if len(s.spills) == 0 {
		s.sortMemory()
		for i := range s.lines {
			if err := f(&s.lines[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if err := s.spill(); err != nil {
		return err
	}
	var merged runs
	defer func() {
		for _, r := range merged {
			err = errors.Join(err, r.file.Close())
		}
		for _, name := range s.spills {
			err = errors.Join(err, os.Remove(name))
		}
	}()
	for _, name := range s.spills {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		r := &run{file: file, r: bufio.NewReaderSize(file, 64<<10)}
		merged = append(merged, r)
		if err := r.advance(); err != nil {
			return err
		}
	}
	heap.Init(&merged)
	for len(merged) > 0 {
		r := merged[0]
		if err := f(&r.sortLine); err != nil {
			return err
		}
		switch err := r.advance(); {
		case errors.Is(err, io.EOF):
			heap.Pop(&merged)
			if err := r.file.Close(); err != nil {
				return err
			}
		case err != nil:
			return err
		default:
			heap.Fix(&merged, 0)
		}
	}
	return nil
}
