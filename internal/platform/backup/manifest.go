package backup

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/platform/datadir"
)

// format of manifests that this version writes.
const format = 1

// Manifest lists the contents of a backup.
type Manifest struct {
	Format int `json:"format"`
	// ID is the time of the backup's beginning, with random digits.
	ID string `json:"id"`
	// Source is the id of the data directory.
	Source string `json:"source"`
	// CutMs is the time of the cut, in milliseconds since 1970: what was acknowledged before the backup began is in it.
	CutMs int64 `json:"cut_ms"`
	// Epoch of the timelines.
	Epoch uint32 `json:"epoch"`
	// Version of the program that made it.
	Version string `json:"version,omitempty"`
	// Recipients for whom the contents are encrypted; none: they are not.
	Recipients []string `json:"recipients,omitempty"`
	// HasFiles means that the users' files are in it; otherwise they are in S3.
	HasFiles bool   `json:"has_files"`
	Files    []File `json:"files"`
}

// File of a data directory.
type File struct {
	// Path in the data directory, with slashes.
	Path string `json:"path"`
	Size int64  `json:"size"`
	// ModifiedNs is the time of its last change, in nanoseconds since 1970; 0 for the database.
	ModifiedNs int64  `json:"modified_ns,omitempty"`
	Parts      []Part `json:"parts"`
}

// Part of a file.
type Part struct {
	// Object is the SHA-256 of the stored bytes, and the object's name.
	Object string `json:"object"`
	// Size of the part, and of its stored bytes, which differ if they are encrypted.
	Size   int64 `json:"size"`
	Stored int64 `json:"stored"`
}

const idLayout = "20060102T150405.000Z"

func newID(now time.Time) string {
	var b [3]byte
	_, _ = rand.Read(b[:]) // never fails
	return now.UTC().Format(idLayout) + "-" + hex.EncodeToString(b[:])
}

// sumPrefix begins the last line of a manifest.
const sumPrefix = "sha256 "

// encode returns the bytes of a manifest: JSON, and a line with its hash.
func (m *Manifest) encode() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", " ")
	if err := e.Encode(m); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(b.Bytes())
	b.WriteString(sumPrefix + hex.EncodeToString(sum[:]) + "\n")
	return b.Bytes(), nil
}

// decodeManifest reads a manifest, and refuses one that is damaged, incomplete, or of a later version.
func decodeManifest(b []byte) (*Manifest, error) {
	at := bytes.LastIndex(b, []byte("\n"+sumPrefix))
	if at < 0 {
		return nil, fmt.Errorf("it is incomplete or damaged: it does not end with its hash")
	}
	body, line := b[:at+1], string(b[at+1:])
	sum := sha256.Sum256(body)
	if line != sumPrefix+hex.EncodeToString(sum[:])+"\n" {
		return nil, fmt.Errorf("it is damaged: its contents do not match its hash")
	}
	m := &Manifest{}
	if err := json.Unmarshal(body, m); err != nil {
		return nil, err
	}
	if m.Format != format {
		return nil, fmt.Errorf("it has format %d, and this version knows %d: use the version of rialto that made it (%s)", m.Format, format, m.Version)
	}
	seen := make(map[string]bool, len(m.Files))
	for _, f := range m.Files {
		if err := f.check(); err != nil {
			return nil, err
		}
		if seen[f.Path] {
			return nil, fmt.Errorf("it names %s twice", f.Path)
		}
		seen[f.Path] = true
	}
	if !seen[datadir.DatabaseFile] {
		return nil, fmt.Errorf("it lacks %s", datadir.DatabaseFile)
	}
	return m, nil
}

// check refuses what would be written elsewhere than into a data directory's stores.
func (f *File) check() error {
	folder, _, nested := strings.Cut(f.Path, "/")
	switch {
	case !filepath.IsLocal(filepath.FromSlash(f.Path)):
	case !nested && folder == datadir.DatabaseFile, nested && (folder == datadir.TimelinesDir || folder == datadir.FilesDir):
		var size int64
		for _, p := range f.Parts {
			if b, err := hex.DecodeString(p.Object); err != nil || len(b) != sha256.Size {
				return fmt.Errorf("it names an object %q of %s", p.Object, f.Path)
			}
			size += p.Size
		}
		if size != f.Size {
			return fmt.Errorf("the parts of %s have %d bytes of %d", f.Path, size, f.Size)
		}
		return nil
	}
	return fmt.Errorf("it names a file %q", f.Path)
}
