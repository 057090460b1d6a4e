package backup

import (
	"context"
	"time"
)

// ReadAge reads when the newest backup was made, as Run does.
func (s *Service) ReadAge(ctx context.Context) { s.readAge(ctx) }

// RemovalBatch is how many objects are removed before the lock of a bucket is confirmed again.
const RemovalBatch = removalBatch

// LockedBucket is a bucket that is open for writing.
type LockedBucket struct{ b *bucket }

// LockBucket opens a bucket for writing.
func LockBucket(ctx context.Context, c Config) (LockedBucket, error) {
	b, err := openBucket(ctx, c)
	return LockedBucket{b}, err
}

// Put writes a file.
func (l LockedBucket) Put(ctx context.Context, name string) error {
	return l.b.put(ctx, name, []byte("text"))
}

// Remove removes a file.
func (l LockedBucket) Remove(ctx context.Context, name string) error { return l.b.remove(ctx, name) }

// Renew renews the lock, as happens each minute.
func (l LockedBucket) Renew(ctx context.Context) { l.b.lock.renew(ctx) }

// Age lets time pass for the lock.
func (l LockedBucket) Age(by time.Duration) {
	l.b.lock.mu.Lock()
	defer l.b.lock.mu.Unlock()
	l.b.lock.renewed = l.b.lock.renewed.Add(-by)
}

// Close removes the lock.
func (l LockedBucket) Close() error { return l.b.close() }
