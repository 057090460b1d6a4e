package outputlimit

// Users who hold or await a page.
func (l *Limits) Users() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.users)
}
