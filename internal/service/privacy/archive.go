package privacy

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"path"
	"time"

	"github.com/rialto-im/rialto/internal/engine/blob"
)

// archiveFormat is the number of the format, in docs/formats/export.md.
const archiveFormat = 1

// manifest is the last entry of an archive, manifest.json.
type manifest struct {
	Format    int     `json:"format"`
	User      string  `json:"user"`
	CreatedMs int64   `json:"created_ms"`
	Entries   []entry `json:"entries"`
}

// entry is another entry of an archive.
type entry struct {
	Name    string `json:"name"`
	Records int64  `json:"records,omitempty"` // lines of JSON; absent for files
	Size    int64  `json:"size"`              // bytes before compression
	SHA256  string `json:"sha256"`
}

// archive writes an export: a zip with an entry for each kind of record, and one for each file. It implements userdata.Writer. One goroutine may use it.
type archive struct {
	zip     *zip.Writer
	bytes   *counted
	store   blob.Store
	list    []entry
	names   map[string]bool
	kind    string // of the open entry, "" if there is none
	open    io.Writer
	sum     hash.Hash
	records int64
	size    int64
}

// counted counts what is written.
type counted struct {
	to io.Writer
	n  int64
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.to.Write(b)
	c.n += int64(n)
	return n, err
}

func newArchive(to io.Writer, store blob.Store) *archive {
	bytes := &counted{to: to}
	return &archive{zip: zip.NewWriter(bytes), bytes: bytes, store: store, names: map[string]bool{}}
}

// begin begins an entry. Entries have no time: the same data are the same bytes.
func (a *archive) begin(name string, method uint16) error {
	if a.names[name] {
		return fmt.Errorf("the archive has an entry %s already", name)
	}
	a.names[name] = true
	w, err := a.zip.CreateHeader(&zip.FileHeader{Name: name, Method: method, Modified: time.Time{}})
	if err != nil {
		return err
	}
	a.sum, a.records, a.size = sha256.New(), 0, 0
	a.open = io.MultiWriter(w, a.sum)
	return nil
}

// end ends the open entry.
func (a *archive) end(name string) {
	a.list = append(a.list, entry{Name: name, Records: a.records, Size: a.size, SHA256: hex.EncodeToString(a.sum.Sum(nil))})
	a.kind, a.open = "", nil
}

// Record writes a line of JSON into the entry of its kind.
func (a *archive) Record(kind string, record any) error {
	if a.kind != kind {
		a.endKind()
		if err := a.begin(kind+".jsonl", zip.Deflate); err != nil {
			return err
		}
		a.kind = kind
	}
	line, err := json.Marshal(record)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	a.records++
	a.size += int64(len(line))
	_, err = a.open.Write(line)
	return err
}

func (a *archive) endKind() {
	if a.kind != "" {
		a.end(a.kind + ".jsonl")
	}
}

// File copies a file of the store. One that has just been deleted is left out.
func (a *archive) File(ctx context.Context, name, key string) error {
	a.endKind()
	f, size, err := a.store.Open(ctx, key)
	if errors.Is(err, blob.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	name = path.Join("files", name)
	if err := a.begin(name, zip.Store); err != nil { // most files are compressed
		return err
	}
	if a.size, err = io.Copy(a.open, f); err != nil {
		return err
	}
	if a.size != size {
		return fmt.Errorf("the file %s has %d bytes of %d", key, a.size, size)
	}
	a.end(name)
	return ctx.Err()
}

// close writes the manifest, and returns the size of the archive.
func (a *archive) close(m manifest) (int64, error) {
	a.endKind()
	m.Entries = a.list
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return 0, err
	}
	if err := a.begin("manifest.json", zip.Deflate); err != nil {
		return 0, err
	}
	if _, err := a.open.Write(append(text, '\n')); err != nil {
		return 0, err
	}
	err = a.zip.Close()
	return a.bytes.n, err
}
