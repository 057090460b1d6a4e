package importer

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/tool/interchangefile"
)

// Converter converts the export of another chat server. Path is a file or a directory of it.
type Converter func(w *interchangefile.Writer, path string) error

// Converters by the names of formats.
func Converters() map[string]Converter {
	return map[string]Converter{"slack": Slack, "mattermost": Mattermost, "openim": OpenIM, "wukongim": WuKongIM}
}

// DefaultMaxBytes bounds the files of a converted export, together: an archive cannot fill a disk with files that it has only once, or compressed.
const DefaultMaxBytes = 100 << 30

// Convert writes what a converter finds into a directory. Its files have at most maxBytes together; 0 is no limit. Beyond that the error is
// interchangefile.ErrFilesTooLarge.
func Convert(ctx context.Context, convert Converter, format, path, dir string, now time.Time, maxBytes int64) error {
	w, err := interchangefile.Create(ctx, dir, format, now)
	if err != nil {
		return err
	}
	w.LimitFiles(maxBytes)
	if err := convert(w, path); err != nil {
		return err
	}
	_, err = w.Close()
	return err
}

const (
	maxValue = 8 << 20 // bytes of a JSON value
	// maxRatio of compression, of entries above ratioFrom, and of all that is read of an archive: a text compresses to a twentieth, a bomb to a thousandth.
	maxRatio  = 200
	ratioFrom = 16 << 20
)

// source is an export: a directory, or a zip file.
type source struct {
	fs.FS
	close func() error
	sizes map[string]*zip.File // of a zip file
	// size of the zip file in bytes; 0 of a directory.
	size int64
	// opened are the bytes of all entries that were opened, unpacked: of one that was opened twice, twice.
	opened uint64
	// copies are the files that were copied, by their names.
	copies map[string]attachmentCopy
}

// openSource opens a directory or a zip file. What a zip file names outside itself is left out.
func openSource(w *interchangefile.Writer, path string) (*source, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		root, err := os.OpenRoot(path) // no link leads out of it
		if err != nil {
			return nil, err
		}
		return &source{FS: root.FS(), close: root.Close}, nil
	}
	z, err := zip.OpenReader(path)
	if err != nil {
		return nil, fmt.Errorf("%s is neither a directory nor a zip file: %w", path, err)
	}
	s := &source{FS: z, close: z.Close, sizes: map[string]*zip.File{}, size: info.Size()}
	for _, f := range z.File {
		if !fs.ValidPath(strings.TrimSuffix(f.Name, "/")) || strings.Contains(f.Name, `\`) {
			if err := w.Skip("file", f.Name, "its path leads out of the archive"); err != nil {
				return nil, errors.Join(err, z.Close())
			}
			continue
		}
		s.sizes[f.Name] = f
	}
	return s, nil
}

var errBomb = errors.New("it is compressed so far that it may be made to fill the disk")

// open opens a file of the export. No entry of an archive may be compressed too far, and neither may all together: many small ones fill a disk as a large one does, and several may have the same bytes.
// An entry that says less than its size cannot be read beyond it.
func (s *source) open(name string) (fs.File, error) {
	if s.sizes == nil { // a directory
		return s.Open(name)
	}
	f := s.sizes[name]
	if f == nil { // zip.Reader would find an entry with another spelling of this name, which was left out
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	size, most := f.UncompressedSize64, max(ratioFrom, uint64(s.size)*maxRatio)
	if size > ratioFrom && size/max(f.CompressedSize64, 1) > maxRatio || size > most-min(s.opened, most) {
		return nil, errBomb
	}
	s.opened += size
	return s.Open(name)
}

// readArray calls f with each element of a JSON array in a file. optional: the file may be missing. What is behind a broken element is left out.
func readArray[T any](s *source, w *interchangefile.Writer, name, kind string, optional bool, f func(where string, v *T) error) error {
	file, err := s.open(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && optional:
		return nil
	case errors.Is(err, errBomb):
		return w.Skip(kind, name, err.Error())
	case err != nil:
		return err
	}
	defer file.Close()
	bounded := &boundedReader{r: file}
	d := json.NewDecoder(bounded)
	bounded.left = maxValue
	if token, err := d.Token(); err != nil || token != json.Delim('[') {
		return w.Skip(kind, name, "it is no JSON array")
	}
	for n := 1; ; n++ {
		where := fmt.Sprintf("%s: element %d", name, n)
		bounded.left = maxValue
		if !d.More() {
			if _, err := d.Token(); err != nil {
				return w.Skip(kind, where, "the file ends in the middle, and what follows is lost: "+err.Error())
			}
			return nil
		}
		bounded.left = maxValue
		v := new(T)
		var mismatch *json.UnmarshalTypeError
		switch err := d.Decode(v); {
		case errors.As(err, &mismatch):
			if err := w.Skip(kind, where, err.Error()); err != nil {
				return err
			}
			continue
		case err != nil:
			return w.Skip(kind, where, "it cannot be read, nor what follows in the file: "+err.Error())
		}
		if err := f(where, v); err != nil {
			return err
		}
	}
}

// boundedReader fails once a value is too long.
type boundedReader struct {
	r    io.Reader
	left int
}

// Read reads at most what is left of a value.
func (b *boundedReader) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("a value has more than %d bytes", maxValue)
	}
	n, err := b.r.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// kindOfFile is the kind of a message with a file of a type.
func kindOfFile(mimeType string) string {
	switch {
	case mimeType == "image/png", mimeType == "image/jpeg", mimeType == "image/gif", mimeType == "image/webp":
		return interchangefile.Image
	case strings.HasPrefix(mimeType, "video/"):
		return interchangefile.Video
	}
	return interchangefile.File
}

// maxCaption of a file, in characters.
const maxCaption = 2000
