package backup

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/engine/blob"
	"github.com/rialto-im/rialto/internal/engine/blob/s3blob"
)

// S3 is the server of buckets with backups.
type S3 struct {
	// Endpoint is the server's URL; default is Amazon's of the region, as https://s3.eu-central-1.amazonaws.com.
	Endpoint string `yaml:"endpoint"`
	// Region of the bucket; default us-east-1, which most servers other than Amazon's accept.
	Region string `yaml:"region"`
	// AccessKey and SecretKey: without them, from AWS_ACCESS_KEY_ID and so on, ~/.aws/credentials, or the role of the machine.
	AccessKey string `yaml:"access_key"`
	// SecretKey that belongs to the access key.
	SecretKey string `yaml:"secret_key"`
	// CA is a file with the certificates that sign the server's; default are the system's.
	CA string `yaml:"ca"`
}

const (
	bucketScheme = "s3://"
	// bucketPart is how large objects are in a bucket, before encryption. One is in memory at a time, and is stored by one request.
	bucketPart = 4 << 20

	locksDir = "locks"
	// renewInterval is how often a process that writes a bucket stores its lock again.
	renewInterval = time.Minute
	// staleLock is the age at which a lock is one of a process that has died, by the clock of the S3 server. A process whose lock has half that age stops writing.
	staleLock = 15 * time.Minute
	// unlockTimeout bounds the removal of the own lock.
	unlockTimeout = 10 * time.Second
	// removalBatch is how many objects are removed before the server is asked again whose lock the bucket has.
	removalBatch = 100
)

// isBucket reports whether a directory of backups is a bucket.
func isBucket(directory string) bool { return strings.HasPrefix(directory, bucketScheme) }

// bucketOf returns the store of s3://BUCKET/PREFIX.
func (c Config) bucketOf() (s s3blob.Config, err error) {
	name, prefix, _ := strings.Cut(strings.TrimPrefix(c.Directory, bucketScheme), "/")
	prefix = strings.TrimSuffix(prefix, "/")
	if name == "" || strings.ContainsAny(name, ":@?#%") || prefix != "" && !blob.ValidKey(prefix) {
		return s, fmt.Errorf("%q is no s3://BUCKET or s3://BUCKET/PREFIX; a prefix has a-z, 0-9, - and /", c.Directory)
	}
	if (c.S3.AccessKey == "") != (c.S3.SecretKey == "") {
		return s, errors.New("give both backup.s3.access_key and backup.s3.secret_key, or neither")
	}
	s = s3blob.Config{Endpoint: c.S3.Endpoint, Region: cmp.Or(c.S3.Region, "us-east-1"), Bucket: name, Prefix: prefix, AccessKey: c.S3.AccessKey, SecretKey: c.S3.SecretKey, CA: c.S3.CA, Uploads: 1}
	if s.Endpoint == "" {
		s.Endpoint = "https://s3." + s.Region + ".amazonaws.com"
	}
	return s, nil
}

// PlaintextHost returns the host of the bucket's server, if it is reached without TLS. It is empty if it is not, and without a bucket.
func (c Config) PlaintextHost() string {
	if u, err := url.Parse(c.S3.Endpoint); err == nil && u.Scheme == "http" && isBucket(c.Directory) {
		return u.Host
	}
	return ""
}

// bucket is the storage of a bucket. Its files have the names of those in a directory of backups.
type bucket struct {
	name  string // s3://BUCKET/PREFIX
	store *s3blob.Store
	lock  *bucketLock // nil: it is only read

	removals int // how many were tried
}

// openBucket opens a bucket for writing.
func openBucket(ctx context.Context, c Config) (_ *bucket, err error) {
	s, err := c.bucketOf()
	if err != nil {
		return nil, err
	}
	b := &bucket{name: strings.TrimSuffix(c.Directory, "/")}
	if b.store, err = s3blob.Open(ctx, s); err != nil {
		return nil, err
	}
	isNew, err := b.isNew(ctx)
	if err != nil {
		return nil, err
	}
	if b.lock, err = lockBucket(ctx, b); err != nil {
		return nil, err
	}
	if isNew {
		if err := b.put(ctx, markFile, []byte(markText)); err != nil {
			return nil, errors.Join(err, b.close())
		}
	}
	return b, nil
}

// openBucketForReading opens a bucket with backups.
func openBucketForReading(ctx context.Context, c Config) (*bucket, error) {
	s, err := c.bucketOf()
	if err != nil {
		return nil, err
	}
	s.ReadOnly = true
	b := &bucket{name: strings.TrimSuffix(c.Directory, "/")}
	if b.store, err = s3blob.Open(ctx, s); err != nil {
		return nil, err
	}
	f, err := b.open(ctx, markFile)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := b.isNew(ctx); err == nil {
			return nil, &absentError{b.name + " has no backups of Rialto: it is empty"}
		}
		return nil, fmt.Errorf("%s has no backups of Rialto: its file %s is missing", b, markFile)
	}
	if err != nil {
		return nil, err
	}
	return b, f.Close()
}

var errOtherFiles = errors.New("it has other files than backups: name an empty prefix, or one with backups")

// isNew reports whether the prefix has no backups yet. It refuses one with other files.
func (b *bucket) isNew(ctx context.Context) (bool, error) {
	f, err := b.open(ctx, markFile)
	if err == nil {
		return false, f.Close()
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	err = b.list(ctx, "", func(name string, _ int64) error {
		if !strings.HasPrefix(name, locksDir+"/") && !strings.HasPrefix(name, s3blob.ProbePrefix) {
			return fmt.Errorf("%s: %w", b, errOtherFiles)
		}
		return nil
	})
	return true, err
}

// String returns the address.
func (b *bucket) String() string { return b.name }

// newObject is an object that is being written: it is in memory until it is committed.
type newObject struct {
	bytes.Buffer
	of *bucket
}

func (b *bucket) create() (object, error) { return &newObject{of: b}, nil }

func (o *newObject) commit(ctx context.Context, name string) error {
	if err := o.of.lock.check(); err != nil {
		return err
	}
	return o.of.store.PutObject(ctx, name, o.Bytes())
}

func (o *newObject) abandon() error { return nil }

func (b *bucket) put(ctx context.Context, name string, text []byte) error {
	if err := b.lock.check(); err != nil {
		return err
	}
	return b.store.PutObject(ctx, name, text)
}

func (b *bucket) open(ctx context.Context, name string) (io.ReadCloser, error) {
	f, _, err := b.store.OpenObject(ctx, name)
	switch {
	case errors.Is(err, blob.ErrNotFound):
		return nil, fs.ErrNotExist
	case err != nil:
		return nil, err
	}
	return f, nil
}

func (b *bucket) list(ctx context.Context, folder string, each func(name string, size int64) error) error {
	return b.store.ListObjects(ctx, folder, func(o s3blob.Object) error { return each(o.Name, o.Size) })
}

func (b *bucket) remove(ctx context.Context, name string) error {
	if err := b.lock.check(); err != nil {
		return err
	}
	if b.removals%removalBatch == 0 { // nobody else may count on what is removed
		if err := b.lock.confirm(ctx); err != nil {
			return err
		}
	}
	b.removals++
	return b.store.DeleteObject(ctx, name)
}

func (b *bucket) close() error {
	if b.lock == nil {
		return nil
	}
	return b.lock.unlock()
}

// bucketLock is the lock of a process that writes a bucket: an object of its own. Who finds the lock of another process after storing the own one withdraws, so that
// of two that begin at once at most one goes on. This needs no more of an S3 server than that it is consistent.
type bucketLock struct {
	of     *bucket
	name   string
	text   []byte
	cancel context.CancelFunc // of the goroutine that renews it
	ended  chan struct{}      // closed when that has returned

	mu      sync.Mutex // guards what follows
	renewed time.Time  // when the latest renewal that succeeded began
	failure error      // of the latest renewal; nil: it succeeded
}

// lockBucket locks a bucket. The lock is renewed until ctx ends, or until unlock.
func lockBucket(ctx context.Context, b *bucket) (_ *bucketLock, err error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	l := &bucketLock{of: b, name: locksDir + "/" + newID(time.Now()), text: []byte(host + ", process " + strconv.Itoa(os.Getpid()) + "\n"), ended: make(chan struct{})}
	if err := l.store(ctx); err != nil {
		return nil, err
	}
	ctx, l.cancel = context.WithCancel(ctx)
	go func() {
		defer close(l.ended)
		backoff.Every(ctx, renewInterval, func() {
			l.renew(ctx)
		})
	}()
	if err := l.onlyOne(ctx); err != nil {
		return nil, errors.Join(err, l.unlock())
	}
	return l, nil
}

// store stores the lock.
func (l *bucketLock) store(ctx context.Context) error {
	began := time.Now()
	if err := l.of.store.PutObject(ctx, l.name, l.text); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.renewed, l.failure = began, nil
	return nil
}

// renew stores the lock again if it is there. One that is gone was removed by a process which may use the bucket now. check says why renewals have failed.
func (l *bucketLock) renew(ctx context.Context) {
	if l.check() != nil {
		return
	}
	own, _, err := l.list(ctx)
	switch {
	case err == nil && own.IsZero():
		err = errLockGone
	case err == nil:
		err = l.store(ctx)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failure = err
}

// list returns when the server stored the lock, which is zero if it is gone, and the locks of other processes.
func (l *bucketLock) list(ctx context.Context) (own time.Time, others []s3blob.Object, err error) {
	err = l.of.store.ListObjects(ctx, locksDir, func(o s3blob.Object) error {
		if o.Name == l.name {
			own = o.Modified
		} else {
			others = append(others, o)
		}
		return nil
	})
	return own, others, err
}

// onlyOne refuses a bucket that another process has locked. It removes locks of processes that have died.
func (l *bucketLock) onlyOne(ctx context.Context) error {
	own, others, err := l.list(ctx)
	if err != nil {
		return err
	}
	if own.IsZero() {
		return fmt.Errorf("%s does not list what was just stored: backups need a server that is strongly consistent", l.of)
	}
	for _, o := range others {
		if own.Sub(o.Modified) < staleLock {
			return l.taken(o.Name)
		}
		if err := l.of.store.DeleteObject(ctx, o.Name); err != nil {
			return err
		}
	}
	return nil
}

// taken is the error for the lock of another process.
func (l *bucketLock) taken(name string) error {
	return fmt.Errorf("another backup or removal uses %s: wait until it has ended. If its process has died, it counts for %v (%s)", l.of, staleLock, name)
}

var (
	errLockLost = errors.New("the lock could not be renewed for some minutes, and another process may use the bucket: repeat it")
	errLockGone = errors.New("another process has removed the lock, and may use the bucket: repeat it")
)

// check refuses what must not be done without the lock. It asks no server.
func (l *bucketLock) check() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case errors.Is(l.failure, errLockGone):
		return fmt.Errorf("%s: %w", l.of, errLockGone)
	case clock.Elapsed(l.renewed, time.Now()) <= staleLock/2:
		return nil
	case l.failure != nil:
		return fmt.Errorf("%s: %w: %w", l.of, errLockLost, l.failure)
	}
	return fmt.Errorf("%s: %w", l.of, errLockLost)
}

// confirm asks the server whether the lock is there, and no other.
func (l *bucketLock) confirm(ctx context.Context) error {
	own, others, err := l.list(ctx)
	switch {
	case err != nil:
		return err
	case own.IsZero():
		return fmt.Errorf("%s: %w", l.of, errLockGone)
	case len(others) > 0:
		return l.taken(others[0].Name)
	}
	return nil
}

// unlock removes the lock.
func (l *bucketLock) unlock() error {
	l.cancel()
	<-l.ended
	ctx, cancel := context.WithTimeout(context.Background(), unlockTimeout)
	defer cancel()
	return l.of.store.DeleteObject(ctx, l.name)
}
