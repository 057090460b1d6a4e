package interchangefile

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// MaxLine bounds a line, in bytes.
const MaxLine = 8 << 20

// ErrLineTooLong is returned for a line above MaxLine; Lines continues behind it.
var ErrLineTooLong = fmt.Errorf("the line has more than %d bytes", MaxLine)

// Lines reads a file of JSON lines.
type Lines struct {
	name   string
	r      *bufio.Reader
	line   int64
	offset int64
}

// NewLines reads lines. The name is for errors.
func NewLines(name string, r io.Reader) *Lines {
	return &Lines{name: name, r: bufio.NewReaderSize(r, 64<<10)}
}

// Offset is how many bytes were read.
func (l *Lines) Offset() int64 { return l.offset }

// Line is the number of the last line.
func (l *Lines) Line() int64 { return l.line }

// Next returns the next line that is not empty, valid until the next call; io.EOF at the end. A line that is too long, or not valid UTF-8, is a *LineError,
// after which Next continues with the line behind it.
func (l *Lines) Next() ([]byte, error) {
	for {
		raw, err := l.read()
		if err != nil {
			return nil, err
		}
		if raw = bytes.TrimSpace(raw); len(raw) > 0 {
			if !utf8.Valid(raw) {
				return nil, l.Fault(errors.New("the line is not valid UTF-8"))
			}
			return raw, nil
		}
	}
}

func (l *Lines) read() ([]byte, error) {
	var whole []byte
	tooLong := false
	for {
		part, err := l.r.ReadSlice('\n')
		l.offset += int64(len(part))
		if tooLong = tooLong || len(whole)+len(part) > MaxLine; tooLong {
			whole = nil
		} else if err == nil && whole == nil {
			l.line++
			return part, nil
		} else {
			whole = append(whole, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(whole) == 0 && !tooLong:
			return nil, io.EOF
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		}
		l.line++
		if tooLong {
			return nil, l.Fault(ErrLineTooLong)
		}
		return whole, nil
	}
}

// Fault is an error of the last line.
func (l *Lines) Fault(err error) error { return &LineError{l.name, l.line, err} }

// Decode reads the next line into v. Unknown fields are ignored: later versions add some.
func (l *Lines) Decode(v any) error {
	raw, err := l.Next()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return l.Fault(err)
	}
	return nil
}

// lineWriter writes a file of JSON lines, and its checksum.
type lineWriter struct {
	name  string
	file  *os.File
	out   *bufio.Writer
	lines int64
	size  int64
}

func createLines(dir, name string) (*lineWriter, error) {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return newLineWriter(name, f, 0), nil
}

func newLineWriter(name string, f *os.File, size int64) *lineWriter {
	return &lineWriter{name: name, file: f, out: bufio.NewWriterSize(f, 256<<10), size: size}
}

func (w *lineWriter) write(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return w.raw(append(b, '\n'))
}

func (w *lineWriter) raw(line []byte) error {
	n, err := w.out.Write(line)
	w.lines, w.size = w.lines+1, w.size+int64(n)
	return err
}

// flush makes what was written durable.
func (w *lineWriter) flush() error {
	if err := w.out.Flush(); err != nil {
		return err
	}
	return w.file.Sync()
}

func (w *lineWriter) close() error { return errors.Join(w.flush(), w.file.Close()) }

// describe reads a file of lines again, for the manifest.
func describe(dir, name string) (p Part, err error) {
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return p, err
	}
	defer f.Close()
	h := sha256.New()
	counter := &newlines{}
	size, err := io.Copy(io.MultiWriter(h, counter), f)
	return Part{Name: name, Lines: counter.n, Size: size, Sha256: hex.EncodeToString(h.Sum(nil))}, err
}

// newlines counts line feeds.
type newlines struct{ n int64 }

func (c *newlines) Write(b []byte) (int, error) {
	c.n += int64(bytes.Count(b, []byte{'\n'}))
	return len(b), nil
}

// checkPath refuses a path that leaves the folder of files.
func checkPath(path string) error {
	if !strings.HasPrefix(path, filesDir+"/") || path != filepath.ToSlash(filepath.Clean(path)) || !filepath.IsLocal(path) {
		return fmt.Errorf("%q is no path in the folder of files", path)
	}
	return nil
}
