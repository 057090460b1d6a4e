package outputlimit

// Users who hold something.
func (l *Limits) Users() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.users)
}
