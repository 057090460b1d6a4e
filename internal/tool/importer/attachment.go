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

// attachmentCopy is what became of a file of the export.
type attachmentCopy struct {
	path  string // in the directory
	size  int64
	fault string // why it was skipped
}

// storeAttachment copies a file of the export, once for all messages that have it. If it cannot be read, it is skipped, and the result is nil.
func storeAttachment(s *source, w *interchangefile.Writer, where, name string, a interchangefile.Attachment) (*interchangefile.Attachment, error) {
	c, known := s.copies[name]
	if !known {
		var err error
		if c, err = s.copy(w, name); err != nil {
			return nil, err
		}
		if s.copies == nil {
			s.copies = map[string]attachmentCopy{}
		}
		s.copies[name] = c
	}
	if c.fault != "" {
		return nil, w.Skip("file", where, c.fault)
	}
	a.Path, a.Size = c.path, uint64(c.size)
	return &a, nil
}

// copy copies a file. An error is one of the directory that it is copied to.
func (s *source) copy(w *interchangefile.Writer, name string) (c attachmentCopy, err error) {
	if err := s.check(name); err != nil {
		return attachmentCopy{fault: err.Error()}, nil
	}
	file, err := s.open(name)
	if err != nil {
		return attachmentCopy{fault: err.Error()}, nil
	}
	defer file.Close()
	r := &sourceReader{r: file}
	c.path, c.size, err = w.StoreFile(r)
	switch {
	case r.fault != nil:
		return attachmentCopy{fault: "it cannot be read: " + r.fault.Error()}, nil
	case errors.Is(err, interchangefile.ErrFileTooLarge):
		return attachmentCopy{fault: err.Error()}, nil
	case err == nil && c.size == 0:
		c.fault = "it is empty"
	}
	return c, err
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
