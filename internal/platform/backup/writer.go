package backup

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"slices"

	"filippo.io/age"
	"github.com/rialto-im/rialto/internal/base/failpoint"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/datadir"
	"golang.org/x/time/rate"
)

const (
	// readSize is how much is read at once, and then counted by the limit of the rate.
	readSize = 256 << 10
	// databasePart is the size of the parts of the database: one that has not changed is not stored again.
	databasePart = 4 << 20
)

// writer copies contents into a repository. It is used by one goroutine.
type writer struct {
	ctx        context.Context
	repository *repository
	recipients []age.Recipient
	limit      *rate.Limiter
	progress   Progress
	done       int64 // bytes, of stores and files together
	stores     int64
	files      int64
	buffer     []byte
	earlier    map[string]File // of the latest backup of the same directory, by path
	result     Result
}

func newWriter(ctx context.Context, r *repository, c Config, recipients []age.Recipient, progress Progress) *writer {
	perSecond := cmp.Or(c.BytesPerSecond, defaultRate)
	return &writer{ctx: ctx, repository: r, recipients: recipients, progress: progress, buffer: make([]byte, readSize),
		limit: rate.NewLimiter(rate.Limit(perSecond), readSize)}
}

// reuseFrom remembers the files of the latest backup of a data directory for the same recipients. Backups that cannot be read are passed over: without
// them more is copied.
func (w *writer) reuseFrom(ctx context.Context, source string, recipients []string) error {
	ids, err := w.repository.ids(ctx)
	if err != nil {
		return err
	}
	for _, id := range slices.Backward(ids) {
		m, err := w.repository.manifest(ctx, id)
		if err != nil || m.Source != source || !slices.Equal(m.Recipients, recipients) {
			continue
		}
		w.earlier = make(map[string]File, len(m.Files))
		for _, f := range m.Files {
			w.earlier[f.Path] = f
		}
		return nil
	}
	return nil
}

// isStored reports whether the repository has all parts of a file, as far as names and sizes tell.
func (w *writer) isStored(f *File) bool {
	for _, p := range f.Parts {
		if !w.repository.has(p.Object, p.Stored) {
			return false
		}
	}
	return true
}

func (w *writer) advance(n int64) {
	w.done += n
	w.progress.report(w.done, w.stores+w.files)
}

// copyAll copies files, and adds them to the manifest.
func (w *writer) copyAll(files []listedFile, m *Manifest) error {
	for i := range files {
		f, err := w.copyFile(&files[i])
		if err != nil {
			return err
		}
		m.Files = append(m.Files, *f)
		failpoint.Hit("backup/after-file")
	}
	return nil
}

// copyFile stores a file, unless an earlier backup has it.
func (w *writer) copyFile(l *listedFile) (*File, error) {
	f := File{Path: l.Name, Size: l.Info.Size(), ModifiedNs: l.Info.ModTime().UnixNano()}
	w.result.Files++
	w.result.Bytes += f.Size
	if was, ok := w.earlier[f.Path]; ok && was.Size == f.Size && was.ModifiedNs == f.ModifiedNs && w.isStored(&was) {
		w.advance(f.Size)
		f.Parts = was.Parts
		return &f, w.ctx.Err()
	}
	in, err := os.Open(l.Path)
	if errors.Is(err, fs.ErrNotExist) && l.elsewhere != "" { // it was deleted meanwhile
		in, err = os.Open(l.elsewhere)
	}
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if f.Parts, err = w.storeParts(in); err != nil {
		return nil, explain(fmt.Errorf("copying %s: %w", l.Path, err), w.repository.String())
	}
	f.Size = 0 // it may have changed
	for _, p := range f.Parts {
		f.Size += p.Size
	}
	return &f, nil
}

// storeParts stores what it reads in objects that are as large as the repository has them. Nothing is one empty object.
func (w *writer) storeParts(in io.Reader) (parts []Part, err error) {
	if w.repository.partSize == 0 {
		p, err := w.store(in)
		if err != nil {
			return nil, err
		}
		return []Part{*p}, nil
	}
	for rest := bufio.NewReaderSize(in, readSize); ; {
		p, err := w.store(io.LimitReader(rest, w.repository.partSize))
		if err != nil {
			return nil, err
		}
		parts = append(parts, *p)
		switch _, err := rest.Peek(1); {
		case err == io.EOF:
			return parts, nil
		case err != nil:
			return nil, err
		}
	}
}

// copyDatabase stores the parts of the database.
func (w *writer) copyDatabase(ctx context.Context, s *sqldb.FileSnapshot) (*File, error) {
	f := &File{Path: datadir.DatabaseFile, Size: s.Size()}
	var part bytes.Buffer
	flush := func() error {
		if part.Len() == 0 {
			return nil
		}
		p, err := w.storeDatabasePart(part.Bytes())
		if err != nil {
			return err
		}
		f.Parts = append(f.Parts, *p)
		part.Reset()
		failpoint.Hit("backup/after-part")
		return nil
	}
	err := s.Pages(ctx, func(page []byte) error {
		part.Write(page)
		if part.Len() < databasePart {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	if err != nil {
		return nil, explain(fmt.Errorf("copying the database: %w", err), w.repository.String())
	}
	w.result.Files++
	w.result.Bytes += f.Size
	return f, nil
}

// storeDatabasePart stores a part of the database. Without encryption, one that the repository has is only read.
func (w *writer) storeDatabasePart(b []byte) (*Part, error) {
	sum := sha256.Sum256(b)
	p := &Part{Object: hex.EncodeToString(sum[:]), Size: int64(len(b)), Stored: int64(len(b))}
	if len(w.recipients) > 0 || !w.repository.has(p.Object, p.Stored) {
		return w.store(bytes.NewReader(b))
	}
	if err := w.wait(len(b)); err != nil {
		return nil, err
	}
	w.advance(p.Size)
	return p, nil
}

// wait waits until so many bytes may be read.
func (w *writer) wait(n int) error {
	for n > 0 {
		step := min(n, readSize)
		if err := w.limit.WaitN(w.ctx, step); err != nil {
			return err
		}
		n -= step
	}
	return nil
}

// store writes what it reads as an object, durably but for the name, unless the repository has it.
func (w *writer) store(in io.Reader) (_ *Part, err error) {
	out, err := w.repository.create()
	if err != nil {
		return nil, err
	}
	committed := false
	defer func() {
		if !committed {
			err = errors.Join(err, out.abandon())
		}
	}()
	stored := &countingHash{Hash: sha256.New()}
	buffered := bufio.NewWriterSize(io.MultiWriter(out, stored), readSize)
	size, err := w.copyTo(buffered, in)
	if err == nil {
		err = buffered.Flush()
	}
	if err != nil {
		return nil, err
	}
	p := &Part{Object: hex.EncodeToString(stored.Sum(nil)), Size: size, Stored: stored.n}
	if w.repository.has(p.Object, p.Stored) {
		return p, nil
	}
	if err := out.commit(w.ctx, objectName(p.Object)); err != nil {
		return nil, err
	}
	committed = true
	w.repository.known[p.Object] = p.Stored
	w.result.NewFiles++
	w.result.NewBytes += p.Stored
	return p, nil
}

// copyTo copies at the limited rate, and encrypts if that is asked for. It returns how much it read.
func (w *writer) copyTo(out io.Writer, in io.Reader) (size int64, err error) {
	to := io.WriteCloser(nopCloser{out})
	if len(w.recipients) > 0 {
		if to, err = age.Encrypt(out, w.recipients...); err != nil {
			return 0, err
		}
	}
	for {
		n, err := in.Read(w.buffer)
		if n > 0 {
			if err := w.wait(n); err != nil {
				return size, err
			}
			if _, err := to.Write(w.buffer[:n]); err != nil {
				return size, err
			}
			size += int64(n)
			w.advance(int64(n))
		}
		if err == io.EOF {
			return size, to.Close()
		}
		if err != nil {
			return size, err
		}
	}
}

// countingHash counts what it hashes.
type countingHash struct {
	hash.Hash
	n int64
}

func (h *countingHash) Write(b []byte) (int, error) {
	h.n += int64(len(b))
	return h.Hash.Write(b)
}
