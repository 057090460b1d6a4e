package ratelimit

// Keys that have a bucket.
func (l *Limiter[K]) Keys() (n int) {
	for i := range l.shards {
		l.shards[i].mu.Lock()
		n += len(l.shards[i].buckets)
		l.shards[i].mu.Unlock()
	}
	return n
}
