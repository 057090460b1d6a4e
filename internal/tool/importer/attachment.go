package importer

import (
	"errors"
	"io"
	"io/fs"

	"github.com/rialto-im/rialto/internal/tool/interchangefile"
)

// firstFile returns the name of the first file in a directory of the export, "" if there is none.
func (s *source) firstFile(dir string) (string, error) {
	entries, err := fs.ReadDir(s.FS, dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	for _, e := range entries {
		name := dir + "/" + e.Name()
		if e.Type().IsRegular() || e.Type() == fs.ModeSymlink && s.check(name) == nil {
			return name, nil
		}
	}
	return "", err
}

// check returns an error for what is no file: reading from a device may never end.
func (s *source) check(name string) error {
	info, err := fs.Stat(s.FS, name)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no regular file: " + name)
	}
	return err
}

// storeAttachment copies a file of the export. If it cannot be read, it is skipped, and the result is nil.
func storeAttachment(s *source, w *interchangefile.Writer, where, name string, a interchangefile.Attachment) (*interchangefile.Attachment, error) {
	if err := s.check(name); err != nil {
		return nil, w.Skip("file", where, err.Error())
	}
	file, err := s.open(name)
	if err != nil {
		return nil, w.Skip("file", where, err.Error())
	}
	defer file.Close()
	r := &sourceReader{r: file}
	stored, size, err := w.StoreFile(r)
	switch {
	case r.fault != nil:
		return nil, w.Skip("file", where, "it cannot be read: "+r.fault.Error())
	case errors.Is(err, interchangefile.ErrFileTooLarge):
		return nil, w.Skip("file", where, err.Error())
	case err != nil:
		return nil, err
	case size == 0:
		return nil, w.Skip("file", where, "it is empty")
	}
	a.Path, a.Size = stored, uint64(size)
	return &a, nil
}

// sourceReader remembers why a file of the export could not be read, which is no fault of the directory that it is copied to.
type sourceReader struct {
	r     io.Reader
	fault error
}

// Read reads from the export.
func (s *sourceReader) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.fault = err
	}
	return n, err
}
