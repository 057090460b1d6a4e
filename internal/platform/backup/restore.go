package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"filippo.io/age"
	"github.com/rialto-im/rialto/internal/base/failpoint"
	"github.com/rialto-im/rialto/internal/base/filecopy"
	"github.com/rialto-im/rialto/internal/platform/datadir"
	"golang.org/x/sys/unix"
)

// RestoreOptions of Restore and Check.
type RestoreOptions struct {
	// From is the directory of backups, or s3://BUCKET/PREFIX on the server S3. ID is the backup; empty: the newest.
	From, ID string
	S3       S3
	// Identity is a file with private keys of age, for an encrypted backup.
	Identity string
	// Starts is how often a server has started on the original since the backup; 0: 1,000, and one for each ten minutes since the backup. Streams
	// go on in an epoch that is so much higher.
	Starts uint32
	// Now is the present time.
	Now      time.Time
	Progress Progress
}

// Bounds of the guessed number of starts.
const (
	leastStarts   = 1000
	startInterval = 10 * time.Minute
	// mostStarts keeps epochs below 2^21, beyond which JavaScript cannot represent a position as a number.
	mostStarts = 1 << 19
)

// Check reads a whole backup, and compares everything with its hashes. It writes nothing. With an identity it also finds out whether that opens the backup.
func Check(ctx context.Context, o RestoreOptions) (_ *Manifest, err error) {
	r, m, err := openBackup(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	if o.Identity != "" {
		if _, err := r.keys(ctx, m, o.Identity); err != nil {
			return nil, err
		}
	}
	return m, r.check(ctx, m, o.Progress)
}

// keys returns the private keys of a file, if they are needed: none of a backup that is not encrypted. It fails if they do not open the backup.
func (r *repository) keys(ctx context.Context, m *Manifest, file string) ([]age.Identity, error) {
	if len(m.Recipients) == 0 {
		return nil, nil
	}
	if file == "" {
		return nil, fmt.Errorf("the backup %s is encrypted for %s: give the file with the private key, --identity FILE", m.ID, strings.Join(m.Recipients, ", "))
	}
	keys, err := identitiesOf(file)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(m.Files, func(f File) bool { return len(f.Parts) > 0 })
	if i < 0 {
		return keys, nil
	}
	// All objects of a backup are encrypted for the same recipients. The check of all objects finds other faults.
	_, err = r.writePart(ctx, io.Discard, m.Files[i].Parts[0], keys)
	if no := (*age.NoIdentityMatchError)(nil); errors.As(err, &no) {
		return nil, fmt.Errorf("the private key in %s does not open the backup %s, which is encrypted for %s", file, m.ID, strings.Join(m.Recipients, ", "))
	}
	return keys, nil
}

// Restore writes a backup into a directory, which must be empty or missing but for a lock, and makes it ready for a server. It reads the whole
// backup first, and writes nothing if a part does not match its hash. The streams of users go on in a new epoch, and devices read their lists
// and histories again. If it is interrupted, a server refuses the directory. The caller has locked the directory.
func Restore(ctx context.Context, dir string, o RestoreOptions) (m *Manifest, restored string, err error) {
	if err := CheckEmpty(dir); err != nil {
		return nil, "", err
	}
	if !isBucket(o.From) {
		if err := checkOutside(o.From, dir); err != nil {
			return nil, "", err
		}
	}
	r, m, err := openBackup(ctx, o)
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	keys, err := r.keys(ctx, m, o.Identity)
	if err != nil {
		return nil, "", err
	}
	if err := r.check(ctx, m, o.Progress); err != nil {
		return nil, "", err
	}
	if err := r.write(ctx, dir, m, keys, o.Progress); err != nil {
		if errors.Is(err, unix.ENOSPC) {
			err = fmt.Errorf("the disk of %s is full: empty the directory, free space, and restore again: %w", dir, err)
		}
		return nil, "", err
	}
	failpoint.Hit("restore/before-adopt")
	restored, err = datadir.Adopt(ctx, dir, datadir.Options{Logger: slog.New(slog.DiscardHandler), Files: m.HasFiles}, o.starts(m))
	return m, restored, err
}

// starts is how often a server may have started on the original since the backup.
func (o *RestoreOptions) starts(m *Manifest) uint32 {
	if o.Starts != 0 {
		return o.Starts
	}
	since := max(o.Now.Sub(time.UnixMilli(m.CutMs)), 0)
	return uint32(min(leastStarts+int64(since/startInterval), mostStarts))
}

// CheckEmpty refuses a directory that has files, other than a lock.
func CheckEmpty(dir string) error {
	names, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range names {
		if e.Name() != lockFile {
			return fmt.Errorf("%s is not empty (it has %s), and nothing was changed: restore into a new directory, or move what is there elsewhere", dir, e.Name())
		}
	}
	return nil
}

func openBackup(ctx context.Context, o RestoreOptions) (*repository, *Manifest, error) {
	r, err := openForReading(ctx, Config{Directory: o.From, S3: o.S3}, true)
	if err != nil {
		return nil, nil, err
	}
	id, err := r.latest(ctx, o.ID)
	if err != nil {
		return nil, nil, errors.Join(err, r.close())
	}
	m, err := r.manifest(ctx, id)
	if err != nil {
		return nil, nil, errors.Join(err, r.close())
	}
	return r, m, nil
}

// maxProblems bounds the listed damages of a backup.
const maxProblems = 20

// check compares each object with its hash.
func (r *repository) check(ctx context.Context, m *Manifest, progress Progress) error {
	stored := map[string]int64{}
	var total, done int64
	for _, f := range m.Files {
		for _, p := range f.Parts {
			if _, ok := stored[p.Object]; !ok {
				total += p.Stored
			}
			stored[p.Object] = p.Stored
		}
	}
	var problems []string
	checked := make(map[string]bool, len(stored))
	for _, f := range m.Files {
		for _, p := range f.Parts {
			if checked[p.Object] {
				continue
			}
			checked[p.Object] = true
			if err := r.checkObject(ctx, p); err != nil {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				problems = append(problems, fmt.Sprintf("%s (for %s): %v", r.pathOf(objectName(p.Object)), f.Path, err))
			}
			done += p.Stored
			progress.report(done, total)
		}
	}
	if len(problems) == 0 {
		return nil
	}
	more := ""
	if n := len(problems); n > maxProblems {
		problems, more = problems[:maxProblems], fmt.Sprintf("\n  - and %d more", n-maxProblems)
	}
	return fmt.Errorf("the backup %s is damaged, and nothing was written:\n  - %s%s\nPut these files back from a copy of %s, or use another backup: rialto backup --to %s --list", m.ID, strings.Join(problems, "\n  - "), more, r, r)
}

func (r *repository) checkObject(ctx context.Context, p Part) error {
	f, err := r.open(ctx, objectName(p.Object))
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("it is missing")
	}
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(io.Discard, r.verified(ctx, f, p))
	return err
}

// verified reads an object, and fails at its end if it does not match its name and size.
func (r *repository) verified(ctx context.Context, f io.Reader, p Part) io.Reader {
	return &verifiedReader{ctx: ctx, from: f, part: p, sum: countingHash{Hash: sha256.New()}}
}

type verifiedReader struct {
	ctx  context.Context
	from io.Reader
	part Part
	sum  countingHash
}

// Read reads.
func (v *verifiedReader) Read(b []byte) (int, error) {
	if err := v.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := v.from.Read(b)
	_, _ = v.sum.Write(b[:n]) // never fails
	if err == io.EOF {
		switch {
		case v.sum.n != v.part.Stored:
			return n, fmt.Errorf("it has %d bytes of %d", v.sum.n, v.part.Stored)
		case hex.EncodeToString(v.sum.Sum(nil)) != v.part.Object:
			return n, errors.New("its contents do not match its hash")
		}
	}
	return n, err
}

// write writes the files of a backup, durably. The database comes last, and gets its name when it is complete: without it, no server accepts the directory.
func (r *repository) write(ctx context.Context, dir string, m *Manifest, keys []age.Identity, progress Progress) error {
	var total, done int64
	var database *File
	var others []File
	for i, f := range m.Files {
		total += f.Size
		if f.Path == datadir.DatabaseFile {
			database = &m.Files[i]
		} else {
			others = append(others, f)
		}
	}
	folders := map[string]bool{dir: true}
	for _, folder := range []string{datadir.TimelinesDir, datadir.FilesDir} { // the first file makes the directory one that has to be complete
		if folder == datadir.TimelinesDir || m.HasFiles {
			if err := makeDir(filepath.Join(dir, folder), folders); err != nil {
				return err
			}
		}
	}
	report := func(n int64) {
		done += n
		progress.report(done, total)
	}
	for _, f := range others {
		to := filepath.Join(dir, filepath.FromSlash(f.Path))
		if err := makeDir(filepath.Dir(to), folders); err != nil {
			return err
		}
		if err := r.writeFile(ctx, to, f, keys, report); err != nil {
			return err
		}
		failpoint.Hit("restore/after-file")
	}
	part := filepath.Join(dir, newPrefix+datadir.DatabaseFile)
	if err := r.writeFile(ctx, part, *database, keys, report); err != nil {
		return err
	}
	for folder := range folders {
		if err := filecopy.SyncDir(folder); err != nil {
			return err
		}
	}
	if err := os.Rename(part, filepath.Join(dir, datadir.DatabaseFile)); err != nil {
		return err
	}
	return errors.Join(filecopy.SyncDir(dir), filecopy.SyncDir(filepath.Dir(dir)))
}

// makeDir creates a folder and its parents, and notes them.
func makeDir(path string, made map[string]bool) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	for ; !made[path]; path = filepath.Dir(path) {
		made[path] = true
	}
	return nil
}

// writeFile writes a file from its parts, and syncs it.
func (r *repository) writeFile(ctx context.Context, to string, f File, keys []age.Identity, report func(n int64)) (err error) {
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	for _, p := range f.Parts {
		n, err := r.writePart(ctx, out, p, keys)
		if err == nil && n != p.Size {
			err = fmt.Errorf("it has %d bytes of %d", n, p.Size)
		}
		if err != nil {
			return fmt.Errorf("restoring %s from %s: %w", f.Path, r.pathOf(objectName(p.Object)), err)
		}
		report(n)
	}
	return out.Sync()
}

func (r *repository) writePart(ctx context.Context, out io.Writer, p Part, keys []age.Identity) (int64, error) {
	f, err := r.open(ctx, objectName(p.Object))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	stored := r.verified(ctx, f, p) // once more: the disk may have given other bytes before
	from := stored
	if len(keys) > 0 {
		if from, err = age.Decrypt(stored, keys...); err != nil {
			return 0, fmt.Errorf("the private key does not open it: %w", err)
		}
	}
	n, err := io.Copy(out, from)
	if err == nil && len(keys) > 0 { // what follows the encrypted contents must match the hash as well
		_, err = io.Copy(io.Discard, stored)
	}
	return n, err
}
